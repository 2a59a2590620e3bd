# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, loads and errors, from counters of two moments; QEMU's command
line for switches."""

import unittest

from ibfabric import generate, layout, live, top


def make(shape, **arguments):
    build = generate.Builder()
    shape(build, **arguments)
    return build.topology()


def sample(**counters):
    return live.Sample('active', {'xmit-data': 0, 'rcv-data': 0, **{
        name.replace('_', '-'): value for name, value in counters.items()}})


class Rates(unittest.TestCase):
    def setUp(self):
        self.net = make(generate.one_switch, nodes=3)
        self.switch = self.net.switches()[0]

    def test_words_are_four_bytes(self):
        self.assertEqual(live.rate(sample(), sample(xmit_data=1000,
                                                    rcv_data=500), 2),
                         (2000, 1000))
        self.assertEqual(live.rate(None, sample(xmit_data=1), 1), (0, 0))

    def test_capacity(self):
        """4x QDR carries 32 Gbit/s of data, 1x SDR two."""
        self.assertEqual(live.capacity(self.switch, 1), 4e9)
        self.switch.options[1] = 'w=1 s=1'
        self.assertEqual(live.capacity(self.switch, 1), 250e6)
        peer, port = self.switch.ports[1]
        self.assertEqual(live.capacity(peer, port), 250e6)

    def test_busiest_first_then_errors(self):
        ports = [(self.switch, n) for n in (1, 2, 3)]
        before = {port: sample() for port in ports}
        after = dict(zip(ports, (sample(), sample(symbol_errors=4),
                                 sample(xmit_data=2 * 10**8, xmit_wait=7))))
        found = top.rows(before, after, 1.0)
        self.assertEqual([row['port'] for row in found],
                         ['switch-1:3', 'switch-1:2', 'switch-1:1'])
        self.assertAlmostEqual(found[0]['load'], 0.2)
        self.assertEqual(found[0]['wait'], 7)
        self.assertEqual((found[1]['errors'], found[1]['new']), (4, 4))
        self.assertIn('800 MB', top.text(found[0]))
        self.assertTrue(top.text(found[1]).endswith('4 +4'))

    def test_amounts(self):
        for value, text in ((0, '0 B'), (999, '999 B'), (1500, '1.5 kB'),
                            (42e6, '42 MB'), (4e9, '4.0 GB'), (3e12, '3.0 TB')):
            self.assertEqual(top.amount(value), text)


class Chassis(unittest.TestCase):
    def test_cables(self):
        """Cables between switches are hubs of two, others as asked for."""
        net = make(generate.ring, switches=3)
        args = layout.switches(net.switches(), lambda node, port, peer, _:
                              f'test,to={peer.name}'
                              if peer.name != 'node-3' else None)
        hubs = {}
        for word in args:
            if word.startswith('hubport,hubid='):
                hub = word.split(',')[1]
                hubs[hub] = hubs.get(hub, 0) + 1
        self.assertEqual(list(hubs.values()), [2, 2, 2])
        self.assertEqual([word for word in args if word.startswith('test,')],
                         ['test,to=node-1,id=n0.1', 'test,to=node-2,id=n1.1'])
        self.assertEqual(sum(word.startswith('ib-port,') for word in args), 8)

    def test_commas(self):
        net = make(generate.one_switch, nodes=1)
        net.nodes[0].description = 'a,b'
        self.assertIn('description=a,,b',
                      layout.switch_device(net.nodes[0]))


if __name__ == '__main__':
    unittest.main()
