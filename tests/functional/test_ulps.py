# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel users of the HCA: disks and files over RDMA (fast registration,
remote invalidation, shared receive queues of connections), and IP."""

import unittest

from ibtest.case import each_kernel, long_test
from ibtest.pair import PairCase

CONFIGFS = 'mount -t configfs none /sys/kernel/config 2>/dev/null || true'
TARGET = '/sys/kernel/config/target'

# A RAM disk in b, offered over NVMe.
NVME = f'''
set -e
modprobe -a nvmet nvmet-rdma
{CONFIGFS}
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
# The same, as a SCSI disk of Linux' target.
SCSI = f'''
set -e
modprobe -a target_core_mod target_core_iblock
{CONFIGFS}
mkdir {TARGET}/core/iblock_0 {TARGET}/core/iblock_0/d
cd {TARGET}/core/iblock_0/d
echo udev_path=/dev/ram0 >control
echo 1 >enable
'''
# ... over SRP, for the initiator whose port has that GUID.
SRP = f'''
set -e
modprobe ib_srpt
mkdir {TARGET}/srpt
gid=0x$(sed s/://g /sys/class/infiniband/mlx4_0/ports/1/gids/0)
mkdir {TARGET}/srpt/$gid {TARGET}/srpt/$gid/$gid
cd {TARGET}/srpt/$gid/$gid
mkdir lun/lun_0
ln -s {TARGET}/core/iblock_0/d lun/lun_0/d
acl=acls/0x0000000000000000%s
mkdir $acl
mkdir $acl/lun_0
ln -s {TARGET}/srpt/$gid/$gid/lun/lun_0 $acl/lun_0/d
echo 1 >enable
'''
# ... and over iSER.
ISER = f'''
set -e
modprobe -a iscsi_target_mod ib_isert
mkdir {TARGET}/iscsi {TARGET}/iscsi/iqn.2000-01.t:d
cd {TARGET}/iscsi/iqn.2000-01.t:d
mkdir tpgt_1
cd tpgt_1
mkdir np/10.0.0.2:3260
echo 1 >np/10.0.0.2:3260/iser
mkdir lun/lun_0
ln -s {TARGET}/core/iblock_0/d lun/lun_0/d
echo 0 >attrib/authentication
echo 1 >attrib/generate_node_acls
echo 0 >attrib/demo_mode_write_protect
echo 1 >enable
'''
ISCSI = '''
set -e
modprobe -a ib_iser sd_mod
mkdir -p /run/lock/iscsi
echo InitiatorName=iqn.2000-01.t:a >/etc/iscsi/initiatorname.iscsi
(iscsid -f >/tmp/iscsid.log 2>&1 &)
sleep 1
at='-m node -T iqn.2000-01.t:d -p 10.0.0.2'
iscsiadm $at -I iser -o new
iscsiadm $at --login
'''
NFS = '''
set -e
mkdir -p /srv/t /var/lib/nfs/v4recovery
mount -t tmpfs none /srv/t
head -c 8M /dev/urandom >/srv/t/file
modprobe -a nfsd rpcrdma
mount -t nfsd none /proc/fs/nfsd
echo "/srv/t *(rw,no_root_squash,fsid=0,insecure)" >/etc/exports
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
exportfs -ra
rpc.mountd -N 3
rpc.nfsd -N 3 -G 10 4
echo rdma 20049 >/proc/fs/nfsd/portlist
'''
MEGABYTES = 8
# Past the page cache, which does not see what comes over the fabric.
DISK_SUM = 'dd if=/dev/ram0 bs=1M iflag=direct 2>/dev/null | md5sum'
# What its modules say in the course of it.
CHATTER = (r'multicast packet drops|db_root: cannot open|max_sectors|'
           r'NFSD: |ib_srpt|nfsd|sd \S+ \[sda\]|'
           r'MODE SENSE: unimplemented page')


class Ulps(PairCase):
    clients = True

    @classmethod
    def prepare(cls):
        super().prepare()
        b = cls.guests['b']
        b.sh(f'modprobe brd rd_nr=1 rd_size={MEGABYTES << 10};'
             f' dd if=/dev/urandom of=/dev/ram0 bs=1M count={MEGABYTES}')

    def disk(self, device):
        """b's disk read and written from a: the bytes are the same."""
        a, b = self.guests['a'], self.guests['b']
        a.sh(f'dd if={device} of=/tmp/disk bs=1M iflag=direct')
        disk = b.sh(DISK_SUM)
        self.assertEqual(a.sh('md5sum </tmp/disk'), disk)
        a.sh(f'dd if=/dev/zero of={device} bs=64k'
             f' count={MEGABYTES << 4} oflag=direct')
        self.assertNotEqual(b.sh(DISK_SUM), disk)
        a.sh(f'dd if=/tmp/disk of={device} bs=4k oflag=direct')
        self.assertEqual(b.sh(DISK_SUM), disk)

    def test_1_nvme_over_fabrics(self):
        a, b = self.guests['a'], self.guests['b']
        b.sh(NVME)
        a.sh('modprobe nvme-rdma; echo -n transport=rdma,traddr=10.0.0.2,'
             'trsvcid=4420,nqn=t >/dev/nvme-fabrics')
        a.wait_for('ls /dev', 'nvme0n1', 10)
        self.disk('/dev/nvme0n1')
        a.sh('echo 1 >/sys/class/nvme/nvme0/delete_controller')
        b.sh('rm /sys/kernel/config/nvmet/ports/1/subsystems/t;'
             ' echo 0 >/sys/kernel/config/nvmet/subsystems/t/namespaces/1/'
             'enable')
        self.no_complaints()

    def test_2_srp(self):
        a, b = self.guests['a'], self.guests['b']
        b.sh(SCSI)
        guid = a.sh('sed s/://g /sys/class/infiniband/mlx4_0/ports/1/gids/0')
        b.sh(SRP % guid.strip()[16:])
        a.sh('modprobe -a ib_srp sd_mod; ibsrpdm -c -d /dev/infiniband/umad0'
             ' >/sys/class/infiniband_srp/srp-mlx4_0-1/add_target')
        a.wait_for('ls /dev', r'\bsda\b', 20)
        self.disk('/dev/sda')
        a.sh('for i in /sys/class/srp_remote_ports/*/delete; do'
             ' echo 1 >$i; done')
        self.no_complaints(CHATTER)

    def test_3_iser(self):
        a, b = self.guests['a'], self.guests['b']
        b.sh(ISER)
        a.sh(ISCSI)
        a.wait_for('ls /dev', r'\bsda\b', 20)
        self.disk('/dev/sda')
        a.sh('iscsiadm -m node --logout')
        self.no_complaints(CHATTER)

    def test_4_nfs(self):
        """A file read and written over NFS 4.2 on RDMA."""
        a, b = self.guests['a'], self.guests['b']
        b.sh(NFS)
        a.sh('modprobe -a nfsv4 rpcrdma; mkdir -p /mnt; mount -t nfs4'
             ' -o rdma,port=20049,vers=4.2 10.0.0.2:/ /mnt')
        self.assertIn('proto=rdma', a.sh('grep /mnt /proc/mounts'))
        a.sh('cp /mnt/file /tmp/file; cp /tmp/file /mnt/copy; umount /mnt',
             120)
        md5, _, copy, _ = b.sh('cd /srv/t; md5sum file copy').split()
        self.assertEqual(md5, copy)
        self.assertEqual(a.sh('md5sum /tmp/file').split()[0], md5)
        self.no_complaints(CHATTER)

    def iperf(self, options):
        """iperf3's total, in bits a second, as the receiver has it."""
        out = self.pair('iperf3 -s -1', f'iperf3 -c 10.0.0.2 -t 3 {options}')
        self.assertRegex(out, r'[1-9][\d.]* [KMG]bits/sec .*receiver')

    def test_5_ipoib_datagram(self):
        self.iperf('')
        self.iperf('-R')
        self.iperf('-u -b 20M -l 1400')

    def test_6_ipoib_connected(self):
        """IP packets of 60000 bytes over reliable connections."""
        for guest in self.guests.values():
            guest.sh('ip link set ib0 down;'
                     ' echo connected >/sys/class/net/ib0/mode;'
                     ' ip link set ib0 up mtu 65520')
        out = self.guests['a'].wait_for(
            'ping -c 5 -i 0.2 -W 2 -s 60000 10.0.0.2', ' 0% packet loss', 30)
        self.assertIn('5 received', out)
        self.iperf('')
        self.iperf('-R -P 4')
        self.no_complaints(CHATTER)


each_kernel(Ulps)
long_test(globals()['Ulps_6_12'])
del Ulps

if __name__ == '__main__':
    unittest.main()
