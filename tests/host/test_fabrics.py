# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenSM on many fabrics: shapes, files, routing engines, link flaps."""

import glob
import os
import pathlib
import random
import re
import shutil
import tempfile
import time
import unittest

from hosttools import TOP, Fabric, graph
from ibfabric import topology
from test_tools import make

SHARED = TOP.parent / 'shared/topologies'
# A folder with ibsim's net-examples; no package of Debian has them.
# The package's own, unless this machine's dpkg leaves documentation out.
EXAMPLES = os.environ.get('IBSIM_EXAMPLES',
                          '/usr/share/doc/ibsim-utils/net-examples')

SHAPES = {
    'fat_tree': dict(nodes=72, radix=12, levels=2),
    'fat_tree_3': dict(nodes=54, radix=6, levels=3),
    'torus': dict(sizes=(3, 3, 3), per_switch=2),
    'ring': dict(switches=9, per_switch=2),
    'dragonfly': {},
    'one_switch': dict(nodes=36),
}


def shape(name):
    return make(name.removesuffix('_3'), **SHAPES[name])


def paths_work(case, fabric, pairs=6):
    """Forwarding tables lead between some CAs."""
    cas = [node['lids'] for node in fabric.ask('nodes')['nodes']
           if node['type'] == 'ca']
    lids = [next(filter(None, lids)) for lids in cas if any(lids)]
    chosen = random.Random(1)
    for _ in range(pairs):
        a, b = chosen.sample(lids, 2)
        out = fabric.run('ibtracert', str(a), str(b))
        case.assertRegex(out, rf'To ca .*lid {b}\b|lid {b}-')


class Files(unittest.TestCase):
    def check(self, path):
        """Up, and what ibnetdiscover finds is the file; also a second time
        from its own output."""
        with Fabric(path) as fabric:
            fabric.opensm()
            fabric.wait_active()
            wanted = graph(path)
            dump = fabric.dump()
            found = graph(dump)
            reached = {guid for kind, guid, ports in found[0]}
            self.assertLessEqual(found[0], wanted[0])
            # Nodes without a way to the SM are not found.
            self.assertEqual(found[1], {
                cable for cable in wanted[1]
                if all(guid in reached for guid, _ in cable)})
            with tempfile.TemporaryDirectory() as folder:
                again = shutil.copy(dump, folder + '/again.net')
                with Fabric(again) as second:
                    second.opensm()
                    second.wait_active()
                    self.assertEqual(graph(second.dump()), found)

    def test_shapes(self):
        for name in SHAPES:
            with self.subTest(name), shape(name) as file:
                self.check(file.name)

    def check_folder(self, folder, pattern):
        files = sorted(path for path in glob.glob(f'{folder}/{pattern}')
                       if os.path.isfile(path) and
                       not path.endswith('README'))
        if not files:
            self.skipTest(f'no {pattern} in {folder}')
        for path in files:
            text = pathlib.Path(path).read_text(encoding='utf-8')
            with self.subTest(path):
                if '"[' not in text and 'include' not in text:
                    # Nothing but nodes: it starts, and nothing is cabled.
                    with Fabric(path) as fabric:
                        self.assertEqual(fabric.ask('status')['cables'], 0)
                else:
                    self.check(path)

    def test_shared(self):
        self.check_folder(SHARED, '*')

    def test_ibsim_examples(self):
        self.check_folder(EXAMPLES, 'net*')


class Routers(unittest.TestCase):
    def test_seen(self):
        """A router is found as one, has a LID, and is in its dump again."""
        text = ('Switch 4 "S-0000000000000010"\t# "s"\n'
                '[1]\t"H-0000000000000020"[1]\n'
                '[2]\t"R-0000000000000030"[1]\n'
                '[3]\t"R-0000000000000030"[2]\n\n'
                'Ca 1 "H-0000000000000020"\t# "h"\n\n'
                'Rt 2 "R-0000000000000030"\t# "a router"\n')
        with tempfile.NamedTemporaryFile('w', suffix='.net') as file:
            file.write(text)
            file.flush()
            with Fabric(file.name) as fabric:
                fabric.opensm()
                fabric.wait_active()
                self.assertRegex(fabric.run('ibrouters'),
                                 r'Rt\s*: 0x0*30 ports 2 "a router"')
                router = fabric.ask('nodes')['nodes'][2]
                self.assertEqual(router['type'], 'router')
                self.assertTrue(all(router['lids']))
                lid = str(router['lids'][1])
                self.assertRegex(fabric.run('smpquery', 'nodeinfo', lid),
                                 r'NodeType:\.*Router')
                self.assertIn(f'Lid {lid} port 2',
                              fabric.run('perfquery', lid, '2'))
                self.assertRegex(fabric.run('saquery', 'NR', lid),
                                 r'node_type\.*(0x03|Router)')
                self.assertEqual(graph(fabric.dump()), graph(file.name))


class Engines(unittest.TestCase):
    """Each of OpenSM's routing engines where it is made for."""

    def check(self, engine, name, conf=''):
        with shape(name) as file, Fabric(file.name) as fabric:
            _, log = fabric.opensm('-R', engine, conf=conf)
            fabric.wait_active()
            text = fabric.text(log)
            said = re.findall(r'(\S+) tables configured|(fail.*)', text)
            self.assertEqual(said, [(engine, '')])
            paths_work(self, fabric)

    def test_engines(self):
        for engine, name in (('minhop', 'fat_tree'), ('updn', 'fat_tree_3'),
                             ('dnup', 'fat_tree'), ('ftree', 'fat_tree_3'),
                             ('lash', 'torus'), ('dor', 'torus'),
                             ('dfsssp', 'dragonfly'), ('sssp', 'dragonfly'),
                             ('nue', 'torus')):
            with self.subTest(engine):
                self.check(engine, name)

    def test_torus_2qos(self):
        """It wants to be told the torus, from one switch on."""
        with shape('torus') as file, Fabric(file.name) as fabric:
            cables = fabric.ask('links')['links']
            guids = {node['node']: int(node['guid'], 16)
                     for node in fabric.ask('nodes')['nodes']
                     if node['type'] == 'switch'}
            first = next(iter(guids))
            near = [link['b'] if link['a'] == first else link['a']
                    for link in cables if first in (link['a'], link['b'])]
            near = [name for name in near if name in guids]
            # Two of a dimension are each other's neighbours in a ring of 3.
            peers = {frozenset((link['a'], link['b'])) for link in cables}
            axes = []
            for name in near:
                if not any(frozenset((name, other)) in peers
                           for other in axes):
                    axes.append(name)
            conf = fabric.file('torus.conf')
            with open(conf, 'w', encoding='utf-8') as out:
                out.write('torus 3 3 3\n')
                for axis, name in zip('xyz', axes):
                    out.write(f'{axis}p_link {guids[first]:#x} '
                              f'{guids[name]:#x}\n')
            _, log = fabric.opensm('-R', 'torus-2QoS', '-Q',
                                   '--torus_config', conf)
            fabric.wait_active()
            self.assertIn('torus-2QoS tables configured', fabric.text(log))
            paths_work(self, fabric)

    def test_from_a_file(self):
        """The tables of one run route another one."""
        with shape('fat_tree') as file, Fabric(file.name) as fabric:
            fabric.opensm()
            fabric.wait_active()
            cas = [node for node in fabric.ask('nodes')['nodes']
                   if node['type'] == 'ca']
            tables = fabric.run('dump_fts')
            ways = [fabric.run('ibtracert', str(cas[0]['lids'][0]),
                               str(ca['lids'][0])) for ca in cas[-3:]]
            fabric.processes[0].kill()
            fabric.processes[0].wait()
            path = fabric.file('tables')
            with open(path, 'w', encoding='utf-8') as out:
                out.write(tables)
            _, log = fabric.opensm('-R', 'file', '-U', path)
            fabric.wait_active()
            self.assertIn('file tables configured', fabric.text(log))
            self.assertEqual(ways, [
                fabric.run('ibtracert', str(cas[0]['lids'][0]),
                           str(ca['lids'][0])) for ca in cas[-3:]])


class Rates(unittest.TestCase):
    """Cables run at what ibnetdiscover has said of them."""
    each = ('4xSDR', '1xDDR', '12xQDR', '4xFDR', '8xEDR', '4xHDR', '2xHDR',
            '4xNDR')

    @staticmethod
    def said(path):
        return {(node.guid, port): rate
                for node in topology.read(str(path)).nodes
                for port, rate in node.rates.items()}

    def test_again_from_ibnetdiscover(self):
        """Each switch has two rates; also once OpenSM has enabled all that is
        supported and the cables were out."""
        with make('ring', switches=len(self.each)) as file:
            net = topology.read(file.name)
            cables = sorted(net.cables(), key=lambda cable: cable[0].guid)
            for number, (a, port, b, peer_port) in enumerate(cables):
                rate = self.each[number % len(self.each)]
                a.rates[port] = b.rates[peer_port] = rate
            with open(file.name, 'w', encoding='utf-8') as out:
                topology.write(net, out)
            wanted = self.said(file.name)
            self.assertEqual(len(wanted), 4 * len(self.each))
            self.assertEqual(set(wanted.values()), set(self.each))
            with Fabric(file.name) as fabric:
                process, log = fabric.opensm(
                    '-s', '1', conf='sweep_on_trap TRUE\n')
                fabric.wait_active()
                self.assertEqual(self.said(fabric.dump()), wanted)
                sweeps = len(re.findall('SUBNET UP', fabric.text(log)))
                for way in 'down', 'up':
                    for link in fabric.ask('links')['links']:
                        fabric.ask(f'link {way} {link["a"]} '
                                   f'{link["a-port"]}')
                fabric.wait_text(log, 'SUBNET UP', 60, process, sweeps + 1)
                fabric.wait_active()
                self.assertEqual(self.said(fabric.dump()), wanted)


class Flaps(unittest.TestCase):
    def test_during_sweeps(self):
        """Hundreds of cables out and in while OpenSM sweeps all the time."""
        chosen = random.Random(2)
        with shape('fat_tree') as file, Fabric(file.name) as fabric:
            process, log = fabric.opensm(
                '-s', '1', conf='sweep_on_trap TRUE\nmax_wire_smps 8\n')
            fabric.wait_active()
            cables = fabric.ask('links')['links']
            out = set()
            for number in range(400):
                index = chosen.randrange(len(cables))
                link = cables[index]
                way = 'up' if index in out else 'down'
                out ^= {index}
                fabric.ask(f'link {way} {link["a"]} {link["a-port"]}')
                time.sleep(chosen.choice((0, 0.001, 0.01, 0.05)))
                self.assertIsNone(process.poll(), number)
            for index in out:
                link = cables[index]
                fabric.ask(f'link up {link["a"]} {link["a-port"]}')
            sweeps = len(re.findall('SUBNET UP', fabric.text(log)))
            fabric.wait_active(90)
            fabric.wait_text(log, 'SUBNET UP', 60, process, sweeps + 1)
            self.assertEqual(graph(fabric.dump()), graph(file.name))
            paths_work(self, fabric)


    def test_during_the_first_sweep(self):
        """A cable that comes in when OpenSM has read its ports, but not yet
        said who it is, is not forgotten."""
        with make('fat_tree', nodes=648, radix=36) as file:
            for late in (0.06, 0.08, 0.1, 0.12, 0.14, 0.16):
                with self.subTest(late), Fabric(file.name) as fabric:
                    link = fabric.ask('links')['links'][-1]
                    port = f'{link["a"]} {link["a-port"]}'
                    fabric.ask(f'link down {port}')
                    process, log = fabric.opensm(wait=False)
                    fabric.wait_text(log, 'Entering DISC', 60, process)
                    time.sleep(late)
                    fabric.ask(f'link up {port}')
                    fabric.wait_text(log, 'SUBNET UP', 60, process)
                    fabric.wait_active(30)


class Scale(unittest.TestCase):
    def test_648_nodes(self):
        with make('fat_tree', nodes=648, radix=36) as file:
            with Fabric(file.name) as fabric:
                fabric.opensm()
                fabric.wait_active()
                self.assertEqual(graph(fabric.dump()), graph(file.name))

    @unittest.skipUnless(os.environ.get('IB_LONG'),
                         'scripts/check --long runs it')
    def test_11664_nodes(self):
        """In less than 2 GB."""
        with make('fat_tree', nodes=11664, radix=36, levels=3) as file:
            with Fabric(file.name) as fabric:
                fabric.opensm(timeout=1200)
                fabric.wait_active(300)
                self.assertTrue(graph(fabric.dump(600)) == graph(file.name))
                self.assertLess(fabric.peak_memory(), 2048)


if __name__ == '__main__':
    unittest.main()
