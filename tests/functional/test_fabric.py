# SPDX-License-Identifier: GPL-2.0-or-later
"""Twenty nodes from a topology file, three of which are VMs; OpenSM runs on
the host, in a node of the same fabric."""

import re
import sys
import tempfile
import time
import unittest

from ibtest import paths
from ibtest.case import FabricCase
from ibtest.machines import Guest, Machine, stream

sys.path[:0] = [str(paths.TOP / 'python'), str(paths.TOP / 'tests/host')]

import hosttools                                            # noqa: E402
from ibfabric import generate, topology                     # noqa: E402


class Process(Machine):
    """The chassis with the ib-fabric; cables maps nodes' ports to netdevs."""

    def __init__(self, folder, host, name='fabric'):
        super().__init__(name, folder)
        self.host = host
        self.cables = {}

    def plug(self, node, port, netdev):
        self.cables[node, port] = netdev

    def cable(self, node):
        """A cable in the place of a CA; the socket of its far end."""
        path = self.path(f'cable{len(self.cables)}')
        self.plug(node, 1, stream(path, server=True))
        return path

    def args(self):
        args = ['-M', 'ib-chassis', '-device',
                f'ib-fabric,id=fab0,topology={self.host.path},'
                f'ibsim={self.host.name},control={self.host.file("control")}']
        for number, ((node, port), netdev) in enumerate(self.cables.items()):
            args += ['-netdev', f'{netdev},id=n{number}',
                     '-device', f'ib-port,id=p{number},bus=fab0.0,'
                     f'node={node},port={port},netdev=n{number}']
        return args


class Twenty(FabricCase):
    # A VM on each leaf, by the place of its node in the file's CAs.
    VMS = {'a': 1, 'b': 6, 'c': 11}

    @classmethod
    def build(cls, fabric):
        build = generate.Builder()
        # Three leaves with five nodes each, two switches above them.
        tops = [build.switch(4, 'top') for _ in range(2)]
        for _ in range(3):
            leaf = build.switch(8, 'leaf')
            build.hang_nodes(leaf, 5)
            for top in tops:
                build.cable(leaf, top)
        made = build.topology()
        made.cas()[cls.VMS['b']].rates[1] = '4xDDR'
        path = f'{fabric.folder}/net'
        with open(path, 'w', encoding='utf-8') as file:
            topology.write(made, file)
        cls.path = path
        cls.host = hosttools.Attached(path)
        cls.addClassCleanup(cls.host.__exit__)
        cls.process = Process(fabric.folder, cls.host)
        fabric.switches.append(cls.process)
        cas = list(made.cas())
        cls.guests = {}
        for name, place in cls.VMS.items():
            node = cas[place]
            guest = Guest(name, fabric.folder, cls.kernel,
                          stream(cls.process.cable(node.id)),
                          hca=f',node-guid={node.guid:#x}')
            fabric.guests.append(guest)
            cls.guests[name] = guest

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.opensm, cls.log = cls.host.opensm()
        cls.host.wait_active()
        for number, guest in enumerate(cls.guests.values()):
            guest.wait_for('cat /sys/class/infiniband/mlx4_0/ports/1/state',
                           'ACTIVE', 60)
            guest.sh(f'ip address replace 10.0.0.{number + 1}/24 dev ib0;'
                     'ip link set ib0 up')
        cls.lids = {name: int(guest.sh(
            'cat /sys/class/infiniband/mlx4_0/ports/1/lid'), 0)
            for name, guest in cls.guests.items()}

    def uplink(self, source, target):
        """The cable by which packets leave the source's leaf, as the
        forwarding tables have it; None while they lead nowhere."""
        done = self.host.try_run('ibtracert', str(self.lids[source]),
                                 str(self.lids[target]))
        hops = re.findall(r'switch port {0x(\w+)}\[(\d+)\]', done.stdout)
        outs = re.findall(r'\[(\d+)\] -> (?:switch|ca) port', done.stdout)
        if done.returncode or len(hops) != 3 or len(outs) != 4:
            return None
        return f'0x{hops[0][0]}', int(outs[1])

    def ping(self, source, number):
        self.guests[source].wait_for(f'ping -c 3 -i 0.2 -W 2 10.0.0.{number}',
                                     ' 0% packet loss', 60)

    def test_1_the_same_fabric(self):
        """ibnetdiscover finds the file: on the host and in a VM."""
        self.assertTrue(hosttools.graph(self.host.dump()) ==
                        hosttools.graph(self.path))
        found = self.guests['c'].sh('ibnetdiscover')
        dump = self.host.file('dump-c')
        with open(dump, 'w', encoding='utf-8') as file:
            file.write(found)
        self.assertTrue(hosttools.graph(dump) == hosttools.graph(self.path))
        self.assertEqual(self.host.ask('status')['away'], 3)
        rates = {name: guest.sh('cat /sys/class/infiniband/mlx4_0/ports/1/rate'
                                ).strip()
                 for name, guest in self.guests.items()}
        self.assertEqual(rates['b'], '20 Gb/sec (4X DDR)')
        self.assertEqual(rates['a'], '40 Gb/sec (4X QDR)')

    def test_2_ping_between_kinds(self):
        """ibping from a VM to a node in memory; IPoIB between VMs."""
        lid = next(node['lids'][0] for node in self.host.ask('nodes')['nodes']
                   if node['type'] == 'ca' and node['here'])
        out = self.guests['a'].sh(f'ibping -c 5 -i 0.1 -L {lid}'
                                  ' 2>&1 || ibping -c 5 -L ' + str(lid))
        self.assertIn('5 packets transmitted, 5 received', out)
        for source, number in (('a', 2), ('b', 3), ('c', 1)):
            self.ping(source, number)

    def test_3_links_fail(self):
        """IPoIB and RC across three switches while cables are pulled."""
        a, b = self.guests['a'], self.guests['b']
        rc = 'ib_write_bw -u 21 -s 4096 -D 30'
        jobs = [(b, b.agent.start(rc, 120))]
        b.wait_listening(18515)
        jobs.append((a, a.agent.start(f'{rc} 10.0.0.2', 120)))
        ping = a.agent.start('ping -i 0.2 -w 30 10.0.0.2', 120)
        begun, failed = time.monotonic(), 0
        while time.monotonic() - begun < 22:
            link = self.uplink('a', 'b')
            if link is None:
                time.sleep(0.2)
                continue
            name = f'{link[0]} {link[1]}'
            self.host.ask(f'link down {name}')
            deadline = time.monotonic() + 30
            while self.uplink('a', 'b') in (None, link):
                self.assertLess(time.monotonic(), deadline, 'not rerouted')
                time.sleep(0.2)
            failed += 1
            time.sleep(1)
            self.host.ask(f'link up {name}')
            self.host.wait_active()
        self.assertGreaterEqual(failed, 2)
        for guest, job in jobs:
            done = guest.agent.wait(job, 180)
            self.assertEqual(done.status, 0, str(done))
            self.assertRegex(done.out, r'(?m)^ *4096 +\d+ ')
        self.assertRegex(a.agent.wait(ping, 180).out, r'[1-9]\d* received')
        self.ping('a', 2)
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [], guest.name)

    def test_4_node_comes_back(self):
        """device_del of the cage: the node itself is there again."""
        self.process.qmp('device_del', id='p2')
        deadline = time.monotonic() + 30
        while self.host.ask('status')['away'] != 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.host.wait_active()
        self.guests['a'].wait_for('ibhosts', r'(?s)\A(?!.*"c mlx4_0")', 30)
        self.assertTrue(hosttools.graph(self.host.dump()) ==
                        hosttools.graph(self.path))

    def test_5_sa_on_the_host(self):
        """Answers of many MADs, from the host to the kernel's RMPP."""
        out = self.guests['b'].sh('saquery -p')
        self.assertGreaterEqual(out.count('PathRecord dump'), 20 * 20)

    def test_6_sm_in_a_vm(self):
        """OpenSM in a VM: the same the other way, and among VMs."""
        self.opensm.terminate()
        self.opensm.wait()
        a, b = self.guests['a'], self.guests['b']
        a.sh('opensm --daemon --log_file /var/log/opensm.log')
        a.wait_for('cat /var/log/opensm.log', 'SUBNET UP', 60)
        b.wait_for('sminfo', f'sm lid {self.lids["a"]} .*MASTER', 30)
        for out in b.sh('saquery -N'), self.host.run('saquery', '-N'):
            self.assertEqual(out.count('NodeRecord dump'), 20)
        self.assertGreaterEqual(
            self.host.run('saquery', '-p').count('PathRecord dump'), 20 * 20)
        self.host.run('osmtest', '-f', 'c')
        self.assertRegex(self.host.run('osmtest', '-f', 'v'),
                         'OSMTEST: TEST ".*" PASS')
        for flow in 'cvsm':
            out = b.sh(f'cd /tmp; osmtest -f {flow} 2>&1', 180)
            self.assertRegex(out, 'OSMTEST: TEST ".*" PASS')

    def test_7_no_migration(self):
        with self.assertRaisesRegex(Exception, 'ib-fabric'):
            self.process.qmp('migrate', uri='exec:cat >/dev/null')


class Joined(unittest.TestCase):
    """Two processes whose fabrics a netdev joins."""

    def test_one_subnet(self):
        with tempfile.TemporaryDirectory() as folder:
            cable = f'{folder}/cable'
            hosts, machines, graphs = [], [], []
            for number in range(2):
                build = generate.Builder(0x0002c90000000000 + number * 0x10000)
                switch = build.switch(4)
                build.hang_nodes(switch, 3)
                path = f'{folder}/net{number}'
                with open(path, 'w', encoding='utf-8') as file:
                    topology.write(build.topology(), file)
                graphs.append(hosttools.graph(path))
                hosts.append(hosttools.Attached(path))
                self.addCleanup(hosts[-1].__exit__)
                machines.append(Process(folder, hosts[-1],
                                        f'fabric{number}'))
                machines[-1].plug(switch.id, 4,
                                  stream(cable, server=not number))
                machines[-1].start()
                self.addCleanup(machines[-1].kill)
            # The cable trains as long as any other on a netdev.
            deadline = time.monotonic() + 60
            while machines[0].qom_get('/machine/peripheral/p0',
                                      'state') == 'down':
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            hosts[0].opensm()
            hosts[0].wait_active()
            hosts[1].wait_active()
            nodes, cables = hosttools.graph(hosts[0].dump())
            self.assertEqual(nodes, graphs[0][0] | graphs[1][0])
            self.assertEqual(len(cables), 7)
            # A program in the other process is in the same subnet.
            self.assertIn('SMINFO_MASTER', hosts[1].run('sminfo'))
            for machine in machines:
                machine.stop()


if __name__ == '__main__':
    unittest.main()
