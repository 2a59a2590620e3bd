# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person does to a running fabric: QOM properties, hot-plug."""

import time
import unittest

from ibtest.case import FabricCase
from ibtest.steps import bring_up

STATE = '/sys/class/infiniband/mlx4_0/ports/1/state'


class Runtime(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.switch = fabric.add_switch('sw0', 4)
        cls.guests = {name: fabric.add_guest(name, cls.kernel, cls.switch, n)
                      for name, n in (('a', 1), ('b', 2))}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts)

    def port(self, number, name):
        return self.switch.qom_get(f'/machine/peripheral/sw0-p{number}', name)

    def ping(self):
        self.guests['a'].wait_for('ping -c 3 -i 0.2 -W 2 10.0.0.2',
                                  ' 0% packet loss')

    def test_properties_tell_what_the_guest_sees(self):
        guest = self.guests['b']
        self.assertEqual(self.port(2, 'state'), 'active')
        self.assertEqual(self.port(2, 'phys-state'), 'link-up')
        self.assertEqual(
            guest.qom_get('/machine/peripheral/hca', 'state'), 'active')
        guid = int(self.facts['port_guid_b'], 16)
        self.assertEqual(self.port(2, 'neighbor'), f'{guid:016x}:1')

    def both_counters(self):
        """Of both ends of guest b's cable, when nothing is under way."""
        def both():
            hca = self.guests['b'].qom_get('/machine/peripheral/hca',
                                           'counters')
            return self.port(2, 'counters'), hca
        now = both()
        for _ in range(50):     # the subnet manager may speak meanwhile
            time.sleep(0.05)
            last, now = now, both()
            if all(last[i][f'{way}-pkts'] == now[i][f'{way}-pkts']
                   for i in (0, 1) for way in ('xmit', 'rcv')):
                break
        return now

    def test_counters_of_both_ends_agree(self):
        """What one end of a quiet cable has sent the other has received."""
        before = self.both_counters()
        self.ping()
        after = self.both_counters()
        switch, hca = [{name: new[name] - old[name] for name in new}
                       for old, new in zip(before, after)]
        self.assertGreaterEqual(switch['xmit-pkts'], 3)
        for kind in ('pkts', 'data'):
            self.assertEqual(switch[f'xmit-{kind}'], hca[f'rcv-{kind}'])
            self.assertEqual(switch[f'rcv-{kind}'], hca[f'xmit-{kind}'])
        for end in (switch, hca):
            for name in ('symbol-errors', 'rcv-errors', 'frames-bad',
                         'xmit-discards'):
                self.assertEqual(end[name], 0, name)

    def test_pulled_cable(self):
        """link=off at the switch's cage and on again."""
        guest = self.guests['b']
        path = '/machine/peripheral/sw0-p2'
        self.switch.qmp('qom-set', path=path, property='link', value=False)
        guest.wait_for(f'cat {STATE}', 'DOWN', 20)
        self.assertEqual(self.port(2, 'state'), 'down')
        self.guests['a'].wait_for(f'smpquery portinfo {self.lid()} 2',
                                  r'LinkState:\.*Down', 20)
        self.switch.qmp('qom-set', path=path, property='link', value=True)
        guest.wait_for(f'cat {STATE}', 'ACTIVE', 60)
        self.ping()

    def test_set_link(self):
        """QEMU's own set_link pulls the cable too."""
        guest = self.guests['b']
        guest.qmp('set_link', name='cable', up=False)
        guest.wait_for(f'cat {STATE}', 'DOWN', 20)
        guest.qmp('set_link', name='cable', up=True)
        guest.wait_for(f'cat {STATE}', 'ACTIVE', 60)
        self.ping()

    def test_cage_unplugged(self):
        """device_del of the cage and device_add of a new one."""
        guest = self.guests['b']
        self.switch.qmp('device_del', id='sw0-p2')
        guest.wait_for(f'cat {STATE}', 'DOWN', 20)
        self.switch.qmp('device_add', driver='ib-port', id='sw0-p2',
                        bus='sw0.0', port=2, netdev='n2')
        guest.wait_for(f'cat {STATE}', 'ACTIVE', 60)
        self.ping()

    def lid(self):
        return self.switch.qom_get('/machine/peripheral/sw0', 'lid')


if __name__ == '__main__':
    unittest.main()
