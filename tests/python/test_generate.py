# SPDX-License-Identifier: GPL-2.0-or-later
"""The generators' fabrics: as many of everything as their shapes have, and
what ibsim and ibnetdiscover make of them."""

import collections
import io
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from ibfabric import Failure, generate, topology

UMAD2SIM = '/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so'


def make(shape, **arguments):
    build = generate.Builder()
    shape(build, **arguments)
    return build.topology()


def as_graph(found):
    """What a fabric is, whatever the order: its nodes and cables."""
    return ({(node.kind, node.guid, node.num_ports, node.description)
             for node in found.nodes},
            {frozenset(((a.guid, port), (b.guid, peer_port)))
             for a, port, b, peer_port in found.cables()})


def distances(found, start):
    """Cables from start to each node."""
    seen = {start: 0}
    queue = collections.deque([start])
    while queue:
        node = queue.popleft()
        for peer, _ in node.ports.values():
            if peer not in seen:
                seen[peer] = seen[node] + 1
                queue.append(peer)
    return seen


class Shape(unittest.TestCase):
    def check(self, found, switches, nodes, cables, diameter=None):
        self.assertEqual((len(found.switches()), len(found.cas()),
                          len(list(found.cables()))),
                         (switches, nodes, cables))
        guids = [node.guid for node in found.nodes] + [
            node.port_guid for node in found.cas()]
        self.assertEqual(len(set(guids)), len(guids))
        self.assertEqual(len({node.description for node in found.nodes}),
                         len(found.nodes))
        far = distances(found, found.nodes[-1])
        self.assertEqual(len(far), len(found.nodes))
        if diameter is not None:
            self.assertEqual(max(far.values()), diameter)


class FatTree(Shape):
    def test_648(self):
        """36 leaves with 18 nodes and 18 spines, one cable between any."""
        found = make(generate.fat_tree)
        self.check(found, 54, 648, 648 + 36 * 18, 4)
        for switch in found.switches():
            self.assertEqual(len(switch.ports), 36)
            between = [peer for peer, _ in switch.ports.values()
                       if peer.is_switch]
            self.assertEqual(len(set(between)), len(between))

    def test_11664(self):
        """k = 36: k^3/4 nodes, 5 k^2/4 switches, every port in use."""
        found = make(generate.fat_tree, levels=3)
        self.check(found, 1620, 11664, 3 * 11664, 6)
        self.assertTrue(all(len(switch.ports) == 36
                            for switch in found.switches()))

    def test_part_of_a_tree(self):
        """Two leaves of radix 8 need one spine; their nodes are spread."""
        found = make(generate.fat_tree, nodes=5, radix=8)
        self.check(found, 3, 5, 5 + 8, 4)
        leaves = [switch for switch in found.switches()
                  if switch.description.startswith('leaf')]
        self.assertEqual([sum(not peer.is_switch
                              for peer, _ in leaf.ports.values())
                          for leaf in leaves], [3, 2])

    def test_blocking(self):
        """Twelve nodes on each leaf of 16 ports, four uplinks."""
        found = make(generate.fat_tree, nodes=48, radix=16, down=12)
        self.check(found, 4 + 1, 48, 48 + 16)

    def test_part_of_three_levels(self):
        found = make(generate.fat_tree, nodes=10, radix=4, levels=3)
        # 5 leaves of two in 3 pods: 6 middle switches, 4 cores.
        self.check(found, 5 + 6 + 4, 10, 10 + 5 * 2 + 6 * 2, 6)

    def test_too_much(self):
        with self.assertRaisesRegex(Failure, '1 to 648 nodes'):
            make(generate.fat_tree, nodes=649)
        with self.assertRaisesRegex(Failure, '--down is 1 to 3'):
            make(generate.fat_tree, radix=4, down=4)


class Others(Shape):
    def test_switch(self):
        self.check(make(generate.one_switch, nodes=5), 1, 5, 5, 2)
        with self.assertRaisesRegex(Failure, '1 to 254'):
            make(generate.one_switch, nodes=255)
        with self.assertRaisesRegex(Failure, 'larger --radix'):
            make(generate.one_switch, nodes=5, radix=4)

    def test_ring(self):
        found = make(generate.ring, switches=6, per_switch=2)
        self.check(found, 6, 12, 12 + 6, 3 + 2)
        self.check(make(generate.ring, switches=2), 2, 2, 3)
        self.check(make(generate.ring, switches=1), 1, 1, 1)

    def test_torus(self):
        """Each switch of 4x3x2 has 2 + 2 + 1 neighbours."""
        found = make(generate.torus, sizes=[4, 3, 2])
        self.check(found, 24, 24, 24 + 24 + 24 + 12, 2 + 1 + 1 + 2)
        for switch in found.switches():
            self.assertEqual(len({peer for peer, _ in switch.ports.values()
                                  if peer.is_switch}), 5)

    def test_dragonfly(self):
        """Nine groups of four, each joined once to each other group: no node
        is more than local, global and local away."""
        found = make(generate.dragonfly)
        self.check(found, 36, 72, 72 + 9 * 6 + 9 * 8 // 2, 3 + 2)
        group = {switch: i // 4 for i, switch in enumerate(found.switches())}
        pairs = collections.Counter(
            frozenset((group[a], group[b])) for a, _, b, _ in found.cables()
            if a.is_switch and b.is_switch and group[a] != group[b])
        self.assertEqual(len(pairs), 36)
        self.assertEqual(set(pairs.values()), {1})

    def test_few_groups(self):
        """Three groups with eight global ends each: four cables a pair."""
        found = make(generate.dragonfly, groups=3)
        self.check(found, 12, 24, 24 + 3 * 6 + 3 * 4)
        with self.assertRaisesRegex(Failure, '1 to 9 groups'):
            make(generate.dragonfly, groups=10)


@unittest.skipUnless(shutil.which('ibsim') and shutil.which('ibnetdiscover')
                     and os.path.exists(UMAD2SIM),
                     'needs ibsim-utils, libumad2sim0 and infiniband-diags')
class Ibsim(unittest.TestCase):
    """ibsim reads the file, ibnetdiscover walks the fabric, and what it
    prints is the same graph."""

    def dumped(self, found):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'net')
            with open(path, 'w', encoding='ascii') as file:
                topology.write(found, file)
            env = dict(os.environ, IBSIM_SOCKNAME=os.path.join(folder, 's'))
            with subprocess.Popen(['ibsim', '-s', path], env=env, cwd=folder,
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as ibsim:
                try:
                    for _ in range(100):
                        done = subprocess.run(
                            ['ibnetdiscover'], cwd=folder,
                            env=dict(env, LD_PRELOAD=UMAD2SIM), check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)
                        if done.returncode == 0:
                            break
                        time.sleep(0.1)
                finally:
                    ibsim.kill()
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, 'w', encoding='ascii') as file:
                file.write(done.stdout)
            return topology.read(path)

    def test_same_graph(self):
        for shape, arguments in (
                (generate.one_switch, {'nodes': 2}),
                (generate.fat_tree, {'nodes': 30, 'radix': 12}),
                (generate.fat_tree, {'radix': 4, 'levels': 3}),
                (generate.torus, {'sizes': [3, 3, 2]}),
                (generate.ring, {'switches': 5, 'links': 2}),
                (generate.dragonfly, {'group': 2, 'global_links': 1})):
            found = make(shape, **arguments)
            self.assertEqual(as_graph(self.dumped(found)), as_graph(found),
                             shape.__name__)


class Written(unittest.TestCase):
    def test_same_text_every_time(self):
        texts = []
        for _ in range(2):
            file = io.StringIO()
            topology.write(make(generate.torus, sizes=[3, 3]), file)
            texts.append(file.getvalue())
        self.assertEqual(*texts)


if __name__ == '__main__':
    unittest.main()
