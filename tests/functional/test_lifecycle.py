# SPDX-License-Identifier: GPL-2.0-or-later
"""An adapter that fails, is reset, unplugged, or handed to another kernel
while it works: the fabric and its guest get over it."""

import pathlib
import re
import time
import unittest

from ibtest.case import FabricCase, each_kernel
from ibtest.steps import bring_up

PORT = '/sys/class/infiniband/mlx4_0/ports/1'
HCA = '/machine/peripheral/hca'
# Another kernel, its files on the third and fourth disk: kexec_file_load(),
# then reboot(LINUX_REBOOT_CMD_KEXEC), for which Debian's base has no program.
KEXEC = r'''
set -e
cat /dev/vdc >/tmp/kernel
cat /dev/vdd >/tmp/initrd
perl -e '
open(K, "</tmp/kernel") && open(I, "</tmp/initrd") or die $!;
open(C, "</proc/cmdline"); my $c = <C>; chomp $c;
$c .= "\0";
my $n = length $c;
syscall(320, fileno(K), fileno(I), $n, $c, 0) == 0 or die "load: $!";'
'''
GO = r"""perl -e 'sleep 1; syscall(169, 0xfee1dead, 672274793, 0x45584543, 0);
' >/dev/null 2>&1 &"""


class Adapter(FabricCase):
    """A switch and two guests; what happens, happens to b."""

    @classmethod
    def build(cls, fabric):
        cls.switch = fabric.add_switch('sw0', 4)
        cls.guests = {name: fabric.add_guest(name, cls.kernel, cls.switch, n)
                      for name, n in (('a', 1), ('b', 2))}
        cls.guests['b'].hca += ',node-guid=0x0002c90000003000'
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts)

    def works(self):
        """b's port is Active; IP and a reliable connection get through."""
        a, b = self.guests['a'], self.guests['b']
        bring_up(self.guests, self.facts, ('ibstat-b', 'ipoib-b'))
        # b first: its ARP request tells a where it is now.
        b.wait_for('ping -c 3 -i 0.2 -W 2 10.0.0.1', ' 0% packet loss', 60)
        waiting = b.agent.start('ibv_rc_pingpong -n 200', 60)
        a.wait_for('ibv_rc_pingpong -n 200 10.0.0.2', '200 iters in', 30)
        self.assertEqual(b.agent.wait(waiting, 60).status, 0)

    def busy(self):
        """Traffic that does not end by itself."""
        for name, peer in (('b', ''), ('a', '10.0.0.2')):
            self.guests[name].sh(
                'setsid sh -c "sleep 0.5; exec ibv_rc_pingpong -p 18555 '
                f'-s 65536 -r 100 -n 100000000 {peer}" >/dev/null 2>&1 &')
        self.guests['a'].wait_for(
            f'cat {PORT}/counters/port_xmit_data; sleep 0.3; '
            f'cat {PORT}/counters/port_xmit_data',
            # Of two readings the second is the larger one by 1 MB.
            r'(?s)\A(?=.)(?!(\d+)\n\1\n)', 20)

    def idle(self):
        for guest in self.guests.values():
            guest.sh('pkill -KILL ibv_rc_pingpong || true')

    def no_complaints(self, but=None):
        for guest in self.guests.values():
            bad = [line for line in guest.kernel_problems()
                   if not but or not re.search(but, line)]
            self.assertEqual(bad, [], guest.name)


class Lifecycle(Adapter):
    def test_1_reload_often(self):
        guest = self.guests['b']
        for _ in range(3):
            guest.unload_drivers()
            guest.load_drivers()
        self.works()
        self.no_complaints()

    def test_2_unplugged(self):
        """Traffic under way, the adapter is unplugged; a new one works."""
        guest = self.guests['b']
        self.busy()
        guest.qmp('device_del', id='hca')
        deadline = time.monotonic() + 60
        while any(item['name'] == 'hca' for item in
                  guest.qmp('qom-list', path='/machine/peripheral')):
            self.assertLess(time.monotonic(), deadline, 'still plugged in')
            time.sleep(0.3)
        self.idle()
        self.assertEqual(guest.sh('ls /sys/class/infiniband'), '')
        guest.qmp('device_add', driver='connectx3', id='hca', bus='rp0',
                  netdev='cable', **{'node-guid': 0x0002c90000003000})
        guest.wait_for('ls /dev/infiniband', 'uverbs0', 60)
        guest.load_drivers()
        self.works()
        self.no_complaints(r'pcieport|pciehp|pci 0000|shpchp|ib0')

    def test_3_internal_error(self):
        """The adapter says that it is broken: the driver resets it, in the
        midst of traffic, and all is as before."""
        guest = self.guests['b']
        self.busy()
        guest.qmp('qom-set', path=HCA, property='internal-error', value=1)
        guest.wait_for('dmesg', 'Internal error detected', 30)
        guest.wait_for('dmesg', 'mlx4_restart_one was ended', 60)
        self.idle()
        self.assertEqual(guest.qom_get(HCA, 'internal-error'), 0)
        guest.load_drivers()
        self.works()
        self.no_complaints('(?i)internal error|device is going to be reset|'
                           'buf|catas|device was reset|command|health|ret|'
                           'mlx4_ib|ib0: ')


class Kexec(Adapter):
    @classmethod
    def build(cls, fabric):
        super().build(fabric)
        guest = cls.guests['b']
        kernel = pathlib.Path(guest.image['kernel']).with_name('vmlinuz')
        if not kernel.exists():
            raise unittest.SkipTest(f'no {kernel}: run scripts/guest-image')
        for disk, file in (('kernel', kernel),
                           ('initrd', guest.image['initrd'])):
            guest.extra += [
                '-drive', f'if=none,id=k{disk},format=raw,readonly=on,'
                f'file={file}',
                '-device', f'virtio-blk-pci,drive=k{disk}']

    def test_kexec(self):
        """Another kernel takes the adapter over as the old one left it."""
        guest = self.guests['b']
        self.busy()
        guest.sh(KEXEC)
        guest.sh(GO)
        guest.agent.close()
        self.guests['a'].sh('pkill -KILL ibv_rc_pingpong || true')
        time.sleep(3)
        guest.connect()
        guest.wait_booted()
        guest.load_drivers()
        self.works()
        self.no_complaints()


each_kernel(Lifecycle)
del Lifecycle

if __name__ == '__main__':
    unittest.main()
