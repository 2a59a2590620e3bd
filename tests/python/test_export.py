# SPDX-License-Identifier: GPL-2.0-or-later
"""A fabric over several hosts: who is where, both ends of each cable, and
files that libvirt and a shell can read."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from ibfabric import Failure, certs, export, generate, topology, vms

QEMU_NS = '{http://libvirt.org/schemas/domain/qemu/1.0}'


def net():
    """Two leaves with two nodes each and a spine."""
    build = generate.Builder()
    generate.fat_tree(build, nodes=4, radix=4)
    return build.topology()


class Groups(unittest.TestCase):
    def setUp(self):
        self.net = net()

    def plan(self, names, groups, **more):
        return export.plan(self.net, vms.choose(self.net, names), groups,
                           **more)

    def test_who_is_where(self):
        """What no group names is in the first one if it is a switch, or else
        with what it is cabled to."""
        found = self.plan(['node-1', 'node-3'],
                          ['x@h1=leaf-1', 'y@h2=leaf-2,node-2'])
        self.assertEqual(
            [(process.group.name, process.name) for process in found],
            [('x', 'x-fabric'), ('x', 'node-1'), ('y', 'y-fabric'),
             ('y', 'node-3')])
        self.assertEqual([node.name for node in found[0].net.nodes],
                         ['leaf-1', 'spine-1'])
        self.assertEqual([node.name for node in found[2].net.nodes],
                         ['leaf-2', 'node-2', 'node-4'])

    def test_inside(self):
        """A group's file has its nodes with all that is theirs, and the cables
        between them; each other cable of theirs is in an ib-port."""
        found = self.plan(['node-1'], ['x=leaf-1', 'y=leaf-2'])
        for process in found:
            if process.net is None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                process.write_net(folder)
                read = topology.read(process.net_file(folder))
            cages = {(match[1], int(match[2])) for match in (
                re.match(r'ib-port,.*node=([^,]*),port=(\d+)', word)
                for word in process.args('.')) if match}
            for node in read.nodes:
                whole = self.net.by_id(node.id)
                self.assertEqual(
                    (node.guid, node.port_guid, node.num_ports, node.name),
                    (whole.guid, whole.port_guid, whole.num_ports,
                     whole.name))
                for port, (peer, peer_port) in whole.ports.items():
                    here = read.by_id(peer.id)
                    self.assertEqual(node.ports.get(port),
                                     here and (here, peer_port))
                    self.assertEqual((node.id, port) in cages, here is None)

    def test_both_ends_of_each_cable(self):
        for tls in (None, '/etc/tls'):
            found = self.plan(['node-1', 'node-3'],
                              ['x@h1=leaf-1', 'y@h2=leaf-2'], base=7000,
                              tls=tls)
            ends = {}
            for process in found:
                for word in process.args('.'):
                    match = re.match(
                        r'stream,server=(on|off).*addr\.host=([^,]*),'
                        r'addr\.port=(\d+)', word) if tls is None else \
                        re.match(r'socket,id=c\d+,host=([^,]*),port=(\d+).*?'
                                 r'(server=on|reconnect)', word)
                    if match and tls is None:
                        ends.setdefault(match[3], []).append(
                            (match[1] == 'on', match[2], process.name))
                    elif match:
                        ends.setdefault(match[2], []).append(
                            (match[3] == 'server=on', match[1],
                             process.name))
            # leaf-2 has two cables to the spine; two VMs.
            self.assertEqual(sorted(ends), ['7000', '7001', '7002', '7003'])
            for pair in ends.values():
                self.assertEqual(sorted(end[0] for end in pair),
                                 [False, True])
                # Both name the host of the one that listens.
                listens = next(end for end in pair if end[0])
                host = {'x-fabric': 'h1', 'y-fabric': 'h2'}[listens[2]]
                self.assertEqual({end[1] for end in pair}, {host})

    def test_credentials(self):
        found = self.plan(['node-1'], ['x=leaf-1', 'y=leaf-2'], tls='/etc/t')
        for process in found:
            objects = [word for word in process.args('.')
                       if word.startswith('tls-creds-x509')]
            self.assertEqual(len(objects), len(set(objects)))
            self.assertTrue(objects)
            for word in objects:
                self.assertIn('verify-peer=on', word)

    def test_refused(self):
        for groups, reason in (
                (['x'], 'NAME@HOST='), (['x@=leaf-1'], 'NAME@HOST='),
                (['x/y=leaf-1'], 'letters'),
                (['x' * 41 + '=leaf-1'], '40 of them'),
                (['x=leaf-1', 'x=leaf-2'], 'same name'),
                (['x=leaf-1', 'y=leaf-1'], 'in two groups')):
            with self.assertRaisesRegex(Failure, reason):
                self.plan([], groups)
        with self.assertRaisesRegex(Failure, 'more cables than TCP ports'):
            self.plan(['node-1', 'node-2'], [], base=65535)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        found = net()
        found.find('node-1').description = 'node-1 "<&,\''
        self.plan = export.plan(
            found, vms.choose(found, ['node-1', 'node-3']),
            ['x=leaf-1', 'y=leaf-2'])
        image = {name: f'/i&/{name}' for name in ('kernel', 'initrd', 'root',
                                                  'modules')}
        export.write(self.plan, self.folder, '/opt/q/qemu', {'6.1': image},
                     '/there')

    def path(self, process, kind):
        return os.path.join(self.folder, process.group.name,
                            f'{process.name}.{kind}')

    def test_domains(self):
        """Each is XML, has the arguments one by one, and a processor."""
        for process in self.plan:
            root = ElementTree.parse(self.path(process, 'xml')).getroot()
            self.assertEqual(root.findtext('name'), process.name)
            self.assertEqual(root.find('os/type').get('machine'), 'q35')
            args = [arg.get('value') for arg in root.iter(f'{QEMU_NS}arg')]
            there = os.path.join('/there', process.group.name)
            chassis = [] if process.vm else ['-device', 'ib-chassis-pci']
            self.assertEqual(args, chassis + process.args(there, False))
            self.assertEqual(root.findtext('os/kernel'),
                             '/i&/kernel' if process.vm else None)

    @unittest.skipUnless(shutil.which('virt-xml-validate') and
                         shutil.which('xmllint'),
                         'needs libvirt-clients and libxml2-utils')
    def test_schema(self):
        for process in self.plan:
            done = subprocess.run(
                ['virt-xml-validate', self.path(process, 'xml'), 'domain'],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_scripts(self):
        """What a shell makes of a script is the command line."""
        for process in self.plan:
            done = subprocess.run(
                ['sh', '-c', 'printf() { for a; do echo "[$a]"; done; }; '
                 f'sed "s/^exec/printf/" {self.path(process, "sh")} '
                 '>script; . ./script', 'sh'], cwd=self.folder, check=True,
                stdout=subprocess.PIPE, text=True)
            for word in process.args('.'):
                self.assertIn(f'[{word}]', done.stdout)

    def test_readme(self):
        with open(os.path.join(self.folder, 'README'),
                  encoding='utf-8') as file:
            text = file.read()
        for process in self.plan:
            self.assertIn(f'create {process.group.name}/{process.name}.xml',
                          text)
        self.assertIn('IBSIM_SOCKNAME=y-fabric '
                      'LD_PRELOAD=/opt/q/libib-umad.so', text)


@unittest.skipUnless(shutil.which('openssl'), 'needs openssl')
class Certificates(unittest.TestCase):
    def test_chain(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'tls')
            certs.make(path, ['192.0.2.1', 'host.example'])
            for role in ('server', 'client'):
                subprocess.run(
                    ['openssl', 'verify', '-purpose', f'ssl{role}', '-CAfile',
                     f'{path}/ca-cert.pem', f'{path}/{role}-cert.pem'],
                    check=True, stdout=subprocess.DEVNULL)
                mode = os.stat(f'{path}/{role}-key.pem').st_mode
                self.assertEqual(mode & 0o077, 0)
            text = subprocess.run(
                ['openssl', 'x509', '-in', f'{path}/server-cert.pem',
                 '-noout', '-ext', 'subjectAltName'], check=True,
                stdout=subprocess.PIPE, text=True).stdout
            self.assertIn('192.0.2.1', text)
            self.assertIn('host.example', text)
            with self.assertRaisesRegex(Failure, 'already'):
                certs.make(path, ['h'])


class Vms(unittest.TestCase):
    def test_vm_to_vm(self):
        """A cable between two VMs needs nothing else."""
        a, b = (topology.Node(name, topology.CA, 1, guid=i + 1)
                for i, name in enumerate('ab'))
        found = topology.Topology([a, b])
        found.connect(a, 1, b, 1)
        plan = export.plan(found, vms.choose(found, ['a', 'b']),
                           ['x@h1=a', 'y@h2=b'])
        self.assertEqual([process.name for process in plan], ['a', 'b'])
        for process, server in zip(plan, ('on', 'off')):
            self.assertIn(f'stream,server={server},addr.type=inet,addr.host=h1'
                          ',addr.port=18500', ' '.join(process.args('.')))


if __name__ == '__main__':
    unittest.main()
