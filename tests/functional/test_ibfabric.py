# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ibfabric as a person types it: a fabric like ibsim's example
net.2sw2path4hca, two of whose four nodes are VMs."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from ibtest import paths

sys.path.insert(0, str(paths.TOP / 'python'))

from ibfabric import topology                               # noqa: E402

IBFABRIC = str(paths.TOP / 'scripts/ibfabric')
STATE = 'cat /sys/class/infiniband/mlx4_0/ports/1/state'
NET = '''\
Switch\t8 "Switch1"
[1]\t"Hca1"[1]
[2]\t"Hca3"[1]
[3]\t"Switch2"[3]
[5]\t"Switch2"[5]

Switch 8 "Switch2"
[1]\t"Hca2"[1]
[2]\t"Hca4"[1]

Hca\t1 "Hca1"
Hca\t1 "Hca2"
Hca\t1 "Hca3"
Hca\t1 "Hca4"
'''


class Case(unittest.TestCase):
    """A private folder for fabrics, and the command."""

    kernel = '6.1'

    @classmethod
    def setUpClass(cls):
        paths.qemu()
        try:
            paths.image(cls.kernel)
        except paths.Missing as error:
            raise unittest.SkipTest(str(error)) from error
        cls.folder = tempfile.mkdtemp(prefix='ibfabric-')
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.mkdir(f'{cls.folder}/run', mode=0o700)
        cls.env = dict(os.environ, IBFABRIC_RUN=f'{cls.folder}/run')
        cls.net = f'{cls.folder}/net'
        with open(cls.net, 'w', encoding='ascii') as file:
            file.write(NET)
        cls.addClassCleanup(cls.command, 'down', 'lab')

    @classmethod
    def command(cls, *args, timeout=300):
        return subprocess.run(
            [IBFABRIC, *args], env=cls.env, cwd=cls.folder, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=timeout, stdin=subprocess.DEVNULL)

    @classmethod
    def done(cls, *args, timeout=300):
        """The output of a command that must succeed."""
        done = cls.command(*args, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(f'{" ".join(args)}: exit '
                                 f'{done.returncode}\n{done.stdout}')
        return done.stdout

    def refused(self, reason, *args):
        """One line that says why."""
        done = self.command(*args)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, f'^error: .*{reason}')
        self.assertEqual(done.stdout.count('\n'), 1, done.stdout)

    @classmethod
    def processes(cls):
        """Pids of all whose command line or environment names the folder."""
        found = []
        for pid in os.listdir('/proc'):
            if not pid.isdigit() or int(pid) == os.getpid():
                continue
            for name in ('cmdline', 'environ'):
                try:
                    with open(f'/proc/{pid}/{name}', 'rb') as file:
                        if f'{cls.folder}/run'.encode() in file.read():
                            found.append(int(pid))
                            break
                except OSError:
                    pass
        return found

    def nothing_left(self):
        for pid in self.processes():
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                self.fail(f'{pid} is there: {file.read()}')
        self.assertEqual([name for name in os.listdir(f'{self.folder}/run')
                          if not name.endswith('.lock')], [])

    def wait_for(self, pattern, *args, timeout=90):
        """Repeat a command until its output has the pattern."""
        deadline = time.monotonic() + timeout
        while True:
            out = self.command(*args).stdout
            if re.search(pattern, out):
                return out
            if time.monotonic() > deadline:
                self.fail(f'{args}: still no {pattern!r}:\n{out}')
            time.sleep(0.3)


class Lab(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shown = cls.done('up', cls.net, '-n', 'lab', '--vm', 'Hca1',
                             '--vm', 'Hca2', '--kernel', cls.kernel)
        # It stays in the background, and goes with the fabric.
        if shutil.which('opensm', path=os.environ['PATH'] + ':/usr/sbin'):
            cls.opensm = True
            cls.done('host', 'opensm', '-B', '-f', f'{cls.folder}/opensm.log')
        else:
            cls.opensm = False
            cls.done('exec', 'Hca1', 'opensm -B')
        for name in ('Hca1', 'Hca2'):
            cls('active').active(name)

    def active(self, name='Hca2'):
        self.wait_for('ACTIVE', 'exec', name, STATE)

    def ping(self):
        self.wait_for(' 0% packet loss', 'exec', 'Hca1', 'ping', '-c', '3',
                      '-i', '0.2', '-W', '2', 'Hca2')

    def test_01_up(self):
        for text in ('2 switches, 4 nodes, 6 cables', 'Hca1: Linux',
                     'Hca2: Linux', 'fabric "lab" is up'):
            self.assertIn(text, self.shown)

    def test_02_status(self):
        out = self.done('status')
        self.assertIn('fabric "lab": up', out)
        self.assertIn('cables: 6 active', out)
        self.assertRegex(out, r'Hca1 +\d+ +active +10\.77\.0\.1\n')

    def test_03_exec(self):
        self.ping()
        self.assertEqual(self.done('exec', 'Hca2', 'hostname'), 'Hca2\n')
        self.assertEqual(self.command('exec', 'Hca2', 'exit 7').returncode, 7)
        self.refused('Hca3 is no VM; VMs are: Hca1, Hca2', 'exec', 'Hca3',
                     'true')
        self.refused('no node "Hca9"', 'exec', 'Hca9', 'true')

    def test_04_host_sees_the_file(self):
        """What ibnetdiscover prints on this host is the file, as a graph."""
        if not self.opensm:
            self.skipTest('needs opensm')
        path = f'{self.folder}/dump'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(self.done('host', 'ibnetdiscover'))

        def as_graph(found):
            return ({(node.kind, node.guid, node.num_ports)
                     for node in found.nodes},
                    {frozenset(((a.guid, p), (b.guid, q)))
                     for a, p, b, q in found.cables()})

        self.assertEqual(as_graph(topology.read(path)),
                         as_graph(topology.read(self.net)))

    def test_05_host_at_a_node(self):
        if not self.opensm:
            self.skipTest('needs opensm')
        out = self.done('host', '--at', 'Hca4', 'smpquery', '-D', 'nodedesc',
                        '0')
        self.assertIn('Hca4', out)
        self.refused('no program', 'host', 'no-such-program')

    def test_05_host_asks_the_sa(self):
        """Answers of many MADs, and a VM answers ibping, which is no node of
        the file's own."""
        if not self.opensm:
            self.skipTest('needs opensm')
        self.assertEqual(self.done('host', 'saquery').count('NodeRecord'), 6)
        guid = self.done('exec', 'Hca2', 'ibstat -p').strip()
        self.assertRegex(self.done('host', 'saquery', '-G', guid) +
                         self.done('host', 'ibnetdiscover'), 'Hca2')
        self.done('exec', 'Hca2', 'ibping -S >/dev/null 2>&1 &')
        self.wait_for(' 0% packet loss', 'host', 'ibping', '-G', '-c', '3',
                      guid)

    def test_05_what_opensm_remembers(self):
        """... goes with the fabric."""
        if not self.opensm:
            self.skipTest('needs opensm')
        self.assertIn('guid2lid',
                      os.listdir(f'{self.folder}/run/lab/opensm'))

    def test_06_link_of_a_vm(self):
        self.done('link', 'down', 'Hca2')
        self.wait_for('DOWN', 'exec', 'Hca2', STATE)
        self.assertIn('1 down', self.done('status'))
        self.done('link', 'up', 'Hca2:1')
        self.active()
        self.ping()
        self.refused('Switch1:8 has no cable', 'link', 'down', 'Switch1:8')
        self.refused('ports 1 to 8', 'link', 'down', 'Switch1:9')

    def test_07_link_between_switches(self):
        """Either of two paths is enough."""
        for port in ('3', '5'):
            self.done('link', 'down', f'Switch1:{port}')
            self.ping()
            self.done('link', 'up', f'Switch1:{port}')
            self.wait_for('cables: 6 active', 'status')
        self.ping()

    def test_08_errors(self):
        """All is lost that a port receives: at the VM's end, at the
        switch's."""
        for port in ('Hca2', 'Switch2:1'):
            self.done('error', port, 'drop=1000000', 'class=data')
            self.assertIn('100% packet loss', self.command(
                'exec', 'Hca1', 'ping', '-c', '2', '-i', '0.2', '-W', '1',
                'Hca2').stdout)
            self.done('error', port, 'off')
            self.ping()
        self.refused('drop is 0 to 1000000', 'error', 'Hca2', 'drop=-1')

    def test_09_capture(self):
        for port in ('Hca1', 'Switch1:1'):
            path = f'{self.folder}/cable.pcap'
            with subprocess.Popen(
                    [IBFABRIC, 'capture', port, path, '--seconds', '4'],
                    env=self.env, stdout=subprocess.PIPE, text=True) as taking:
                while not os.path.exists(path):
                    self.assertIsNone(taking.poll())
                    time.sleep(0.05)
                self.ping()
                self.assertIn('bytes', taking.communicate()[0])
            self.assertEqual(taking.returncode, 0)
            # ERF, with three requests and as many answers at least.
            with open(path, 'rb') as file:
                data = file.read()
            self.assertEqual(int.from_bytes(data[20:24], 'little'), 197)
            self.assertGreater(len(data), 6 * 100)
            os.remove(path)
        self.refused('no such folder', 'capture', 'Hca1', '/nowhere/x')

    def test_10_top(self):
        out = self.done('top', '--count', '1', '--interval', '0.5', '--all')
        self.assertIn('lab  ', out)
        self.assertIn('6 cables: 6 active', out)
        for port in ('Switch1:3', 'Switch1:5'):
            self.assertRegex(out, rf'(?m)^{port} +Switch2:\d +active')

    def test_11_graph(self):
        path = f'{self.folder}/lab.svg'
        self.done('graph', 'lab', '-o', path)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        for name in ('Hca1', 'Hca4', 'Switch2', 'frame: a VM', 'Active'):
            self.assertIn(name, text)
        self.refused('neither a file nor a fabric', 'graph', 'lab2', '-o',
                     path)

    def test_12_second_up(self):
        """It says so, and touches nothing."""
        before = sorted(self.processes())
        self.refused('fabric "lab" is up already', 'up', self.net, '-n',
                     'lab')
        self.assertEqual(sorted(self.processes()), before)
        self.ping()

    def test_13_console(self):
        """A shell on a terminal, and Ctrl-] out of it."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen([IBFABRIC, 'console', 'Hca1'], env=self.env,
                              stdin=slave, stdout=slave,
                              stderr=slave) as console:
            self.addCleanup(console.kill)
            os.close(slave)
            shown = b''
            for sent, pattern in ((b'', b'# '),
                                  (b'echo "<$(hostname)>"\r', b'<Hca1>'),
                                  (b'\x1d', None)):
                os.write(master, sent)
                while pattern is not None and pattern not in shown:
                    shown += os.read(master, 4096)
            self.assertEqual(console.wait(60), 0)

    def test_99_down(self):
        self.assertGreaterEqual(len(self.processes()), 4 if self.opensm else 3)
        out = self.done('down')
        self.assertIn('fabric "lab" is down: ended Hca1, Hca2, fabric', out)
        self.nothing_left()
        self.refused('no fabric "lab" is up', 'down', 'lab')
        self.assertEqual(self.command('status').returncode, 1)


class Interrupted(Case):
    def start(self):
        """An "up" that has its machines and waits for the VM to boot."""
        made = subprocess.Popen(
            [IBFABRIC, 'up', self.net, '-n', 'lab', '--vm', 'Hca1'],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.default_int_handler))
        self.addCleanup(made.stdout.close)
        while not os.path.exists(f'{self.folder}/run/lab/Hca1.agent'):
            self.assertIsNone(made.poll())
            time.sleep(0.05)
        return made

    def test_ctrl_c(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            made = self.start()
            self.refused('another ibfabric is at work on "lab"', 'up',
                         self.net, '-n', 'lab')
            made.send_signal(number)
            out = made.communicate()[0]
            self.assertEqual(made.returncode, status, out)
            self.nothing_left()

    def test_killed(self):
        """What a run that was killed has left is seen and cleaned."""
        made = self.start()
        made.kill()
        made.wait()
        self.assertIn('crashed while it came up', self.done('status'))
        out = self.done('up', self.net, '-n', 'lab')
        self.assertIn('had crashed: ended Hca1, fabric', out)
        self.assertEqual(len(self.processes()), 1)
        os.kill(self.processes()[0], signal.SIGKILL)
        while self.processes():
            time.sleep(0.05)
        self.assertIn('has crashed', self.done('status'))
        self.done('down', 'lab')
        self.nothing_left()

    def test_wait(self):
        made = subprocess.Popen(
            [IBFABRIC, 'up', self.net, '-n', 'lab', '--wait'], env=self.env,
            stdout=subprocess.PIPE, text=True, preexec_fn=lambda:
            signal.signal(signal.SIGINT, signal.default_int_handler))
        while 'Ctrl-C' not in made.stdout.readline():
            self.assertIsNone(made.poll())
        made.send_signal(signal.SIGINT)
        self.assertIn('is down', made.communicate()[0])
        self.assertEqual(made.returncode, 0)
        self.nothing_left()

    def test_refused(self):
        """Nothing starts of a file that is wrong."""
        wrong = f'{self.folder}/wrong'
        with open(wrong, 'w', encoding='ascii') as file:
            file.write(NET + '[1]\t"Nobody"\n')
        self.refused('wrong:15: unknown peer "Nobody"', 'up', wrong)
        for reason, args in (('no node "Hca9"', ['--vm', 'Hca9']),
                             ('Switch1 is a switch', ['--vm', 'Switch1']),
                             ('twice', ['--vm', 'Hca1', '--vm', 'Hca1']),
                             ('no name for a fabric', ['-n', '../x']),
                             ('No such file', ['--vms', '/nowhere'])):
            self.refused(reason, 'up', self.net, *args)
        self.refused('/nowhere: No such file', 'up', '/nowhere')
        self.refused('no fabric is up', 'exec', 'Hca1', 'true')
        self.nothing_left()


if __name__ == '__main__':
    unittest.main()
