# SPDX-License-Identifier: GPL-2.0-or-later
"""opensm, infiniband-diags and osmtest on the host, unchanged."""

import re
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from hosttools import CORE, Client, Fabric, Failed, graph, library
from ibfabric import generate, topology


def make(shape, **options):
    """A topology file of a usual shape, which lives as long as it."""
    build = generate.Builder()
    getattr(generate, shape)(build, **options)
    file = tempfile.NamedTemporaryFile('w', suffix='.net')
    topology.write(build.topology(), file)
    file.flush()
    return file


class Tools(unittest.TestCase):
    """A fat tree of 16 nodes with OpenSM on its first one."""

    library = staticmethod(library)

    @classmethod
    def setUpClass(cls):
        cls.file = make('fat_tree', nodes=16, radix=8)
        cls.fabric = Fabric(cls.file.name)
        cls.fabric.library = cls.library
        cls.fabric.__enter__()
        cls.addClassCleanup(cls.fabric.__exit__)
        cls.fabric.opensm(conf='qos TRUE\nqos_high_limit 7\n'
                          'part_enforce both\n')
        cls.fabric.wait_active()
        nodes = cls.fabric.ask('nodes')['nodes']
        cls.cas = [node for node in nodes if node['type'] == 'ca']
        cls.switches = [node for node in nodes if node['type'] == 'switch']
        # The switch that the first CA hangs on, and what it says of itself.
        link = cls.fabric.ask(f'link {cls.cas[0]["node"]} 1')
        name = {link['a'], link['b']} - {cls.cas[0]['node']}
        cls.leaf = next(n for n in cls.switches if n['node'] in name)
        cls.lid = str(cls.leaf['lids'][0])

    def run_tool(self, *command):
        return self.fabric.run(*command)

    def test_sminfo(self):
        self.assertIn('SMINFO_MASTER', self.run_tool('sminfo'))

    def test_node_lists(self):
        self.assertEqual(self.run_tool('ibhosts').count('Ca\t'), 16)
        self.assertEqual(self.run_tool('ibswitches').count('Switch\t'),
                         len(self.switches))

    def test_ibtracert(self):
        lids = [node['lids'][0] for node in self.cas]
        out = self.run_tool('ibtracert', str(lids[0]), str(lids[-1]))
        self.assertIn(f'lid {lids[-1]}', out)
        self.assertEqual(out.count('switch port'), 3)

    def test_combined_route(self):
        """LID-routed to a switch, directed from there."""
        spine = self.run_tool('smpquery', '-c', 'nodeinfo', self.lid, '0,8')
        self.assertRegex(spine, r'NodeType:\.+Switch')
        far = re.search(r'(?m)^Guid:\.+(0x\w+)', spine).group(1)
        self.assertNotEqual(int(far, 16), int(self.leaf['guid'], 16))

    def test_port_disable_enable(self):
        port = ('ibportstate', self.lid, '8')
        self.run_tool(*port, 'disable')
        self.assertRegex(self.fabric.try_run(*port, 'query').stdout,
                         r'PhysLinkState:\.+Disabled')
        self.run_tool(*port, 'enable')
        self.fabric.wait_active()
        self.assertRegex(self.run_tool(*port, 'query'),
                         r'LinkState:\.+Active')

    def test_set_by_the_sm(self):
        """VLHighLimit and partition enforcement read back as set."""
        out = self.run_tool('smpquery', 'portinfo', self.lid, '1')
        self.assertRegex(out, r'VLHighLimit:\.+7')
        for way in ('Inb', 'Outb'):
            self.assertRegex(out, rf'PartEnforce{way}:\.+1')
        out = self.run_tool('smpquery', 'pkeys', self.lid, '1')
        self.assertIn('0xffff', out)

    def test_perfquery(self):
        lid = self.lid
        for options, name in (((), 'PortXmitData'), (('-x',), 'PortRcvPkts'),
                              (('-X',), 'XmtDataSL15'), (('-S',),
                                                         'RcvDataSL15'),
                              (('-c',), 'SampleStatus'),
                              (('-a',), 'SymbolErrorCounter')):
            port = ('1',) if options != ('-a',) else ()
            out = self.run_tool('perfquery', *options, lid, *port)
            self.assertRegex(out, rf'{name}:\.+', options)
        packets = re.search(r'PortXmitPkts:\.+(\d+)',
                            self.run_tool('perfquery', '-x', lid, '1'))
        self.assertGreater(int(packets.group(1)), 0)

    def test_perfquery_every_attribute(self):
        """What perfquery can ask for is there, or refused; -R clears it."""
        port = (self.lid, '1')
        for option, name in (('-X', 'XmtDataSL0'), ('-S', 'RcvDataSL0'),
                             ('-D', 'PortSwHOQLifetimeLimitDiscards'),
                             ('-E', 'PortLoopingErrors'),
                             ('-T', 'ErrorDetectionCounterLane11'),
                             ('--oprcvcounters', 'PortOpRcvData'),
                             ('--flowctlcounters', 'PortRcvFlowPkts'),
                             ('--vloppackets', 'PortVLOpPackets15'),
                             ('--vlopdata', 'PortVLOpData15'),
                             ('--vlxmitflowctlerrors',
                              'PortVLXmitFlowCtlUpdateErrors15'),
                             ('--vlxmitcounters', 'PortVLXmitWait15')):
            with self.subTest(option=option):
                def ask(option=option, name=name):
                    found = re.search(rf'{name}:\.+(\d+)',
                                      self.run_tool('perfquery', option,
                                                    *port))
                    self.assertTrue(found, name)
                    return int(found.group(1))
                before = ask()
                self.run_tool('perfquery', '-R', option, *port)
                if name in ('XmtDataSL0', 'RcvDataSL0'):
                    self.assertGreater(before, 1000)
                    self.assertLess(ask(), 1000)
        for option in ('--swportvlcong', '--rcvcc', '--slrcvfecn',
                       '--slrcvbecn', '--xmitcc', '--vlxmittimecc'):
            with self.subTest(option=option):
                done = self.fabric.try_run('perfquery', option, *port)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn('cannot query', done.stdout)

    def test_congestion_control(self):
        """ibsim takes its class for SMPs and writes into P_Key tables."""
        self.assertIn('CongestionInfo',
                      self.run_tool('ibccquery', 'congestioninfo', self.lid))
        self.run_tool('ibccconfig', 'switchcongestionsetting', self.lid,
                      '0x1f', '0', '0', '0xf', '8', '0', '0:0', '3')
        out = self.run_tool('ibccquery', 'switchcongestionsetting', self.lid)
        self.assertRegex(out, r'Threshold:\.+0x0f')
        self.assertIn('0xffff', self.run_tool('smpquery', 'pkeys', self.lid,
                                              '1'))

    def test_routes(self):
        self.assertIn('valid lids dumped',
                      self.run_tool('ibroute', self.lid))
        self.assertIn('Active/', self.run_tool('iblinkinfo'))

    def test_class_without_agent(self):
        """Of a CA and of a switch, and SMInfo where there is no SM: method or
        attribute not supported."""
        for node in ('', self.leaf['node']):
            client = Client(self.fabric, node)
            self.addCleanup(client.close)
            for lid in (self.leaf['lids'][0], self.cas[-1]['lids'][0]):
                status, mad = client.gmp(0x09, 1, lid)
                self.assertEqual((status, mad[3]), (0, 0x81))
                self.assertEqual(struct.unpack_from('>H', mad, 4)[0], 0xc)
                status, mad = client.smp(0x20, dlid=lid)
                self.assertEqual((status, mad[3]), (0, 0x81))
                self.assertEqual(struct.unpack_from('>H', mad, 4)[0], 0xc)

    def test_osmtest_inventory(self):
        self.assertRegex(self.run_tool('osmtest', '-f', 'c', '-i',
                                       'inventory'), 'Inventory" PASS')

    def test_tools_on_a_switch(self):
        out = self.fabric.run('sminfo', node=self.leaf['node'])
        self.assertIn('SMINFO_MASTER', out)

    def test_captured(self):
        path = self.fabric.file('pcap')
        self.fabric.ask(f'capture {self.leaf["node"]} 1 {path}')
        self.run_tool('perfquery', self.lid, '1')
        self.fabric.ask(f'capture {self.leaf["node"]} 1')
        out = subprocess.run(['tshark', '-r', path, '-Y',
                              'infiniband.mad.mgmtclass == 4'], check=True,
                             text=True, capture_output=True).stdout
        self.assertGreaterEqual(out.count('PERF'), 2, out)


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Twenty switches to the far side.
        cls.file = make('ring', switches=40)
        cls.fabric = Fabric(cls.file.name)
        cls.fabric.__enter__()
        cls.addClassCleanup(cls.fabric.__exit__)

    def test_unknown_attribute(self):
        client = Client(self.fabric)
        self.addCleanup(client.close)
        for attribute in (0x00f7, 0xff80):
            status, mad = client.smp(attribute, (1,))
            self.assertEqual(status, 0)
            # Method or attribute not supported, direction bit
            self.assertEqual(struct.unpack_from('>H', mad, 4)[0], 0x800c)

    def test_nobody_there(self):
        """At once, as the kernel says it when its time is over."""
        client = Client(self.fabric)
        self.addCleanup(client.close)
        status, mad = client.smp(0x11, (1, 99), tid=0x1234000500000077)
        self.assertEqual(status, 110)
        self.assertEqual(struct.unpack_from('>Q', mad, 8)[0],
                         0x1234000500000077)

    def test_bad_cable(self):
        """What is lost on the way is asked for again."""
        first = self.fabric.ask('nodes')['nodes'][0]['node']
        client = Client(self.fabric)
        self.addCleanup(client.close)
        switch = next(link for link in self.fabric.ask('links')['links'])
        self.addCleanup(self.fabric.ask,
                        f'error {switch["a"]} {switch["a-port"]}')
        self.fabric.ask(f'error {switch["a"]} {switch["a-port"]} drop=300000 '
                        'seed=1')
        self.assertTrue(first)
        for number in range(20):
            status, _ = client.smp(0x11, (1,), tid=100 + number)
            self.assertEqual(status, 0)

    def test_many_clients(self):
        """ibsim has ten places."""
        clients = [Client(self.fabric) for _ in range(40)]
        self.assertEqual(len({client.id for client in clients}), 40)
        for client in clients:
            status, mad = client.smp(0x11, (), tid=client.number)
            self.assertEqual((status, mad[3]), (0, 0x81))
            self.assertEqual(struct.unpack_from('>Q', mad, 8)[0],
                             client.number)
        for client in clients:
            client.close()
        # Their places are free again though none has said good-bye.
        last = Client(self.fabric)
        self.addCleanup(last.close)
        self.assertEqual(last.id, 0)

    def test_more_than_16_hops(self):
        self.fabric.opensm()
        self.fabric.wait_active()
        self.assertTrue(graph(self.fabric.dump()) == graph(self.file.name))

    def test_commands_without_reading(self):
        """Who sends commands and reads no answer costs no time."""
        def ticks():
            with open(f'/proc/{self.fabric.server.pid}/stat',
                      encoding='ascii') as file:
                fields = file.read().rpartition(')')[2].split()
            return int(fields[11]) + int(fields[12])

        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.fabric.file('control'))
            sock.setblocking(False)
            with self.assertRaises(BlockingIOError):
                while True:
                    sock.send(b'links\n' * 1000)
            before = ticks()
            time.sleep(1)
            # Of 100; one that spins takes them all.
            self.assertLess(ticks() - before, 20)
        self.assertIn('links', self.fabric.ask('links'))

    def test_name_taken(self):
        done = subprocess.run([CORE + '/ib-fabric', '--name',
                               self.fabric.name, self.file.name], text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('Address already in use', done.stderr)

    def test_no_such_node(self):
        with self.assertRaises(Failed):
            Client(self.fabric, 'nowhere')


class Security(unittest.TestCase):
    def test_m_key(self):
        with make('ring', switches=3) as file, Fabric(file.name) as fabric:
            fabric.opensm(conf='m_key 0x1122334455667788\n'
                          'm_key_protection_level 2\nm_key_lease_period 0\n')
            fabric.wait_active()
            lid = next(str(node['lids'][0])
                       for node in fabric.ask('nodes')['nodes']
                       if node['type'] == 'switch')
            done = fabric.try_run('smpquery', 'portinfo', lid, '1')
            self.assertNotEqual(done.returncode, 0)
            out = fabric.run('smpquery', '-y', '0x1122334455667788',
                             'portinfo', lid, '1')
            self.assertRegex(out, r'LinkState:\.+Active')


class Errors(unittest.TestCase):
    def test_everything_comes_twice(self):
        """At each port: OpenSM still brings the fabric up."""
        with make('fat_tree', nodes=4, radix=4) as file, \
                Fabric(file.name) as fabric:
            for link in fabric.ask('links')['links']:
                for end in 'ab':
                    fabric.ask(f'error {link[end]} {link[f"{end}-port"]} '
                               'duplicate=1000000')
            fabric.opensm()
            fabric.wait_active()
            self.assertEqual(fabric.run('ibhosts').count('Ca\t'), 4)
            link = fabric.ask('links')['links'][0]
            sent, received = (
                fabric.ask(f'counters {link[end]} {link[f"{end}-port"]}')
                for end in 'ab')
            self.assertGreater(received['rcv-pkts'], sent['xmit-pkts'])

    def test_link_integrity(self):
        """More than LocalPhyErrors bad packets: counted, and OpenSM hears."""
        with make('fat_tree', nodes=4, radix=4) as file, \
                Fabric(file.name) as fabric:
            fabric.opensm()
            fabric.wait_active()
            nodes = fabric.ask('nodes')['nodes']
            ca = [node for node in nodes if node['type'] == 'ca'][1]
            link = fabric.ask(f'link {ca["node"]} 1')
            end = 'b' if link['a'] == ca['node'] else 'a'
            switch, port = link[end], link[f'{end}-port']
            lid = next(str(node['lids'][0]) for node in nodes
                       if node['node'] == switch)
            fabric.ask(f'error {switch} {port} corrupt=1000000')
            for _ in range(9):
                done = fabric.try_run('smpquery', '-t', '100', 'nodeinfo',
                                      lid, node=ca['node'])
                self.assertNotEqual(done.returncode, 0)
            fabric.wait_text('opensm0.log',
                             r'num:129 .*Producer:2 \(Switch\) from '
                             rf'LID:{lid} Port {port} ')
            fabric.ask(f'error {switch} {port}')
            out = fabric.run('perfquery', lid, str(port))
            self.assertRegex(out, r'LocalLinkIntegrityErrors:\.+[1-9]')
            out = fabric.run('perfquery', '-E', lid, str(port))
            errors = re.search(r'PortLocalPhysicalErrors:\.+(\d+)', out)
            self.assertGreater(int(errors.group(1)), 8)
            self.assertRegex(out, r'PortMalformedPktErrors:\.+0\n')


class Vendor(unittest.TestCase):
    FILE = """
vendid=0x2c9
devid=0xb924
switchguid=0xb8cffff005000
Switch 24 "S-000b8cffff005000"
[1] "H-0002c90200278900"[1]

vendid=0x2c9
devid=0x6282
caguid=0x2c90200278900
Ca 2 "H-0002c90200278900"
[1] "S-000b8cffff005000"[1]

vendid=0x8f1
devid=0x5a00
caguid=0x8f10400411000
Ca 2 "H-0008f10400411000"
[1] "S-000b8cffff005000"[2]
"""

    def test_vendstat(self):
        """Of Mellanox' devices, as the file says who made them."""
        with tempfile.NamedTemporaryFile('w', suffix='.net') as file:
            file.write(self.FILE)
            file.flush()
            with Fabric(file.name) as fabric:
                fabric.opensm()
                fabric.wait_active()
                lids = {node['guid']: str(node['lids'][0])
                        for node in fabric.ask('nodes')['nodes']}
                for guid, device in (('0x000b8cffff005000', 'b924'),
                                     ('0x0002c90200278900', '6282')):
                    out = fabric.run('vendstat', '-N', lids[guid])
                    self.assertIn(f'hw_dev_id:   0x{device}\n', out)
                    up = re.search('hw_uptime: +(0x[0-9a-f]{8})', out)
                    self.assertLess(int(up.group(1), 16), 600)
                done = fabric.try_run('vendstat', '-N',
                                      lids['0x0008f10400411000'])
                self.assertNotEqual(done.returncode, 0)
                self.assertIn('classportinfo query', done.stdout)


class Broken(unittest.TestCase):
    def test_files(self):
        """File, line and reason; nothing starts."""
        for text, reason in (
                ('Switch 2 "a"\n[1] "b"[1]\n\n',
                 r':2: .*"b"'),
                ('Switch 2 "a"\n[1] "b"[1]\n[1] "b"[2]\n\nCa 2 "b"\n',
                 ':3: port 1 of "a" is there twice'),
                ('include "self.net"\n', ':1: '),
                ('Switch 2 "' + 'x' * 5000 + '"\n', ':1: ')):
            with tempfile.TemporaryDirectory() as folder:
                path = f'{folder}/self.net'
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)
                done = subprocess.run(
                    [CORE + '/ib-fabric', '--name', 'ibtest-broken', path],
                    text=True, capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, text[:60])
                self.assertRegex(done.stderr, re.escape(path) + reason)


if __name__ == '__main__':
    unittest.main()
