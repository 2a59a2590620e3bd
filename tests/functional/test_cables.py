# SPDX-License-Identifier: GPL-2.0-or-later
"""Other cables than the plain one, in one fabric of two switches:

    guest a   port 1 of sw0   with CRCs
    guest b   port 2 of sw0   datagram sockets rather than a stream
    guest c   port 3 of sw1   CRCs, frames of 2 KiB, an MTU of 1024, one VL
    sw0 port 8 to sw1 port 1  with CRCs
"""

import unittest

from ibtest.case import FabricCase
from ibtest.machines import stream
from ibtest.steps import bring_up

PORT = '/sys/class/infiniband/mlx4_0/ports/1'


class Cables(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.one = one = fabric.add_switch('sw0', 8)
        cls.two = two = fabric.add_switch('sw1', 4, ',crc=on')
        a = fabric.add_guest('a', cls.kernel, one, 1, hca=',crc=on,speed=edr')
        b = fabric.add_guest('b', cls.kernel)
        c = fabric.add_guest('c', cls.kernel, two, 3,
                             hca=',max-frame=2048,mtu=1024,vls=1')
        near, far = one.path('port2'), b.path('port')
        one.add_netdev(2, 'dgram,'
                       f'local.type=unix,local.path={near},'
                       f'remote.type=unix,remote.path={far}')
        b.netdev = (f'dgram,local.type=unix,local.path={far},'
                    f'remote.type=unix,remote.path={near}')
        two.add_netdev(1, stream(one.cable(8)))
        cls.guests = {'a': a, 'b': b, 'c': c}
        cls.facts = {'ports': 8}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts)
        cls.guests['c'].wait_for(f'cat {PORT}/state', 'ACTIVE')

    def lid(self, name):
        return int(self.guests[name].sh(f'cat {PORT}/lid'), 0)

    def test_discovery(self):
        out = self.guests['b'].sh('ibnetdiscover')
        self.assertEqual(out.count('\nSwitch'), 2)
        self.assertEqual(out.count('\nCa'), 3)

    def test_path_over_two_switches(self):
        out = self.guests['a'].sh(f'ibtracert {self.lid("a")} '
                                  f'{self.lid("c")}')
        self.assertRegex(out, r'(?s)\[1\] -> switch port \S+\[1\] .*\n'
                         r'\[8\] -> switch port \S+\[1\] .*\n'
                         r'\[3\] -> ca port \S+\[1\] ')

    def test_ping(self):
        """IPoIB between a and b; c, with its MTU, can't join."""
        self.guests['a'].wait_for('ip link show ib0', 'LOWER_UP', 30)
        for size in (56, 1900):
            out = self.guests['a'].wait_for(
                f'ping -c 5 -i 0.2 -s {size} 10.0.0.2', ' 0% packet loss')
            self.assertIn('5 received', out)

    def test_ibping(self):
        self.guests['c'].sh('setsid ibping -S >/dev/null 2>&1 & sleep 0.5')
        for name in ('a', 'b'):
            out = self.guests[name].sh(f'ibping -f -c 200 {self.lid("c")}')
            self.assertIn(' 0% packet loss', out)

    def test_errors(self):
        """No cable has lost or damaged a frame."""
        out = self.guests['a'].sh('ibqueryerrors --data || true')
        self.assertNotRegex(out, r'SymbolErrorCounter == [1-9]')
        self.assertNotRegex(out, r'PortRcvErrors == [1-9]')
        for guest in self.guests.values():
            # This is how the driver learns of fewer than 8 VLs.
            problems = [line for line in guest.kernel_problems() if
                        'command 0xc failed: fw status = 0x8' not in line]
            self.assertEqual(problems, [], guest.name)


if __name__ == '__main__':
    unittest.main()
