# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes away and comes back: the switch process, the HCA's driver."""

import re
import time
import unittest

from ibtest.case import FabricCase, each_kernel
from ibtest.steps import bring_up

PORT = '/sys/class/infiniband/mlx4_0/ports/1'
GUID = 0x506b4b03005c2700


class Restart(FabricCase):
    @classmethod
    def build(cls, fabric):
        # With a GUID of its own the switch is the same one after a restart.
        cls.switch = fabric.add_switch('sw0', 4, f',node-guid={GUID:#x}')
        cls.guests = {name: fabric.add_guest(name, cls.kernel, cls.switch, n)
                      for name, n in (('a', 1), ('b', 3))}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.guests['a'].sh('echo force_log_flush TRUE '
                           '>/etc/opensm/opensm.conf')
        bring_up(cls.guests, cls.facts)

    def sweeps(self):
        """How often OpenSM has said that the subnet is up."""
        return int(self.guests['a'].sh(
            'grep -c "SUBNET UP" /var/log/opensm.log || true'))

    def ping(self):
        """Both ways, b first: a new b's first ARP request tells a about it."""
        for name, far in (('b', '10.0.0.1'), ('a', '10.0.0.2')):
            out = self.guests[name].wait_for(
                f'ping -c 5 -i 0.2 -W 2 {far}', ' 0% packet loss', timeout=60)
            self.assertIn('5 received', out)

    def lids(self):
        return [int(guest.sh(f'cat {PORT}/lid'), 0)
                for guest in self.guests.values()]

    def wait_state(self, state, timeout=60):
        for guest in self.guests.values():
            guest.wait_for(f'cat {PORT}/state', state, timeout)

    def no_complaints(self):
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [], guest.name)

    def test_1_killed_switch(self):
        """Ports go Down, come back, OpenSM sweeps, IPoIB goes on."""
        self.ping()
        lids, sweeps = self.lids(), self.sweeps()
        self.switch.kill()
        self.wait_state('DOWN', 20)
        for guest in self.guests.values():
            guest.wait_for('ip link show ib0', 'NO-CARRIER', 20)
            self.assertIn('Polling', guest.sh(f'cat {PORT}/phys_state'))
        out = self.guests['a'].try_sh('ping -c 2 -i 0.2 -W 1 10.0.0.2').out
        self.assertIn('0 received', out)
        self.switch.start()
        self.wait_state('ACTIVE')
        self.ping()
        self.assertEqual(self.lids(), lids)
        self.assertGreater(self.sweeps(), sweeps)
        found = self.guests['b'].sh('ibswitches')
        self.assertEqual(re.findall(r'0x[0-9a-f]{16}', found), [f'{GUID:#x}'])
        self.no_complaints()

    def test_2_killed_guest(self):
        """The switch's port goes Down and the SM learns it; a new guest at
        the same cable gets a LID and an address."""
        guest_a, guest_b = self.guests['a'], self.guests['b']
        sweeps = self.sweeps()
        guest_b.kill()
        guest_a.wait_for('iblinkinfo --switches-only', r'3\[ *\] ==\( *Down/',
                         20)
        # Trap 128, not OpenSM's ten-second sweep, should tell; either way
        # the guest is gone from the subnet.
        guest_a.wait_for('ibhosts', r'\A(?!(.*\n)*.*"b mlx4_0")', 30)
        guest_b.start()
        guest_b.wait_booted()
        guest_b.load_drivers()
        bring_up(self.guests, self.facts, ('ibstat-a', 'ibstat-b', 'ipoib-b'))
        self.ping()
        self.assertGreater(self.sweeps(), sweeps)
        self.no_complaints()

    def test_3_driver_reload(self):
        """The driver unloads without a complaint and works again."""
        guest = self.guests['b']
        guest.unload_drivers()
        self.assertEqual(guest.sh('lsmod | grep -c mlx4 || true').strip(),
                         '0')
        self.no_complaints()
        guest.load_drivers()
        bring_up(self.guests, self.facts, ('ibstat-b', 'ipoib-b'))
        self.ping()
        self.no_complaints()

    def test_4_reboot(self):
        """A reset of the whole guest resets the HCA."""
        guest = self.guests['b']
        guest.qmp('set-action', reboot='reset')    # despite -no-reboot
        guest.qmp('system_reset')
        guest.agent.close()
        time.sleep(1)
        guest.connect()
        guest.wait_booted()
        guest.load_drivers()
        bring_up(self.guests, self.facts, ('ibstat-b', 'ipoib-b'))
        self.ping()
        self.no_complaints()


each_kernel(Restart)
del Restart

if __name__ == '__main__':
    unittest.main()
