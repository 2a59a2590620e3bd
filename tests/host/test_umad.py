# SPDX-License-Identifier: GPL-2.0-or-later
"""libib-umad.so, in front of the libibumad of programs of this host."""

import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest

from hosttools import Fabric, own_library
from test_tools import Tools, make

ETIMEDOUT, ENOSPC = 110, 28
OPENIB = (ctypes.c_uint8 * 3)(0, 0x14, 5)


class Own(Tools):
    """All that goes with libumad2sim.so, and what does not go with it."""

    library = staticmethod(own_library)

    def test_saquery(self):
        """Answers of hundreds of MADs."""
        self.assertEqual(self.run_tool('saquery').count('NodeRecord'),
                         len(self.cas) + len(self.switches))
        paths = self.run_tool('saquery', '-p')
        lids = {node['lids'][0] for node in self.cas + self.switches}
        found = re.findall(r'slid\.+(\d+)\n\s+dlid\.+(\d+)\n|'
                           r'dlid\.+(\d+)\n\s+slid\.+(\d+)\n', paths)
        pairs = {(int(a or d), int(b or c)) for a, b, c, d in found}
        self.assertLessEqual({(a, b) for a in lids for b in lids}, pairs)

    def test_osmtest(self):
        """Inventory, service records, multicast groups."""
        self.run_tool('osmtest', '-f', 'c', '-i', 'all')
        for flow, name in (('v', 'Validate Inventory'),
                           ('s', 'Services Registration'),
                           ('m', 'Multicast')):
            options = ('-i', 'all') if flow == 'v' else ()
            self.assertIn(f'TEST "{name}" PASS',
                          self.run_tool('osmtest', '-f', flow, *options))

    def test_ibping(self):
        self.assertIn(' 0% packet loss', self.run_tool(
            'ibping', '-c', '5', '-f', str(self.cas[-1]['lids'][0])))

    def test_ibdiagnet(self):
        if not shutil.which('ibdiagnet'):
            self.skipTest('needs ibutils')
        out = self.run_tool('ibdiagnet', '-o', self.fabric.folder)
        for stage in ('Bad GUIDs/LIDs Check', 'Link State Active Check',
                      'General Devices Info Report',
                      'Performance Counters Report', 'Partitions Check'):
            self.assertRegex(out, rf'{stage} +0 +0 ')
        self.assertIn('-I- Done.', out)

    def test_no_strange_counters(self):
        """libumad2sim.so hands over 224 bytes of a MAD."""
        out = self.run_tool('perfquery', '-x', self.lid, '1')
        self.assertRegex(out, r'PortXmitWait:\.+0\n')
        self.assertIn(' 0 ports have errors', self.run_tool('ibqueryerrors'))

    def test_server_and_client(self):
        """Two programs on two nodes, of a class with an OUI."""
        at, other = self.cas[3], self.cas[4]
        log = self.fabric.file('sysstat')
        with open(log, 'wb') as file:
            server = subprocess.Popen(
                ['ibsysstat', '-S'], env=self.fabric.env(at['node']),
                cwd=self.fabric.folder, stdout=file, stderr=file)
        self.fabric.processes.append(server)
        deadline = time.monotonic() + 20
        while True:
            done = self.fabric.try_run('ibsysstat', '-t', '200',
                                       str(at['lids'][0]), 'host',
                                       node=other['node'])
            if os.uname().nodename in done.stdout:
                break
            self.assertLess(time.monotonic(), deadline, done.stdout)
        # A class is one program's, as the kernel has it.
        done = self.fabric.try_run('ibsysstat', '-S', node=at['node'])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("can't serve", done.stdout)

    def test_ibstat(self):
        out = self.run_tool('ibstat')
        first = self.cas[0]
        self.assertIn('State: Active', out)
        self.assertIn(f'Base lid: {first["lids"][0]}\n', out)
        self.assertIn('Rate: 40\n', out)
        self.assertIn(f'Node GUID: {first["guid"]}', out)
        out = self.fabric.run('ibstat', node=self.leaf['node'])
        self.assertIn(f'Node GUID: {self.leaf["guid"]}', out)


class Sm(unittest.TestCase):
    def test_is_sm(self):
        """IsSM is there while an SM runs, and no longer."""
        with make('ring', switches=3) as file, Fabric(file.name) as fabric:
            fabric.library = own_library
            fabric.opensm()
            fabric.wait_active()
            nodes = fabric.ask('nodes')['nodes']
            at = [node for node in nodes if node['type'] == 'ca'][1]

            def mask():
                out = fabric.run('smpquery', 'portinfo',
                                 str(at['lids'][0]), '1')
                return int(re.search(r'CapMask:\.+(0x\w+)', out).group(1),
                           16)

            self.assertFalse(mask() & 2)
            process, log = fabric.opensm('-p', '0', node=at['node'],
                                         wait=False)
            fabric.wait_text(log, 'Entering STANDBY')
            self.assertTrue(mask() & 2)
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            deadline = time.monotonic() + 20
            while mask() & 2:
                self.assertLess(time.monotonic(), deadline)
            self.assertIn('SMINFO_MASTER', fabric.run('sminfo'))


class Lossy(unittest.TestCase):
    def test_rmpp(self):
        """One of ten MADs of the SA is lost: all records come."""
        with make('fat_tree', nodes=32, radix=8) as file, \
                Fabric(file.name) as fabric:
            fabric.library = own_library
            fabric.opensm()
            fabric.wait_active()
            nodes = fabric.ask('nodes')['nodes']
            cas = [node['node'] for node in nodes if node['type'] == 'ca']
            link = fabric.ask(f'link {cas[0]} 1')
            end = 'b' if link['a'] == cas[0] else 'a'
            fabric.ask(f'error {link[end]} {link[f"{end}-port"]} '
                       'drop=100000 seed=7')
            out = fabric.run('saquery', '-t', '50000', node=cas[-1])
            self.assertEqual(out.count('NodeRecord'), len(nodes))


class Functions(unittest.TestCase):
    """The functions themselves, called from here."""

    @classmethod
    def setUpClass(cls):
        cls.file = make('ring', switches=3)
        cls.fabric = Fabric(cls.file.name)
        cls.fabric.__enter__()
        cls.addClassCleanup(cls.fabric.__exit__)
        old = os.environ.get('IBSIM_SOCKNAME')
        os.environ['IBSIM_SOCKNAME'] = cls.fabric.name
        cls.addClassCleanup(
            lambda: os.environ.pop('IBSIM_SOCKNAME') if old is None else
            os.environ.update(IBSIM_SOCKNAME=old))
        cls.lib = ctypes.CDLL(own_library())
        cls.lib.umad_size.restype = ctypes.c_size_t
        cls.size = cls.lib.umad_size()

    def setUp(self):
        self.assertEqual(self.lib.umad_init(), 0)
        self.port = self.lib.umad_open_port(None, 0)
        self.assertGreaterEqual(self.port, 0)
        self.addCleanup(lambda: self.lib.umad_close_port(self.port))

    def umad(self, mad, lid=0xffff, qpn=0, room=256):
        umad = ctypes.create_string_buffer(self.size + room)
        struct.pack_into('>I4xH', umad, 20, qpn, lid)
        umad[self.size:self.size + len(mad)] = mad
        return umad

    @staticmethod
    def smp(path, tid):
        mad = bytearray(256)
        struct.pack_into('>BBBBHBBQH', mad, 0, 1, 0x81, 1, 1, 0, 0,
                         len(path), tid, 0x11)
        struct.pack_into('>HH', mad, 32, 0xffff, 0xffff)
        mad[129:129 + len(path)] = bytes(path)
        return bytes(mad)

    def send(self, agent, umad, timeout=100, retries=0):
        return self.lib.umad_send(self.port, agent, umad, 256, timeout,
                                  retries)

    def receive(self, umad, length=256, timeout=5000):
        length = ctypes.c_int(length)
        got = self.lib.umad_recv(self.port, umad, ctypes.byref(length),
                                 timeout)
        return got, length.value

    def test_room(self):
        """A buffer that is too small: what it takes, and nothing is lost."""
        agent = self.lib.umad_register(self.port, 0x81, 1, 0, None)
        umad = self.umad(self.smp((), 0x1234))
        self.assertEqual(self.send(agent, umad), 0)
        self.assertEqual(self.receive(umad, 24), (-ENOSPC, 256))
        self.assertEqual(self.receive(umad), (agent, 256))
        self.assertEqual(struct.unpack_from('=II', umad)[1], 0)
        self.assertEqual(umad[self.size + 3], b'\x81')
        # The program's half of the TransactionID
        self.assertEqual(umad[self.size + 12:self.size + 16],
                         b'\0\0\x12\x34')

    def test_nobody_there(self):
        agent = self.lib.umad_register(self.port, 0x81, 1, 0, None)
        umad = self.umad(self.smp((1, 99), 77))
        self.assertEqual(self.send(agent, umad), 0)
        got, _ = self.receive(umad)
        self.assertEqual(got, agent)
        self.assertEqual(struct.unpack_from('=II', umad)[1], ETIMEDOUT)

    def test_nothing_comes(self):
        umad = self.umad(b'')
        self.assertEqual(self.receive(umad, timeout=0)[0], -11)
        self.assertEqual(self.receive(umad, timeout=20)[0], -ETIMEDOUT)
        self.assertEqual(self.lib.umad_poll(self.port, 20), -ETIMEDOUT)
        agent = self.lib.umad_register(self.port, 0x81, 1, 0, None)
        # No answer is waited for.
        self.assertEqual(self.send(agent, self.umad(self.smp((), 1)), 0), 0)
        self.assertEqual(self.lib.umad_poll(self.port, 100), -ETIMEDOUT)
        self.assertEqual(self.send(agent, self.umad(self.smp((), 1))), 0)
        self.assertEqual(self.lib.umad_poll(self.port, 5000), 0)

    def test_agents(self):
        """A method is one agent's; of vendors' classes, with the OUI."""
        get = (ctypes.c_long * 2)(1 << 1, 0)
        lib = self.lib
        first = lib.umad_register(self.port, 0x0a, 1, 0, get)
        self.assertEqual(first, 0)
        self.assertEqual(lib.umad_register(self.port, 0x0a, 1, 0, get), -1)
        self.assertEqual(lib.umad_register(self.port, 0x0a, 1, 0, None), 1)
        other = (ctypes.c_uint8 * 3)(1, 2, 3)
        self.assertEqual(lib.umad_register_oui(self.port, 0x35, 0, OPENIB,
                                               get), 2)
        self.assertEqual(lib.umad_register_oui(self.port, 0x35, 0, other,
                                               get), 3)
        self.assertEqual(lib.umad_register_oui(self.port, 0x35, 0, other,
                                               get), -1)
        self.assertEqual(lib.umad_register_oui(self.port, 0x0a, 0, other,
                                               get), -22)
        self.assertEqual(lib.umad_unregister(self.port, first), 0)
        self.assertEqual(lib.umad_unregister(self.port, first), -22)
        self.assertEqual(lib.umad_register(self.port, 0x0a, 1, 0, get),
                         first)
        self.assertLess(self.send(9, self.umad(self.smp((), 1))), 0)

    def test_many_agents(self):
        agents = [self.lib.umad_register(self.port, 4, 1, 0, None)
                  for _ in range(33)]
        self.assertEqual(agents, [*range(32), -1])

    def test_no_fabric(self):
        done = subprocess.run(
            ['ibstat'], text=True, capture_output=True, timeout=60,
            check=False, env=dict(os.environ, LD_PRELOAD=own_library(),
                                  IBSIM_SOCKNAME='no-such-fabric'))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('fabric no-such-fabric', done.stderr)


if __name__ == '__main__':
    unittest.main()
