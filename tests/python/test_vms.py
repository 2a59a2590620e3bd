# SPDX-License-Identifier: GPL-2.0-or-later
"""Which nodes are VMs, and what they are called."""

import unittest

from ibfabric import Failure, generate, layout, topology, vms


def make(**arguments):
    build = generate.Builder()
    generate.fat_tree(build, **arguments)
    return build.topology()


class Choose(unittest.TestCase):
    def setUp(self):
        self.net = make(nodes=8, radix=8)

    def test_names_and_addresses(self):
        found = vms.choose(self.net, ['node-3', '0x2c90010000010'])
        self.assertEqual([(vm.name, vm.ports, vm.address) for vm in found],
                         [('node-3', [1], '10.77.0.1'),
                          ('node-1', [1], '10.77.0.2')])
        self.assertEqual(found[0].extra(), [])

    def test_same_first_words(self):
        """Host names are distinct where descriptions are not."""
        for node in self.net.cas():
            node.description = 'fabric HCA-1'
        found = vms.choose(self.net, [node.id for node in self.net.cas()])
        self.assertEqual(len({vm.name for vm in found}), 8)
        self.assertNotIn('fabric', {vm.name for vm in found})

    def test_ports(self):
        """All cabled ports, two at most; IPoIB is on the first of them."""
        switch = topology.Node('s', topology.SWITCH, 4)
        ca = topology.Node('h', topology.CA, 3)
        net = topology.Topology([switch, ca])
        with self.assertRaisesRegex(Failure, 'h has no cable'):
            vms.choose(net, ['h'])
        net.connect(switch, 1, ca, 2)
        vm = vms.choose(net, ['h'])[0]
        self.assertEqual((vm.ports, vm.interface), ([2], 'ib1'))
        self.assertEqual(
            layout.hca(ca, {2: 'user'}, 'rate=link'),
            ['-netdev', 'user,id=cable2', '-device',
             'connectx3,id=hca,ports=2,node-guid=0x0,system-guid=0x0,'
             'port-guid=0x0,rate=link', '-device',
             'ib-port,id=hca-p2,bus=hca.0,port=2,netdev=cable2'])
        net.connect(switch, 2, ca, 3)
        with self.assertRaisesRegex(Failure, 'cable in port 3'):
            vms.choose(net, ['h'])

    def test_refused(self):
        for names, reason in ((['leaf-1'], 'is a switch'),
                              (['node-1', 'node-1'], 'twice'),
                              (['node-9'], 'no node')):
            with self.assertRaisesRegex(Failure, reason):
                vms.choose(self.net, names)

    def test_router(self):
        self.net.add(topology.Node('r', topology.ROUTER, 2))
        with self.assertRaisesRegex(Failure, 'r is a router'):
            vms.choose(self.net, ['r'])


class Yaml(unittest.TestCase):
    def settings(self, found):
        return vms.from_yaml('lab.yaml', found)

    def test_settings(self):
        net = make(nodes=8, radix=8)
        found = vms.choose(net, [], self.settings(
            {'memory': 1024, 'kernel': 6.12,
             'vms': {'node-1': None,
                     'node-2': {'memory': 256, 'cpus': 2, 'kernel': '6.1',
                                'hca': 'rate=link', 'qemu': ['-snapshot']}}}))
        self.assertEqual((found[0].memory, found[0].extra()), (1024, []))
        self.assertEqual(found[0].kernel, '6.12')
        self.assertEqual(found[1].extra(),
                         ['-smp', '2', '-snapshot'])
        self.assertEqual(found[1].kernel, '6.1')

    def test_list(self):
        for found in ({'vms': ['a', 'b']}, ['a', 'b'],
                      {'vms': {'a': {}, 'b': None}}):
            self.assertEqual(self.settings(found), [('a', {}), ('b', {})])

    def test_refused(self):
        for found, reason in (
                (None, 'no "vms:"'), ({}, 'no "vms:"'), ({'vms': 5}, 'list'),
                ({'vms': {'a': {'ram': 5}}}, 'a: there is no "ram"'),
                ({'vms': {'a': {'memory': 'big'}}}, 'memory is a number'),
                ({'vms': {'a': {'cpus': 0}}}, 'cpus is 1 at least'),
                ({'vms': {'a': {'cpus': True}}}, 'cpus is a number'),
                ({'vms': {'a': 5}}, 'lab.yaml: a: settings'),
                ({'memory': [], 'vms': ['a']}, 'memory is a number')):
            with self.assertRaisesRegex(Failure, reason):
                self.settings(found)


if __name__ == '__main__':
    unittest.main()
