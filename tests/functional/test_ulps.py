# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel users of the HCA that need more than user land's verbs: fast
registration, remote invalidation, shared receive queues of connections."""

import unittest

from ibtest.case import FabricCase
from ibtest.steps import bring_up

# A RAM disk in b, offered over RDMA.
TARGET = '''
set -e
modprobe -a nvmet nvmet-rdma
modprobe brd rd_nr=1 rd_size=8192
dd if=/dev/urandom of=/dev/ram0 bs=1M count=8 2>/dev/null
mount -t configfs none /sys/kernel/config 2>/dev/null || true
cd /sys/kernel/config/nvmet
mkdir subsystems/t
echo 1 >subsystems/t/attr_allow_any_host
mkdir subsystems/t/namespaces/1
echo -n /dev/ram0 >subsystems/t/namespaces/1/device_path
echo 1 >subsystems/t/namespaces/1/enable
mkdir ports/1
cd ports/1
echo 10.0.0.2 >addr_traddr
echo rdma >addr_trtype
echo 4420 >addr_trsvcid
echo ipv4 >addr_adrfam
ln -s ../../subsystems/t subsystems/t
'''
# Past the page cache, which does not see what comes over the fabric.
DISK_SUM = 'dd if=/dev/ram0 bs=1M iflag=direct 2>/dev/null | md5sum'


class Ulps(FabricCase):
    @classmethod
    def build(cls, fabric):
        switch = fabric.add_switch('sw0', 4)
        cls.guests = {name: fabric.add_guest(name, cls.kernel, switch, port)
                      for name, port in (('a', 1), ('b', 2))}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, {'ports': 4},
                 ('opensm', 'ibstat-a', 'ibstat-b', 'ipoib-a', 'ipoib-b'))

    def test_1_nvme_over_fabrics(self):
        """A disk in b, read and written from a: the bytes are the same."""
        a, b = self.guests['a'], self.guests['b']
        b.sh(TARGET)
        a.sh('modprobe nvme-rdma; echo -n transport=rdma,traddr=10.0.0.2,'
             'trsvcid=4420,nqn=t >/dev/nvme-fabrics')
        a.wait_for('ls /dev', 'nvme0n1', 10)
        a.sh('dd if=/dev/nvme0n1 of=/tmp/disk bs=1M iflag=direct')
        disk = b.sh(DISK_SUM)
        self.assertEqual(a.sh('md5sum </tmp/disk'), disk)
        a.sh('dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=128 oflag=direct')
        self.assertNotEqual(b.sh(DISK_SUM), disk)
        a.sh('dd if=/tmp/disk of=/dev/nvme0n1 bs=4k oflag=direct')
        self.assertEqual(b.sh(DISK_SUM), disk)
        a.sh('echo 1 >/sys/class/nvme/nvme0/delete_controller')
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [])

    def test_2_ipoib_connected(self):
        """IP packets of 60000 bytes over reliable connections."""
        for guest in self.guests.values():
            guest.sh('ip link set ib0 down;'
                     ' echo connected >/sys/class/net/ib0/mode;'
                     ' ip link set ib0 up mtu 65520')
        out = self.guests['a'].wait_for(
            'ping -c 5 -i 0.2 -W 2 -s 60000 10.0.0.2', ' 0% packet loss', 30)
        self.assertIn('5 received', out)
        for guest in self.guests.values():
            problems = [line for line in guest.kernel_problems()
                        if 'multicast packet drops' not in line]
            self.assertEqual(problems, [])


if __name__ == '__main__':
    unittest.main()
