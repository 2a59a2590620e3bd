# SPDX-License-Identifier: GPL-2.0-or-later
"""An adapter with two ports: two cables, two LIDs, one driver."""

import re
import unittest

from ibtest.case import FabricCase, each_kernel
from ibtest.machines import stream

FABRIC = '/sys/class/infiniband/mlx4_0/ports'
# Of a ConnectX-3 with two ports and firmware 2.33.5100: docs/connectx3.rst.
REAL = {
    'max_mr_size': '0xffffffffffffffff', 'page_size_cap': '0xfffffe00',
    'max_qp': '131000', 'max_qp_wr': '16351', 'max_sge': '32',
    'max_sge_rd': '30', 'max_cq': '65408', 'max_cqe': '4194303',
    'max_mr': '524032', 'max_pd': '32764', 'max_qp_rd_atom': '16',
    'max_ee_rd_atom': '0', 'max_res_rd_atom': '2096000',
    'max_qp_init_rd_atom': '128', 'max_ee_init_rd_atom': '0',
    'atomic_cap': 'ATOMIC_HCA', 'max_ee': '0', 'max_rdd': '0', 'max_mw': '0',
    'max_raw_ipv6_qp': '0', 'max_raw_ethy_qp': '0', 'max_mcast_grp': '8192',
    'max_mcast_qp_attach': '248', 'max_total_mcast_qp_attach': '2031616',
    'max_ah': '2147483647', 'max_fmr': '0', 'max_srq': '65472',
    'max_srq_wr': '16383', 'max_srq_sge': '31', 'local_ca_ack_delay': '15',
}
CAPABILITIES = (
    'BAD_PKEY_CNTR', 'BAD_QKEY_CNTR', 'AUTO_PATH_MIG', 'CHANGE_PHY_PORT',
    'UD_AV_PORT_ENFORCE', 'PORT_ACTIVE_EVENT', 'SYS_IMAGE_GUID',
    'RC_RNR_NAK_GEN', 'MEM_WINDOW', 'XRC', 'MEM_MGT_EXTENSIONS',
    'MEM_WINDOW_TYPE_2B', 'RAW_IP_CSUM')


class Ports(FabricCase):
    @classmethod
    def build(cls, fabric):
        switch = fabric.add_switch('sw0', 4)
        cls.switch = switch
        cls.second = stream(switch.cable(2))
        cls.a = fabric.add_guest(
            'a', cls.kernel, switch, 1,
            hca=',ports=2,node-guid=0x0002c90000002000',
            extra=['-netdev', f'{cls.second},id=cable2', '-device',
                   'ib-port,id=hca-p2,bus=hca.0,port=2,netdev=cable2'])
        cls.b = fabric.add_guest('b', cls.kernel, switch, 3)

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.a.sh('opensm --daemon --log_file /var/log/opensm.log')
        cls.a.wait_for(f'cat {FABRIC}/1/state {FABRIC}/2/state',
                       'ACTIVE(.|\n)*ACTIVE', 60)
        cls.b.wait_for(f'cat {FABRIC}/1/state', 'ACTIVE', 60)

    def lid(self, guest, port):
        return int(guest.sh(f'cat {FABRIC}/{port}/lid'), 16)

    def test_1_both_active(self):
        """One node of two ports, each with its LID, GID and state."""
        a = self.a
        out = a.sh('ibstat mlx4_0')
        self.assertIn('Number of ports: 2', out)
        self.assertEqual(out.count('State: Active'), 2, out)
        lids = [int(lid) for lid in re.findall(r'Base lid: (\d+)', out)]
        self.assertEqual(len(set(lids)), 2, out)
        self.assertEqual(re.findall(r'Port GUID: 0x([0-9a-f]+)', out),
                         ['0002c90000002001', '0002c90000002002'])
        self.assertIn('phys_port_cnt:\t\t\t2', a.sh('ibv_devinfo'))
        found = a.sh('ibnetdiscover')
        self.assertEqual(len(re.findall(r'^Ca\t', found, re.M)), 2, found)
        for port, near in ((1, 1), (2, 2)):
            self.assertRegex(found, rf'\[{near}\]\s+"H-0002c90000002000"'
                             rf'\[{port}\]')

    def test_1_figures(self):
        """ibv_devinfo -v as somebody published it for a real one."""
        out = self.a.sh('ibv_devinfo -v')
        shown = dict(re.findall(r'^\s*(\w+):[ \t]+(\S+)', out, re.M))
        for name, value in REAL.items():
            self.assertEqual(shown.get(name), value, name)
        for flag in CAPABILITIES:
            self.assertIn(flag, out)

    def pingpong(self, server, client, to):
        waiting = to.agent.start(server, 60)
        done = self.a.try_sh('for i in 1 2 3 4 5 6; do sleep 0.5; '
                             f'{client} && exit; done; exit 1', 60)
        end = to.agent.wait(waiting, 120)
        self.assertEqual((done.status, end.status), (0, 0), f'{done}\n{end}')
        self.assertIn('200 iters in', done.out)

    def test_2_traffic_by_each(self):
        """From each port of a to b, and from one port of a to the other."""
        self.a.sh('ip address replace 10.0.0.1/24 dev ib0;'
                  ' ip link set ib0 up')
        self.b.sh('ip address replace 10.0.0.2/24 dev ib0;'
                  ' ip link set ib0 up')
        self.a.wait_for('ping -c 1 -W 1 10.0.0.2', ' 0% packet loss', 30)
        for port in (1, 2):
            for kind in ('rc', 'ud'):
                self.pingpong(f'ibv_{kind}_pingpong -n 200',
                              f'ibv_{kind}_pingpong -n 200 -i {port} '
                              '10.0.0.2', self.b)
        packets = f'{FABRIC}/2/counters/port_xmit_packets'
        before = int(self.a.sh(f'cat {packets}'))
        self.pingpong('ibv_rc_pingpong -n 200 -i 1 -p 18600',
                      'ibv_rc_pingpong -n 200 -i 2 -p 18600 127.0.0.1',
                      self.a)
        self.assertGreater(int(self.a.sh(f'cat {packets}')), before + 200)

    def test_3_hot_plug(self):
        """The second cable is pulled out and plugged in again; the first
        port knows nothing of it."""
        a = self.a
        a.qmp('device_del', id='hca-p2')
        a.wait_for(f'cat {FABRIC}/2/state', 'DOWN', 20)
        self.assertIn('ACTIVE', a.sh(f'cat {FABRIC}/1/state'))
        self.pingpong('ibv_rc_pingpong -n 200',
                      'ibv_rc_pingpong -n 200 10.0.0.2', self.b)
        a.qmp('device_add', driver='ib-port', id='hca-p2', bus='hca.0',
              port=2, netdev='cable2')
        a.wait_for(f'cat {FABRIC}/2/state', 'ACTIVE', 60)
        self.assertNotEqual(self.lid(a, 2), self.lid(a, 1))

    def test_4_reload(self):
        """The driver goes and comes; both ports are Active again."""
        a = self.a
        a.sh('pkill opensm; sleep 1')
        a.unload_drivers()
        a.load_drivers()
        a.sh('opensm --daemon --log_file /var/log/opensm.log')
        a.wait_for(f'cat {FABRIC}/1/state {FABRIC}/2/state',
                   'ACTIVE(.|\n)*ACTIVE', 60)

    def test_zz_no_complaint_from_the_kernel(self):
        for guest in (self.a, self.b):
            self.assertEqual(guest.kernel_problems(), [])


each_kernel(Ports)
del Ports

if __name__ == '__main__':
    unittest.main()
