# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ibfabric export: two groups of processes, without libvirt, whose
cables are TCP connections of this host with QEMU's own TLS."""

import contextlib
import os
import shutil
import socket
import ssl
import sys
import tempfile
import time
import unittest

from ibtest import paths
from ibtest.case import FabricCase
from ibtest.machines import Guest, Machine

sys.path[:0] = [str(paths.TOP / 'python'), str(paths.TOP / 'tests/host')]

import hosttools                                            # noqa: E402
from ibfabric import certs, export, topology, vms           # noqa: E402

# ibsim's example "net", with two nodes at each switch and one at both.
NET = '''\
Switch\t8 "Switch1"
[1]\t"Hca1"[1]
[2]\t"Hca3"[1]
[3]\t"Switch2"[3]
[4]\t"Switch2"[4]
[5]\t"Hca5"[1]

Switch 8 "Switch2"
[1]\t"Hca4"[1]
[2]\t"Hca2"[1]
[6]\t"Hca5"[2]

Hca\t1 "Hca1"
Hca\t1 "Hca2"
Hca\t1 "Hca3"
Hca\t1 "Hca4"
Hca\t2 "Hca5"
'''
# No system gives these to a client by itself.
TCP_PORTS = range(20000, 32768)


def free_ports(count):
    """The first of so many TCP ports that are free now."""
    first = TCP_PORTS[os.getpid() % (len(TCP_PORTS) // 2)]
    for base in range(first, TCP_PORTS[-1] - count, count):
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(('127.0.0.1', port))
            return base
        except OSError:
            continue
    raise unittest.SkipTest('no free TCP ports')


def wait_until(what, check, timeout=120):
    deadline = time.monotonic() + timeout
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f'not in {timeout} s: {what}')
        time.sleep(0.1)


class Nodes(Machine):
    """The process of a group that has its nodes."""

    def __init__(self, process, folder):
        super().__init__(process.name, folder)
        self.process = process
        process.write_net(folder)

    def args(self):
        return ['-M', 'ib-chassis', *self.process.args(self.folder)]


class Groups(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.tls = os.path.join(fabric.folder, 'tls')
        certs.make(cls.tls, ['127.0.0.1'])
        cls.path = os.path.join(fabric.folder, 'net')
        with open(cls.path, 'w', encoding='ascii') as file:
            file.write(NET)
        found = topology.read(cls.path)
        tag = f'{os.getpid()}'
        processes = export.plan(
            found, vms.choose(found, ['Hca1', 'Hca2']),
            [f'a{tag}=Switch1,Hca1', f'b{tag}=Switch2,Hca2'], free_ports(5),
            cls.tls)
        cls.guests, cls.nodes = {}, {}
        for process in processes:
            name = process.group.name[0]
            if process.vm is None:
                machine = Nodes(process, fabric.folder)
                cls.nodes[name] = machine
                fabric.switches.append(machine)
            else:
                guest = Guest(process.name, fabric.folder, cls.kernel,
                              extra=process.args(fabric.folder))
                cls.guests[name] = guest
                fabric.guests.append(guest)
        # A program of the host in group a, on one of its nodes
        cls.host = hosttools.Attached(cls.path, f'a{tag}-fabric')
        cls.addClassCleanup(cls.host.__exit__, None, None, None)

    @classmethod
    def prepare(cls):
        for guest in cls.guests.values():
            guest.load_drivers()
        cls.host.opensm(node='Hca3')
        for number, guest in enumerate(cls.guests.values()):
            guest.wait_for('cat /sys/class/infiniband/mlx4_0/ports/1/state',
                           'ACTIVE', 120)
            guest.sh(f'ip address replace 10.0.0.{number + 1}/24 dev ib0;'
                     'ip link set ib0 up')

    def ping(self):
        self.guests['a'].wait_for('ping -c 3 -i 0.2 -W 2 -s 1900 10.0.0.2',
                                  ' 0% packet loss', 120)

    def wires(self, machine, count):
        """The ib-wires of a process, which are all connected soon."""
        names = [item['name'] for item in machine.qmp(
            'qom-list', path='/machine/peripheral')
            if item['name'].startswith('wire')]
        self.assertEqual(len(names), count)
        for name in names:
            path = f'/machine/peripheral/{name}'
            wait_until(f'{name} open', lambda path=path:
                       machine.qom_get(path, 'open'))
            self.assertEqual(machine.qom_get(path, 'lost'), 0)
        return names

    def same_graph(self):
        dump = self.host.file('dump')
        with open(dump, 'w', encoding='utf-8') as file:
            file.write(self.host.run('ibnetdiscover', node='Hca3'))
        return hosttools.graph(dump) == hosttools.graph(self.path)

    def test_1_the_same_fabric(self):
        """All of the file's nodes and cables, wherever they are: seen by the
        host and by a VM."""
        wait_until('the whole fabric', self.same_graph)
        self.assertEqual(self.guests['b'].sh('ibnetdiscover').count('\nCa\t'),
                         5)

    def test_2_traffic(self):
        """IPoIB and verbs go through both switches over TLS."""
        self.ping()
        self.wires(self.nodes['a'], 4)
        self.wires(self.nodes['b'], 4)
        a, b = self.guests['a'], self.guests['b']
        command = 'ib_send_bw -d mlx4_0 -s 65536 -n 200'
        server = b.agent.start(command, 120)
        b.wait_for('ss -ltn', ':18515 ')
        client = a.try_sh(f'{command} 10.0.0.2', 120)
        answer = b.agent.wait(server, 180)
        for result in (client, answer):
            self.assertEqual(result.status, 0, f'{client}\n{answer}')
        self.assertIn(' 65536 ', client.out)

    def test_3_a_group_starts_anew(self):
        """The nodes of a group die and come again; nothing else is told, and
        traffic goes on."""
        machine = self.nodes['b']
        machine.kill()
        machine.start()
        self.ping()
        self.wires(self.nodes['a'], 4)
        self.wires(machine, 4)
        wait_until('the whole fabric again', self.same_graph)


class Libvirt(unittest.TestCase):
    """The machine that libvirt runs a group's nodes on."""

    def test_chassis_pci(self):
        folder = tempfile.mkdtemp(prefix='ibswitch-')
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, 'net')
        with open(path, 'w', encoding='ascii') as file:
            file.write(NET)
        process, = export.plan(topology.read(path), [],
                               [f'l{os.getpid()}=Switch1'])
        process.write_net(folder)

        class Q35(Machine):
            def args(self):
                return ['-M', 'q35', '-m', '64', '-device', 'ib-chassis-pci',
                        *process.args(folder, control=False)]

        machine = Q35('q35', folder)
        self.addCleanup(machine.kill)
        machine.start()
        host = hosttools.Attached(path, process.name)
        self.addCleanup(host.__exit__, None, None, None)
        self.assertTrue(hosttools.graph(host.dump()) == hosttools.graph(path))


class Wire(unittest.TestCase):
    """ib-wire alone."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='ibswitch-')
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cable = os.path.join(self.folder, 'cable')

    def chassis(self, name, *args):
        class Chassis(Machine):
            def args(self):
                return ['-M', 'ib-chassis', *args]

        machine = Chassis(name, self.folder)
        self.addCleanup(machine.kill)
        machine.start()
        return machine

    def wire(self, chardev, *args):
        return self.chassis(
            'wire', *args, '-chardev', f'socket,id=c1,{chardev},server=on,'
            'wait=off', '-netdev', 'hubport,id=w1,hubid=1', '-device',
            'ib-wire,id=wire,netdev=w1,chardev=c1', '-netdev',
            'hubport,id=n1,hubid=1', '-device', 'ib-switch,id=s0,ports=2',
            '-device', 'ib-port,id=p1,bus=s0.0,port=1,netdev=n1')

    @staticmethod
    def tell(machine, name):
        return machine.qom_get('/machine/peripheral/wire', name)

    def test_stream_at_the_other_end(self):
        """Without TLS it is on the wire what a stream netdev is."""
        machines = [self.wire(f'path={self.cable}'), self.chassis(
            'stream', '-netdev', 'stream,id=n1,server=off,addr.type=unix,'
            f'addr.path={self.cable}', '-device', 'ib-switch,id=s0,ports=2',
            '-device', 'ib-port,id=p1,bus=s0.0,port=1,netdev=n1')]
        for machine in machines:
            wait_until('link up', lambda machine=machine: machine.qom_get(
                '/machine/peripheral/p1', 'state') == 'init')
        self.assertTrue(self.tell(machines[0], 'open'))

    def closed(self, peer):
        """It is: what the wire had sent before comes first."""
        peer.settimeout(60)
        try:
            while peer.recv(65536):
                pass
        except (ssl.SSLError, ConnectionResetError):
            pass

    def test_length_that_is_none(self):
        """A peer that says a frame of 4 GB comes is shown the door; the next
        one is welcome."""
        machine = self.wire(f'path={self.cable}')
        for count, sent in ((1, b'\xff\xff\xff\xff'),
                            (2, b'\0\0\0\1x\0\1\0\1')):
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(self.cable)
                peer.sendall(sent)
                self.closed(peer)
            self.assertEqual(self.tell(machine, 'lost'), count)
            self.assertEqual(self.tell(machine, 'connections'), count)

    def test_only_with_a_certificate(self):
        """Who speaks no TLS, or has no certificate of the authority's, is no
        peer; who has one is."""
        tls = os.path.join(self.folder, 'tls')
        certs.make(tls, ['127.0.0.1'])
        port = free_ports(1)
        machine = self.wire(
            f'host=127.0.0.1,port={port},tls-creds=tls', '-object',
            f'tls-creds-x509,id=tls,dir={tls},endpoint=server,verify-peer=on')
        with socket.create_connection(('127.0.0.1', port)) as peer:
            peer.sendall(b'\xff' * 64)
            self.closed(peer)
        context = ssl.create_default_context(cafile=f'{tls}/ca-cert.pem')
        with socket.create_connection(('127.0.0.1', port)) as peer:
            # With TLS 1.3 the client learns of it after its own half.
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                with context.wrap_socket(
                        peer, server_hostname='127.0.0.1') as secure:
                    secure.sendall(b'\xff' * 64)
                    self.closed(secure)
        self.assertEqual(self.tell(machine, 'connections'), 0)
        context.load_cert_chain(f'{tls}/client-cert.pem',
                                f'{tls}/client-key.pem')
        with socket.create_connection(('127.0.0.1', port)) as peer:
            with context.wrap_socket(peer,
                                     server_hostname='127.0.0.1') as secure:
                secure.sendall(b'\xff' * 4)
                self.closed(secure)
        self.assertEqual(self.tell(machine, 'connections'), 1)
        self.assertEqual(self.tell(machine, 'lost'), 1)


if __name__ == '__main__':
    unittest.main()
