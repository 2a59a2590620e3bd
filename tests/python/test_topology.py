# SPDX-License-Identifier: GPL-2.0-or-later
"""Topology files: the reader, the writer, and what is wrong in a file.

The rules are those of tests/unit/test-fabric-topology.c.
"""

import io
import os
import tempfile
import unittest

from ibfabric import Failure, topology

# As ibnetdiscover printed it on a real fabric.
DUMP = '''\
#
# Initiated from node 0002c9030002847c port 0002c9030002847e

vendid=0x2c9
devid=0xa87c
switchguid=0xb8cffff0053ee(b8cffff0053ee)
Switch  8 "S-000b8cffff0053ee"      # "MT43132 Mellanox" base port 0 lid 3 lmc 0
[1]     "H-0002c902002789ac"[1](2c902002789ad)      # "node-00-01 HCA-1" lid 1
[2]     "H-0002c9030002847c"[2](2c9030002847e)      # "node-00-00 HCA-1" lid 2

vendid=0x2c9
devid=0x5a44
sysimgguid=0x2c902002789af
caguid=0x2c902002789ac
Ca      2 "H-0002c902002789ac"          # "node-00-01 HCA-1"
[1](2c902002789ad)      "S-000b8cffff0053ee"[1]         # lid 1 lmc 0

vendid=0x2c9
devid=0x6340
sysimgguid=0x2c9030002847f
caguid=0x2c9030002847c
Ca      2 "H-0002c9030002847c"          # "node-00-00 HCA-1"
[2](2c9030002847e)      "S-000b8cffff0053ee"[2]         # lid 2 lmc 0
'''
ROUTER = '''
vendid=0x2c9
devid=0x6340
sysimgguid=0x2c90300028480
rtguid=0x2c90300028480
Rt      2 "R-0002c90300028480"          # "a router"
[2](2c90300028482)      "S-000b8cffff0053ee"[3]         # lid 5 lmc 0 4xQDR
'''
# As ibsim's examples are written.
PLAIN = '''\
Switch\t8 "Switch1"
[1]\t"Hca1"[1]
[2]\t"Hca2"
[3]\t"Switch2"[4] w=2 s=1

Switch 8 "Switch2"

Hca\t2 "Hca1"
Hca\t2 "Hca2"
'''


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name='net'):
        return os.path.join(self.folder, name)

    def read(self, text, name='net'):
        with open(self.path(name), 'w', encoding='latin-1') as file:
            file.write(text)
        return topology.read(self.path(name))

    def refused(self, text, line, reason):
        """The whole message, without the folder."""
        with self.assertRaises(Failure) as caught:
            self.read(text)
        said = str(caught.exception)
        self.assertTrue(said.startswith(f'{self.path()}:{line}: '), said)
        self.assertIn(reason, said)


class Reading(Files):
    def test_dump(self):
        found = self.read(DUMP)
        switch, first, second = found.nodes
        self.assertEqual((switch.kind, switch.num_ports, switch.guid,
                          switch.vendor, switch.device),
                         ('Switch', 8, 0xb8cffff0053ee, 0x2c9, 0xa87c))
        self.assertEqual(switch.system_guid, switch.guid)
        self.assertEqual(first.system_guid, 0x2c902002789af)
        self.assertEqual(first.port_guid, 0x2c902002789ad)
        # The GUID of port 2 is the second from that of port 1 on.
        self.assertEqual(second.port_guid, 0x2c9030002847d)
        self.assertEqual(second.description, 'node-00-00 HCA-1')
        self.assertEqual(switch.ports, {1: (first, 1), 2: (second, 2)})
        self.assertEqual(second.ports, {2: (switch, 2)})

    def test_router(self):
        found = self.read(DUMP + ROUTER)
        router = found.nodes[3]
        self.assertEqual((router.kind, router.num_ports, router.guid,
                          router.port_guid, router.name),
                         ('Rt', 2, 0x2c90300028480, 0x2c90300028481,
                          'a router'))
        self.assertEqual(found.nodes[0].ports[3], (router, 2))
        self.assertEqual(found.cas(), found.nodes[1:])

    def test_without_guids(self):
        found = self.read(PLAIN)
        self.assertEqual([node.guid for node in found.nodes],
                         [0x100000, 0x100001, 0x200200, 0x200300])
        self.assertEqual(found.by_id('Hca2').ports[1],
                         (found.by_id('Switch1'), 2))
        self.assertEqual(found.by_id('Switch2').ports[4],
                         (found.by_id('Switch1'), 3))
        self.assertEqual(found.by_id('Switch1').options, {3: 'w=2 s=1'})

    def test_rates(self):
        """The rows of tests/unit/test-fabric-topology.c"""
        found = self.read(
            'Switch 8 "s"\n'
            '[1]\t"h"[1](200001) \t\t# "h 12xHDR" lid 6 4xSDR\n'
            '[2]\t"h"[2]\n'
            '[3]\t"h"[3]\t\t# "h" lid 6 2xHDR s=1 w=2\n'
            '[4]\t"h"[4] # "h" 1xFDR10\n'
            '[5]\t"h"[5] # "4xEDR" lid 6 ???\n'
            '[6]\t"h"[6] # 4xEDRs 16xSDR 4x SDR\n'
            '[7]\t"h"[7] # "4xEDR\n'
            '[8]\t"h"[8] s=2 # "h" 4xEDR\n'
            '\n'
            'Hca 8 "h"\n'
            '[1](200001)\t"s"[1]\t\t# lid 6 lmc 0 "s" lid 1 1xDDR\n'
            '[2]\t"s"[2]\t\t# lid 6 lmc 0 "s" lid 1 12xEDR\n'
            '[8]\t"s"[8]\t\t# "s" lid 1 4xEDR\n')
        rates = {1: '4xSDR', 2: '12xEDR', 3: '2xHDR', 4: '1xFDR10'}
        self.assertEqual(found.by_id('s').rates, rates)
        self.assertEqual(found.by_id('h').rates, {**rates, 1: '1xDDR'})

    def test_include(self):
        with open(self.path('switches'), 'w', encoding='ascii') as file:
            file.write('Switch 4 "A"\n[1] "B"[1]\n')
        found = self.read('include "switches"\nSwitch 4 "B"\n')
        self.assertEqual([node.id for node in found.nodes], ['A', 'B'])
        self.assertEqual(len(list(found.cables())), 1)

    def test_find(self):
        found = self.read(DUMP)
        node = found.by_id('H-0002c902002789ac')
        for name in ('H-0002c902002789ac', 'node-00-01 HCA-1', 'node-00-01',
                     '0x2c902002789ac', '0002c902002789ac'):
            self.assertIs(found.find(name), node)
        self.assertEqual(found.find_port('node-00-00'), (found.nodes[2], 2))
        self.assertEqual(found.find_port('MT43132 Mellanox:7'),
                         (found.nodes[0], 7))
        for wrong in ('nobody', 'MT43132', 'node-00-01:3', 'MT43132:0'):
            with self.assertRaises(Failure):
                found.find_port(wrong)


class Writing(Files):
    def test_again_the_same(self):
        for text in DUMP, DUMP + ROUTER, PLAIN:
            first = self.read(text)
            file = io.StringIO()
            topology.write(first, file, 'a heading')
            second = self.read(file.getvalue(), 'again')
            self.assertEqual(len(first.nodes), len(second.nodes))
            for a, b in zip(first.nodes, second.nodes):
                for name in ('id', 'kind', 'num_ports', 'description', 'guid',
                             'system_guid', 'port_guid', 'vendor', 'device',
                             'options', 'rates'):
                    self.assertEqual(getattr(a, name), getattr(b, name), name)
                self.assertEqual(
                    {port: (peer.id, far) for port, (peer, far)
                     in a.ports.items()},
                    {port: (peer.id, far) for port, (peer, far)
                     in b.ports.items()})


class Wrong(Files):
    def test_port_twice(self):
        self.refused('Switch 4 "A"\n[1] "B"\n[1] "B"[2]\nSwitch 4 "B"\n', 3,
                     'port 1 of "A" is there twice')

    def test_two_cables_in_a_port(self):
        self.refused('Switch 4 "A"\n[1] "B"[1]\n[2] "B"[1]\nSwitch 4 "B"\n',
                     3, 'has another cable')

    def test_unknown_peer(self):
        self.refused('Switch 4 "A"\n[1] "B"\n', 2, 'unknown peer "B"')

    def test_port_to_itself(self):
        self.refused('Switch 4 "A"\n[2] "A"[2]\n', 2, 'leads to itself')

    def test_some_without_guid(self):
        self.refused('switchguid=0x1\nSwitch 4 "A"\nSwitch 4 "B"\n', 3,
                     'no GUID for "B"')

    def test_guid_twice(self):
        self.refused('caguid=0x1\nCa 1 "A"\ncaguid=1\nCa 1 "B"\n', 4,
                     'the GUID of "B" is there twice')

    def test_guids_beyond_64_bits(self):
        self.refused('caguid=0xffffffffffffffff\nCa 1 "A"\n', 2,
                     'do not fit into 64 bits')
        self.refused('Ca 2 "A"\n[1](ffffffffffffffff) "A"[2]\n', 1,
                     'do not fit into 64 bits')
        self.refused('Ca 2 "A"\n[2](1) "A"[1]\n', 2,
                     'no GUID in the parentheses')

    def test_ports(self):
        self.refused('Switch 255 "A"\n', 1, '1 to 254 ports')
        self.refused('Switch 4 "A"\n[5] "A"[1]\n', 2, 'has ports 1 to 4')
        self.refused('Switch 4 "A"\n[1] "A"[9]\n', 2, 'has ports 1 to 4')

    def test_words(self):
        self.refused('do "something"\n', 1, 'not supported')
        self.refused('[1] "A"\n', 1, 'without a node')
        self.refused('Switch 4 "A"\n[1] "A"[2] x=3\n', 2, 'neither w= nor s=')
        self.refused('# nothing\n', 1, 'no node')
        self.refused('Switch 4 "A"\nSwitch 4 "A"\n', 2, 'is there twice')

    def test_long_line(self):
        self.refused('#' * 1024 + '\n', 1, 'more than 1023 bytes')
        self.refused('Switch 4 "A"\n#\0\n', 2, 'a byte of 0')

    def test_include_loop(self):
        self.refused('Switch 4 "A"\ninclude "net"\n', 2, 'includes itself')
        self.refused('include "nowhere"\n', 1, 'No such file')
        self.refused('include "."\n', 1, 'not a file')

    def test_no_file(self):
        with self.assertRaisesRegex(Failure, '^/nowhere: No such file'):
            topology.read('/nowhere')


if __name__ == '__main__':
    unittest.main()
