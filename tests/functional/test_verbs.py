# SPDX-License-Identifier: GPL-2.0-or-later
"""Verbs from the guests' user land: what of them there is so far."""

import re
import unittest

from ibtest.case import FabricCase, each_kernel
from ibtest.steps import bring_up


class Verbs(FabricCase):
    @classmethod
    def build(cls, fabric):
        switch = fabric.add_switch('sw0', 4)
        cls.guests = {name: fabric.add_guest(name, cls.kernel, switch, port)
                      for name, port in (('a', 1), ('b', 2))}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts, ('opensm', 'ibstat-a', 'ibstat-b'))

    def test_devinfo(self):
        out = self.guests['b'].sh('ibv_devinfo -v')
        for pattern in (r'hca_id:\s*mlx4_0', r'transport:\s*InfiniBand',
                        r'vendor_part_id:\s*4099', r'phys_port_cnt:\s*1\b',
                        r'state:\s*PORT_ACTIVE', r'max_mtu:\s*4096',
                        rf'port_lid:\s*{self.facts["lid_b"]}\b',
                        rf'sm_lid:\s*{self.facts["lid_a"]}\b',
                        r'link_layer:\s*InfiniBand'):
            self.assertRegex(out, pattern)
        guid = re.search(r'node_guid:\s*(\S+)', out).group(1)
        self.assertEqual(int(guid.replace(':', ''), 16),
                         int(self.facts['node_guid_b'], 16))
        gid = re.search(r'GID\[\s*0\]:\s*(\S+)', out).group(1)
        self.assertTrue(gid.startswith('fe80:'), gid)

    def pingpong(self, program):
        a, b = self.guests['a'], self.guests['b']
        server = b.agent.start(f'{program} -d mlx4_0 -n 100', 60)
        # The exchange of addresses runs over IPoIB.
        bring_up(self.guests, self.facts, ('ipoib-a', 'ipoib-b'))
        client = a.try_sh(f'for i in 1 2 3 4 5; do {program} -d mlx4_0 -n 100 '
                          '10.0.0.2 && exit; sleep 1; done; exit 1', 60)
        self.assertEqual(client.status, 0, str(client))
        self.assertRegex(client.out, r'100 iters in')
        done = b.agent.wait(server, 90)
        self.assertEqual(done.status, 0, str(done))

    def test_ud_pingpong(self):
        self.pingpong('ibv_ud_pingpong')

    def test_no_complaint_from_the_kernel(self):
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [])


each_kernel(Verbs)
del Verbs

if __name__ == '__main__':
    unittest.main()
