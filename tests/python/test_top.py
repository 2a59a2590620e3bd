# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates, loads and errors, from counters of two moments; QEMU's command
line for switches."""

import unittest

from ibfabric import Failure, commands, generate, live, top


def make(shape, **arguments):
    build = generate.Builder()
    shape(build, **arguments)
    return build.topology()


class Rates(unittest.TestCase):
    def setUp(self):
        self.net = make(generate.one_switch, nodes=3)
        self.switch = self.net.switches()[0]

    def cable(self, port, sent=0, received=0, errors=0, gbps=32.0):
        peer, peer_port = self.switch.ports[port]
        return live.Cable(self.switch, port, peer, peer_port, 'active', gbps,
                          sent, received, errors)

    def test_rates(self):
        self.assertEqual(live.rates(self.cable(1), self.cable(1, 4000, 2000),
                                    2), (2000, 1000))

    def test_load(self):
        """32 Gbit/s are 4 GB/s; the busier direction counts."""
        new = self.cable(1, 10**9, 2 * 10**9)
        self.assertEqual(live.load(self.cable(1), new, 1), 0.5)
        new.gbps = 0.0
        self.assertEqual(live.load(self.cable(1), new, 1), 0.0)

    def test_busiest_first_then_errors(self):
        before = [self.cable(1), self.cable(2), self.cable(3)]
        after = [self.cable(1), self.cable(2, errors=4),
                 self.cable(3, sent=8 * 10**8)]
        found = top.rows(before, after, 1.0)
        self.assertEqual([row['port'] for row in found],
                         ['switch-1:3', 'switch-1:2', 'switch-1:1'])
        self.assertAlmostEqual(found[0]['load'], 0.2)
        self.assertEqual((found[1]['errors'], found[1]['new']), (4, 4))
        self.assertIn('800 MB', top.text(found[0]))
        self.assertTrue(top.text(found[1]).endswith('4 +4'))
        self.assertEqual(top.states(after), '3 active')

    def test_amounts(self):
        for value, text in ((0, '0 B'), (999, '999 B'), (1500, '1.5 kB'),
                            (42e6, '42 MB'), (4e9, '4.0 GB'), (3e12, '3.0 TB')):
            self.assertEqual(top.amount(value), text)


class Settings(unittest.TestCase):
    def test_errors(self):
        self.assertEqual(commands.parse_errors(['off']), {})
        self.assertEqual(
            commands.parse_errors(['drop=10', 'class=data', 'delay-us=5']),
            {'drop': 10, 'vls': 0x7fff, 'delay-us': 5})
        self.assertEqual(live.vls_of('vl3'), 8)
        for text, reason in (('foo=1', 'none of off'), ('drop', 'none of off'),
                             ('drop=x', '0 to 1000000'),
                             ('drop=1000001', '0 to 1000000'),
                             ('class=vl16', 'vl0 to vl15')):
            with self.assertRaisesRegex(Failure, reason):
                commands.parse_errors([text])


if __name__ == '__main__':
    unittest.main()
