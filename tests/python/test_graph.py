# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture: every node and cable is in it, and looks as it is."""

import html
import os
import re
import shutil
import tempfile
import unittest

from ibfabric import Failure, generate, graph, topology


def make(shape, **arguments):
    build = generate.Builder()
    shape(build, **arguments)
    return build.topology()


class Levels(unittest.TestCase):
    def test_three_levels(self):
        found = make(generate.fat_tree, radix=4, levels=3)
        for switch, level in graph.levels_of(found).items():
            self.assertEqual({'leaf': 1, 'middle': 2, 'core': 3}[
                switch.description.split('-')[0]], level)

    def test_torus_has_one(self):
        self.assertEqual(set(graph.levels_of(
            make(generate.torus, sizes=[3, 3])).values()), {1})


class Text(unittest.TestCase):
    def setUp(self):
        self.tree = make(generate.fat_tree, nodes=12, radix=8)

    def test_each_node_has_its_cell(self):
        text = graph.dot_text(self.tree)
        for node in self.tree.nodes:
            self.assertEqual(text.count(f'title="{node.description} '
                                        f'{node.id}"'), 1)

    def test_each_cable_between_switches_has_its_line(self):
        lines = re.findall(r'^(n\d+):(p\d+):s -- (n\d+):(p\d+):n ',
                           graph.dot_text(self.tree), re.MULTILINE)
        between = [cable for cable in self.tree.cables()
                   if cable[0].is_switch and cable[2].is_switch]
        self.assertEqual(len(between), 12)
        self.assertEqual(sorted(lines), sorted(
            (f'n{b.index}', f'p{q}', f'n{a.index}', f'p{p}')
            for a, p, b, q in between))

    def test_many_cables_are_one_line(self):
        found = make(generate.fat_tree, nodes=72, radix=36, down=18)
        text = graph.dot_text(found)
        # Four leaves, two spines, nine cables between any two.
        self.assertEqual(len(re.findall('label=" ×9"', text)), 8)

    def test_states(self):
        leaf = self.tree.find('leaf-1')
        port = max(leaf.ports)
        node = self.tree.find('node-02')
        ports = {(a.id, n): graph.PortLook(graph.ACTIVE, 0.0)
                 for a in self.tree.nodes for n in a.ports}
        ports[leaf.id, port] = graph.PortLook(graph.DOWN)
        ports[node.id, 1] = graph.PortLook(graph.COMING)
        look = graph.Look(ports=ports, vms={node.id}, title='a <title>')
        text = graph.dot_text(self.tree, look)
        dashed = re.findall(r'^n(\d+):\S+ -- n(\d+):p(\d+):n .*dashed.*'
                            f'{graph.LINE[graph.DOWN]}', text, re.MULTILINE)
        self.assertEqual(len(dashed), 1)
        self.assertEqual(dashed[0][1:], (str(leaf.index), str(port)))
        self.assertRegex(text, f'bgcolor="{graph.CELL[graph.COMING]}" '
                         f'border="2"[^>]*title="node-02 ')
        self.assertIn('a &lt;title&gt;', text)
        self.assertIn('Init or Armed', text)

    def test_load_is_of_the_busier_end(self):
        node = self.tree.find('node-01')
        peer, peer_port = node.ports[1]
        look = graph.Look(ports={
            (node.id, 1): graph.PortLook(graph.ACTIVE, 0.1),
            (peer.id, peer_port): graph.PortLook(graph.ACTIVE, 0.7)})
        found = look.cable(node, 1, peer, peer_port)
        self.assertEqual(graph.colour_of(found), graph.LOADS[3][1])

    def test_descriptions_that_are_the_same(self):
        """Nodes that are all called alike are shown by their ids."""
        for node in self.tree.cas():
            node.description = 'MT23108'
        text = graph.dot_text(self.tree)
        for node in self.tree.cas():
            self.assertIn(f'{node.id}</font></td>', text)

    def test_two_ports_at_two_switches(self):
        """A CA is drawn once, with a line to its other switch."""
        switches = [topology.Node(f's{i}', topology.SWITCH, 4, guid=i + 1)
                    for i in range(2)]
        ca = topology.Node('h', topology.CA, 2, guid=9)
        found = topology.Topology([*switches, ca])
        for i, switch in enumerate(switches):
            found.connect(switch, 1, ca, i + 1)
        text = graph.dot_text(found)
        self.assertEqual(text.count('port="c2"'), 1)
        self.assertRegex(text, r'n0:c2|-- n0:c2')


@unittest.skipUnless(shutil.which('dot'), 'needs graphviz')
class Pictures(unittest.TestCase):
    def draw(self, found, kind, look=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f'picture.{kind}')
            graph.draw(found, path, look)
            with open(path, 'rb') as file:
                return file.read()

    def test_svg(self):
        for found in (make(generate.one_switch, nodes=2),
                      make(generate.ring, switches=6),
                      make(generate.fat_tree)):
            text = html.unescape(self.draw(found, 'svg').decode())
            for node in found.nodes:
                self.assertIn(f'{node.description} {node.id}', text)

    def test_png(self):
        data = self.draw(make(generate.fat_tree, nodes=200, radix=24), 'png')
        self.assertEqual(data[:8], b'\x89PNG\r\n\x1a\n')
        width = int.from_bytes(data[16:20], 'big')
        self.assertLess(width, 4000)

    def test_hostile_names(self):
        found = make(generate.one_switch, nodes=2)
        found.nodes[1].description = '<b>&"\\N\'; }'
        self.assertIn("&lt;b&gt;", self.draw(found, "svg").decode())

    def test_other_kinds_are_refused(self):
        with self.assertRaisesRegex(Failure, 'ends in .svg'):
            graph.draw(make(generate.one_switch, nodes=1), 'picture.jpeg')


if __name__ == '__main__':
    unittest.main()
