# SPDX-License-Identifier: GPL-2.0-or-later
"""A cable that loses, damages, doubles and delays: what is reliable delivers
every byte once, datagrams lose what the cable lost."""

import unittest

from ibtest import paths
from ibtest.case import long_test
from ibtest.pair import PairCase

DATAGRAMS = paths.TOP / 'tests/functional/ibtest/guest/datagrams'
BAD = {'drop': 1000, 'corrupt': 1000, 'duplicate': 1000, 'delay': 500,
       'delay-us': 3000}


class Lossy(PairCase):
    clients = True
    kernel = '6.12'

    def ends(self):
        """Both ends of b's cable, each with its direction."""
        return ((self.guests['b'], '/machine/peripheral/hca'),
                (self.switch, '/machine/peripheral/sw0-p2'))

    def inject(self, **settings):
        for machine, path in self.ends():
            for name, value in settings.items():
                name = 'inject-' + name.replace('_', '-')
                machine.qmp('qom-set', path=path, property=name, value=value)

    def tearDown(self):
        self.inject(drop=0, corrupt=0, duplicate=0, delay=0)

    def counters(self):
        return [machine.qom_get(path, 'counters')
                for machine, path in self.ends()]

    def counted(self, before, name):
        """What has been added to a counter, at each end."""
        return [new[name] - old[name]
                for old, new in zip(before, self.counters())]

    def copy(self, megabytes, times):
        """A file over rsockets; its checksum is right each time."""
        a, b = self.guests['a'], self.guests['b']
        a.sh(f'head -c {megabytes}M /dev/urandom >/tmp/file', 120)
        want = a.sh('sha1sum </tmp/file', 120)
        b.start_rcopy()
        # rcopy gives an ARP request one second, and does not ask again.
        a.sh('ping -c 1 -w 10 10.0.0.2;'
             ' ip neigh change 10.0.0.2 dev ib0 nud permanent')
        before = self.counters()
        try:
            self.inject(**{'class': 'data'})
            self.inject(**BAD)
            for _ in range(times):
                a.sh('rcopy /tmp/file 10.0.0.2:/tmp/file', 1800)
                self.assertEqual(b.sh('sha1sum </tmp/file', 120), want)
                b.sh('rm /tmp/file')
        finally:
            a.sh('ip neigh del 10.0.0.2 dev ib0')
            b.sh('kill $(cat /tmp/pid)')
        for name in ('symbol-errors', 'rcv-errors'):
            self.assertGreater(sum(self.counted(before, name)), 0, name)

    def test_connection(self):
        self.copy(24, 1)

    @long_test
    def test_connection_gigabytes(self):
        self.copy(256, 8)

    def test_reads(self):
        """RDMA reads and writes of rping's, which compares what comes."""
        before = self.counters()
        self.inject(**{'class': 'data', 'drop': 5000})
        out = self.pair('rping -s -C 200 -S 20000 -V',
                        'rping -c -a 10.0.0.2 -C 200 -S 20000 -V -v', 300)
        self.assertIn('rdma-ping-199: ', out)
        self.assertGreater(sum(self.counted(before, 'symbol-errors')), 0)

    def datagrams(self, count):
        a, b = self.guests['a'], self.guests['b']
        for guest in (a, b):
            guest.agent.put('/root/datagrams', DATAGRAMS.read_bytes(), 0o755)
            # Nothing else on the data VLs.
            guest.sh('ip link set ib0 down')
        try:
            waiting = b.agent.start(f'./datagrams receive {count} /tmp/end',
                                    300)
            end = b.wait_for('cat /tmp/end', r'\d', 60).split()
            before = self.counters()
            self.inject(**{'class': 'data', 'drop': 20000})
            a.sh(f'./datagrams send {count} {end[0]} {end[1]}', 300)
            done = b.agent.wait(waiting, 360)
            lost = self.counted(before, 'symbol-errors')
        finally:
            for guest in (a, b):
                guest.sh('ip link set ib0 up; rm -f /tmp/end')
        self.assertEqual(done.status, 0, str(done))
        self.assertGreater(lost[0], 0)
        came, twice, damaged = map(int, done.out.split())
        self.assertEqual((came, twice, damaged), (count - lost[0], 0, 0))

    def test_datagrams(self):
        self.datagrams(2000)

    def test_zz_no_complaint_from_the_kernel(self):
        self.no_complaints('multicast packet drops')


if __name__ == '__main__':
    unittest.main()
