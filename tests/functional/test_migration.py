# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest, and a switch, go on in another process where they had stopped."""

import os
import re
import time
import unittest

from ibtest.case import FabricCase
from ibtest.machines import Guest, Switch
from ibtest.steps import bring_up

STATE = '/sys/class/infiniband/mlx4_0/ports/1/state'
GUID = 0x5a00000000000100


class Migration(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.switch = fabric.add_switch('sw0', 4, f',node-guid={GUID:#x}')
        cls.guests = {
            name: fabric.add_guest(name, cls.kernel, cls.switch, port,
                                   hca=f',node-guid={GUID + 16 * port:#x}')
            for name, port in (('a', 1), ('b', 2))}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        bring_up(cls.guests, cls.facts)

    def save(self, machine):
        """Its state, in a file; the process ends."""
        file = os.path.join(self.fabric.folder, f'{machine.name}.state')
        machine.qmp('migrate', uri=f'file:{file}')
        for _ in range(300):
            status = machine.qmp('query-migrate').get('status')
            if status in ('completed', 'failed'):
                break
            time.sleep(0.1)
        self.assertEqual(status, 'completed')
        machine.stop()
        return file

    def wait_running(self, machine):
        for _ in range(300):
            if machine.qmp('query-status')['status'] == 'running':
                return
            time.sleep(0.1)
        self.fail(machine.log())

    def ping(self):
        self.guests['a'].wait_for('ping -c 5 -i 0.2 -W 2 10.0.0.2',
                                  ' 0% packet loss', 30)

    def no_complaints(self):
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [], guest.name)

    def move(self):
        """Guest b goes on in another process, at the same cable."""
        old = self.guests['b']
        file = self.save(old)
        new = Guest(f'{old.name}2', self.fabric.folder, self.kernel,
                    old.netdev, old.hca, ['-incoming', f'file:{file}'])
        self.fabric.guests.append(new)
        new.start()
        self.wait_running(new)
        new.wait_booted()
        self.guests['b'] = new
        new.wait_for(f'cat {STATE}', 'ACTIVE', 30)
        return new

    def test_guest(self):
        """With IPoIB up."""
        old = self.guests['b']
        counted = old.qom_get('/machine/peripheral/hca', 'counters')
        lid = old.qom_get('/machine/peripheral/hca', 'lid')
        mad = 'smpquery nodeinfo -D 0 | grep -i ^Guid'
        guid = old.sh(mad)
        new = self.move()
        self.assertEqual(new.qom_get('/machine/peripheral/hca', 'lid'), lid)
        self.assertEqual(new.sh(mad), guid)
        self.assertGreaterEqual(
            new.qom_get('/machine/peripheral/hca', 'counters')['xmit-pkts'],
            counted['xmit-pkts'])
        self.ping()
        new.sh('ping -c 3 -i 0.2 10.0.0.1')
        self.no_complaints()

    def test_connections(self):
        """In the midst of RDMA reads and writes that rping compares, and of
        a file that is copied over another connection."""
        a, b = self.guests['a'], self.guests['b']
        a.sh('head -c 96M /dev/urandom >/tmp/file')
        b.start_rcopy()
        b.sh('(rping -s -C 2000 -S 20000 -V >/dev/null 2>/tmp/rping.err;'
             ' echo $? >/tmp/rping.status) &')
        b.wait_listening(7174)
        copy = a.agent.start('rcopy /tmp/file 10.0.0.2:/tmp/file', 180)
        pings = a.agent.start('rping -c -a 10.0.0.2 -C 2000 -S 20000 -V -v'
                              ' >/tmp/rping.out', 180)
        a.wait_for('wc -l </tmp/rping.out', r'^[1-9]\d', 30)
        b.wait_for('ls /tmp/file', 'file', 30)
        self.assertEqual(a.sh('pgrep -c "^(rcopy|rping)$"'), '2\n')
        b = self.move()
        for key in (pings, copy):
            done = a.agent.wait(key, 240)
            self.assertEqual(done.status, 0, str(done))
        self.assertEqual(b.wait_for('cat /tmp/rping.status', r'\d', 30), '0\n')
        self.assertIn('rdma-ping-1999:', a.sh('tail -n 1 /tmp/rping.out'))
        b.sh('kill $(cat /tmp/pid)')
        self.assertEqual(a.sh('sha1sum /tmp/file'), b.sh('sha1sum /tmp/file'))
        self.no_complaints()

    def test_switch(self):
        """With all its tables; the guests see at most a short break."""
        old = self.switch
        routes = self.guests['a'].sh('ibroute -D 0,1')
        file = self.save(old)
        new = Switch('sw0', self.fabric.folder, old.ports, old.options)
        new.cables, new.extra = old.cables, ['-incoming', f'file:{file}']
        self.fabric.switches[0] = type(self).switch = new
        new.start()
        self.wait_running(new)
        for guest in self.guests.values():
            guest.wait_for(f'cat {STATE}', 'ACTIVE', 30)
        # What is sent before the cables are connected again is lost, and a
        # MAD is not sent twice: first wait until something passes.
        self.ping()
        self.assertEqual(self.guests['a'].sh('ibroute -D 0,1'), routes)
        self.no_complaints()


    def hold(self):
        """No packet may be on a cable of the switch."""
        paths = [f'/machine/peripheral/sw0-p{port}' for port in (1, 2)]
        for path in paths:
            self.switch.qmp('qom-set', path=path, property='hold', value=True)
        for _ in range(100):
            if all(self.switch.qom_get(path, 'held') for path in paths):
                return
            time.sleep(0.02)
        self.fail('not held')

    def test_switch_in_traffic(self):
        """Of numbered packets both ways, by UD, which is not repeated, none
        is lost, and no port goes Down.  (Few enough that what has waited
        fits into ping's own buffer, when it comes at once.)"""
        self.ping()
        downs = self.link_downs()
        keys = [(guest, guest.agent.start(
            f'ping -c 250 -i 0.03 -s 1000 -S 212992 -W 5 {far}', 60))
            for guest, far in ((self.guests['a'], '10.0.0.2'),
                               (self.guests['b'], '10.0.0.1'))]
        time.sleep(2)
        old = self.switch
        self.hold()
        file = self.save(old)
        new = Switch('sw0', self.fabric.folder, old.ports, old.options)
        new.cables, new.extra = old.cables, ['-incoming', f'file:{file}']
        self.fabric.switches[0] = type(self).switch = new
        new.start()
        self.wait_running(new)
        for guest, key in keys:
            result = guest.agent.wait(key, 120)
            self.assertIn('250 packets transmitted, 250 received, 0% '
                          'packet loss', result.out[-300:])
            numbers = [int(n) for n in re.findall(r'icmp_seq=(\d+) ',
                                                  result.out)]
            self.assertEqual(numbers, list(range(1, 251)))
        self.assertEqual(self.link_downs(), downs)
        self.no_complaints()

    def link_downs(self):
        return ([guest.qom_get('/machine/peripheral/hca', 'counters')
                 ['link-downed'] for guest in self.guests.values()] +
                [self.switch.qom_get(f'/machine/peripheral/sw0-p{port}',
                                     'counters')['link-downed']
                 for port in (1, 2)])


if __name__ == '__main__':
    unittest.main()
