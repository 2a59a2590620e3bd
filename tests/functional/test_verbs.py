# SPDX-License-Identifier: GPL-2.0-or-later
"""Verbs, from the programs that Debian has for them."""

import re
import unittest

from ibtest.case import each_kernel
from ibtest.pair import PairCase


class Verbs(PairCase):
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
        self.assertIn('200 iters in', self.pair(f'{program} -n 200'))

    def test_rc_pingpong(self):
        self.pingpong('ibv_rc_pingpong')

    def test_rc_pingpong_events(self):
        """Completions through the event queue rather than by polling."""
        self.pingpong('ibv_rc_pingpong -e')

    def test_rc_pingpong_large(self):
        """Messages of many packets."""
        self.pingpong('ibv_rc_pingpong -s 100000')

    def test_uc_pingpong(self):
        self.pingpong('ibv_uc_pingpong')

    def test_ud_pingpong(self):
        self.pingpong('ibv_ud_pingpong')

    def test_srq_pingpong(self):
        """Sixteen queue pairs on one shared receive queue."""
        self.pingpong('ibv_srq_pingpong')

    def test_xsrq_pingpong(self):
        """Extended reliable connections: targets that share an SRQ."""
        self.assertIn('success', self.pair('ibv_xsrq_pingpong -n 200'))

    def large(self, program):
        self.perftest(f'{program} -s 65536 -n 100', [65536])

    def test_rdma_write(self):
        self.large('ib_write_bw')

    def test_rdma_read(self):
        self.large('ib_read_bw')

    def test_send(self):
        self.large('ib_send_bw')

    def test_atomics(self):
        self.perftest('ib_atomic_lat -n 100', [8])

    def test_connection_manager(self):
        """rdma_cm over IPoIB's addresses, data checked at both ends."""
        out = self.pair('rping -s -C 5 -V', 'rping -c -a 10.0.0.2 -C 5 -V -v')
        self.assertEqual(out.count('ping data: rdma-ping-'), 5)

    def test_zz_no_complaint_from_the_kernel(self):
        self.no_complaints()


each_kernel(Verbs)
del Verbs

if __name__ == '__main__':
    unittest.main()
