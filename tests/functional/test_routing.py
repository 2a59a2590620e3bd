# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenSM's routing engines on fabrics of many switches.

One guest with six HCAs stays; the chassis of switches at its cables is
replaced.  For each engine OpenSM routes the fabric anew.  What it wrote is read
back from the switches, and connections between HCAs cross them on the VLs
that the SLs of their path records lead to.
"""

import os
import re
import time
import unittest

from ibtest.case import FabricCase
from ibtest.machines import Chassis, stream
from ibtest.pcap import packets
from ibtest.topology import (HOST_GUID, forwarding_tables, grid, host_socket,
                             sl_to_vl, tree)

HOSTS = 6
PAIRS = [(i, (i + 1) % HOSTS) for i in range(HOSTS)]
LOG = '/var/log/opensm.log'
CONFIG = '/etc/opensm/opensm.conf'
START = (f'rm -f {LOG} /var/cache/opensm/*; opensm -B -g {HOST_GUID + 1:#x} '
         f'-f {LOG} -F {CONFIG} ')
STOP = 'pkill opensm; while pgrep opensm >/dev/null; do sleep 0.1; done'
PORTS = '/sys/class/infiniband/*/ports/1'
# OpenSM says IsSM before its first sweep.  The port has its LID from the last
# one that ran here: if trap 144 is read before the sweep, OpenSM knows no
# port with that LID yet, and says so.
EARLY = re.compile(r' ERR (7504: Lid is out of range|'
                   r'3809: Failed to find source physical port for trap)')

TREE = tree(2, 4, HOSTS)
ROOTS = '\n'.join(f'{guid:#x}' for name, guid in TREE.guids.items()
                  if name.startswith('spine')) + '\n'
CORNERS = ((0, 0), (1, 1), (2, 2), (3, 3), (0, 2), (3, 1))
TORUS = grid(4, 4, CORNERS, wrap=True)
MESH = grid(4, 4, CORNERS, wrap=False)
RING = grid(6, 1, [(x, 0) for x in range(6)], wrap=True)


def torus_config():
    """torus-2QoS.conf: the size, and the links of one switch."""
    seed = TORUS.guids['s00']
    return 'torus 4 4 1\n' + ''.join(
        f'{name}_link {seed:#x} {TORUS.guids[far]:#x}\n' for name, far in
        (('xp', 's10'), ('xm', 's30'), ('yp', 's01'), ('ym', 's03')))


def complaints(log):
    """What OpenSM calls errors, but for those of a trap that was sooner at
    the SM than its first sweep."""
    early, up, later = log.partition('SUBNET UP')
    return [line for line in early.splitlines()
            if ' ERR ' in line and not EARLY.search(line)] + [
            line for line in (up + later).splitlines() if ' ERR ' in line]


def cycle_free(ways):
    """No packets on these ways could ever wait for each other in a circle.
    A way is a list of (VL, cable)."""
    waits = {}
    for way in ways:
        for one, two in zip(way, way[1:]):
            waits.setdefault(one, set()).add(two)
    while waits:
        free = [one for one, others in waits.items()
                if not others & waits.keys()]
        if not free:
            return False
        for one in free:
            del waits[one]
    return True


class Routing(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.chassis = fabric.add_chassis('switches')
        TREE.fill(cls.chassis, fabric.folder)
        cls.topology = TREE
        cables = [stream(host_socket(fabric.folder, i)) for i in range(HOSTS)]
        options = [f',node-guid={HOST_GUID + 16 * i:#x}'
                   for i in range(HOSTS)]
        cls.guest = fabric.add_guest('a', cls.kernel)
        cls.guest.netdev, cls.guest.hca = cables[0], options[0]
        for cable, option in list(zip(cables, options))[1:]:
            cls.guest.add_hca(cable, option)

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.guest.put(CONFIG, 'force_log_flush TRUE\nqos TRUE\n')
        cls.guest.put('/root/roots', ROOTS)
        cls.guest.put('/etc/opensm/torus-2QoS.conf', torus_config())

    def cage(self, host):
        return '/machine/peripheral/{}-p{}'.format(*self.topology.hosts[host])

    def use(self, topology):
        """Other switches at the cables, unless they are there already."""
        if topology is not self.topology:
            old = self.chassis
            old.stop()
            new = Chassis(old.name, self.fabric.folder)
            topology.fill(new, self.fabric.folder)
            self.fabric.switches[self.fabric.switches.index(old)] = new
            type(self).chassis, type(self).topology = new, topology
            new.start()
        deadline = time.monotonic() + 60
        while any(self.chassis.qom_get(self.cage(i), 'phys-state') !=
                  'link-up' for i in range(HOSTS)):
            self.assertLess(time.monotonic(), deadline, 'a cable is down')
            time.sleep(0.1)

    def route(self, topology, engine, options=''):
        """Let OpenSM route a topology.  Keeps the LIDs of the hosts, the
        tables of the switches and the SLs of path records; returns its log."""
        self.use(topology)
        self.guest.sh(f'{START} -R {engine} {options}')
        self.addCleanup(self.guest.sh, STOP)
        self.guest.wait_for(f'cat {LOG}', 'SUBNET UP', 60)
        self.guest.wait_for(f'cat {PORTS}/state', r'\A(.*ACTIVE\n){6}\Z')
        log = self.guest.sh(f'cat {LOG}')
        self.assertEqual(complaints(log), [])
        self.assertIn(f'{engine} tables configured on all switches', log)
        self.lids = [int(lid, 16) for lid in
                     self.guest.sh(f'cat {PORTS}/lid').split()]
        self.tables = forwarding_tables(self.guest.sh('dump_lfts'))
        self.assertEqual(set(self.tables), set(topology.switches))
        self.sl = {(int(source), int(target)): int(sl, 16)
                   for target, source, sl in re.findall(
                       r'dlid\.*(\d+)\s+slid\.*(\d+)\s(?:.*\n)*?'
                       r'\s+sl\.*(0x\w+)', self.guest.sh('saquery PR'))}
        self.ways = {(i, j): topology.route(self.tables, i, self.lids[j])
                     for i in range(HOSTS) for j in range(HOSTS) if i != j}
        self.connect()
        return log

    def sl_of(self, one, two):
        return self.sl[self.lids[one], self.lids[two]]

    def connect(self):
        """A connection from each host to the next one, and what was seen of
        it where it left the fabric (but for what OpenSM, which may sweep
        once more, and the ports say to each other's QP1)."""
        files = {}
        for i in range(HOSTS):
            files[i] = os.path.join(self.fabric.folder, f'{i}.pcap')
            self.chassis.qmp('qom-set', path=self.cage(i), property='pcap',
                             value=files[i])
        run = 'ibv_rc_pingpong -n 4 -s 5000 -p {} -d mlx4_{} -l {}'
        servers = '; '.join(
            run.format(18600 + i, j, self.sl_of(j, i)) + ' >/dev/null &'
            for i, j in PAIRS).replace('&;', '&')
        clients = '; '.join(
            run.format(18600 + i, i, self.sl_of(i, j)) + ' 127.0.0.1'
            for i, j in PAIRS)
        out = self.guest.sh(f'{servers} sleep 0.5; set -e; {clients}; wait')
        self.assertEqual(out.count('4 iters'), HOSTS, out)
        for i in range(HOSTS):
            self.chassis.qmp('qom-set', path=self.cage(i), property='pcap',
                             value='')
        self.vls = {}
        for i, j in PAIRS:
            for one, two in ((i, j), (j, i)):
                seen = {(packet.sl, packet.vl) for packet in
                        packets(files[two]) if packet.qpn > 1 and
                        packet[:2] == (self.lids[one], self.lids[two])}
                self.assertEqual(len(seen), 1, f'{one} to {two}: {seen}')
                sl, self.vls[one, two] = seen.pop()
                self.assertEqual(sl, self.sl_of(one, two))

    def assert_shortest(self):
        for (i, j), way in self.ways.items():
            self.assertEqual(len(way), self.topology.distance(i, j), way)

    def assert_lanes(self, lanes):
        """Several VLs, without which packets could block each other; SL2VL
        is the identity."""
        self.assertEqual(self.vls, {pair: self.sl_of(*pair)
                                    for pair in self.vls})
        self.assertGreaterEqual(len(set(self.vls.values())), lanes, self.vls)
        self.assertTrue(cycle_free(
            [(self.sl_of(*pair), hop) for hop in way]
            for pair, way in self.ways.items()))

    def test_1_minhop(self):
        self.route(TREE, 'minhop')
        self.assert_shortest()
        spines = {switch for way in self.ways.values() for switch, _ in way
                  if switch.startswith('spine')}
        self.assertEqual(len(spines), 2)

    def test_1_updn(self):
        self.route(TREE, 'updn', '-a /root/roots')
        self.assert_shortest()

    def test_1_dnup(self):
        self.route(TREE, 'dnup')
        self.assert_shortest()

    def test_1_ftree(self):
        log = self.route(TREE, 'ftree', '-a /root/roots')
        self.assertIn('FatTree rank (roots to leaf switches): 2', log)
        self.assert_shortest()

    def test_2_lash(self):
        log = self.route(RING, 'lash')
        self.assert_shortest()
        self.assertIn('Lanes needed: 3', log)
        self.assert_lanes(2)
        self.assertFalse(cycle_free([(0, hop) for hop in way]
                                    for way in self.ways.values()))

    def test_2_dfsssp(self):
        self.route(RING, 'dfsssp')
        self.assert_shortest()
        self.assert_lanes(2)

    def test_2_nue(self):
        self.route(RING, 'nue', '--nue_max_num_vls 4')
        self.assert_lanes(2)

    def test_2_sssp(self):
        self.route(RING, 'sssp')
        self.assert_shortest()

    def test_3_dor(self):
        """First along x, then along y."""
        self.route(TORUS, 'dor')
        self.assert_shortest()
        for way in self.ways.values():
            along = ['x' if port <= 2 else 'y' for _, port in way[:-1]]
            self.assertEqual(along, sorted(along), way)

    def test_3_torus_2qos(self):
        """It has SLs for its datelines, and SL2VL tables for its corners."""
        log = self.route(TORUS, 'torus-2QoS')
        self.assertIn('Built 4 x 4 x 1 torus', log)
        self.assert_shortest()
        self.assertGreater(len(set(self.sl.values())), 1)
        tables = self.switch_lanes()
        used = set()
        paths = []
        for (i, j), way in self.ways.items():
            vls = TORUS.lanes(tables, i, way, self.sl_of(i, j))
            used.update(vls[:-1])
            paths.append(list(zip(vls, way)))
            self.assertEqual(self.vls.get((i, j), vls[-1]), vls[-1])
        self.assertGreater(len(used), 1)
        self.assertTrue(cycle_free(paths))

    def switch_lanes(self):
        """The SLtoVLMappingTables that the ways need."""
        switch_lid = {name: min(lid for lid, port in table.items() if not port)
                      for name, table in self.tables.items()}
        ports = sorted({hop for way in self.ways.values() for hop in way})
        out = self.guest.sh('set -e; ' + '; '.join(
            f'smpquery sl2vl {switch_lid[switch]} {port}; echo --'
            for switch, port in ports))
        return {(switch, came, port): vls
                for (switch, port), text in zip(ports, out.split('--\n'))
                for came, vls in sl_to_vl(text).items()}


if __name__ == '__main__':
    unittest.main()
