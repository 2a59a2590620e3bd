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
from ibtest.steps import bring_up

sys.path.insert(0, str(paths.TOP / 'python'))

from ibfabric import certs, export, topology, vms           # noqa: E402

# ibsim's example "net", with a node at each switch.
NET = '''\
Switch\t8 "Switch1"
[1]\t"Hca1"[1]
[3]\t"Switch2"[3]
[4]\t"Switch2"[4]

Switch 8 "Switch2"
[2]\t"Hca2"[1]

Hca\t1 "Hca1"
Hca\t1 "Hca2"
'''


def free_ports(count):
    """The first of so many TCP ports that are free now."""
    for base in range(20000 + os.getpid() % 10000, 60000, count):
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(('127.0.0.1', port))
            return base
        except OSError:
            continue
    raise unittest.SkipTest('no free TCP ports')


class Switches(Machine):
    """The process of a group that has its switches."""

    def __init__(self, process, folder):
        super().__init__(process.name, folder)
        self.process = process

    def args(self):
        return ['-M', 'ib-chassis', *self.process.args]


class Groups(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.tls = os.path.join(fabric.folder, 'tls')
        certs.make(cls.tls, ['127.0.0.1'])
        path = os.path.join(fabric.folder, 'net')
        with open(path, 'w', encoding='ascii') as file:
            file.write(NET)
        found = topology.read(path)
        cls.base = free_ports(4)
        processes = export.plan(
            found, vms.choose(found, ['Hca1', 'Hca2']),
            ['a=Switch1,Hca1', 'b=Switch2,Hca2'], cls.base, cls.tls)
        cls.guests, cls.switches = {}, {}
        for process in processes:
            if process.vm is None:
                machine = Switches(process, fabric.folder)
                cls.switches[process.group.name] = machine
                fabric.switches.append(machine)
            else:
                guest = Guest(process.name, fabric.folder, cls.kernel,
                              extra=process.args)
                cls.guests[process.group.name] = guest
                fabric.guests.append(guest)
        cls.facts = {'ports': 8}

    @classmethod
    def prepare(cls):
        for guest in cls.guests.values():
            guest.load_drivers()
        bring_up(cls.guests, cls.facts)

    def ping(self):
        self.guests['a'].wait_for('ping -c 3 -i 0.2 -W 2 -s 1900 10.0.0.2',
                                  ' 0% packet loss', 60)

    def wires(self, machine, count):
        """The ib-wires of a process, which are all connected."""
        names = [item['name'] for item in machine.qmp(
            'qom-list', path='/machine/peripheral')
            if item['name'].startswith('wire')]
        self.assertEqual(len(names), count)
        for name in names:
            path = f'/machine/peripheral/{name}'
            self.assertTrue(machine.qom_get(path, 'open'), name)
            self.assertEqual(machine.qom_get(path, 'lost'), 0)
        return names

    def test_1_traffic(self):
        """IPoIB and verbs go through both switches over TLS."""
        self.ping()
        self.wires(self.switches['a'], 3)
        self.wires(self.switches['b'], 3)
        out = self.guests['a'].sh('ibnetdiscover')
        self.assertIn('"S-0000000000100000"[3]', out)
        self.assertIn('"S-0000000000100000"[4]', out)
        a, b = self.guests['a'], self.guests['b']
        command = 'ib_send_bw -d mlx4_0 -s 65536 -n 200'
        server = b.agent.start(command, 120)
        b.wait_for('ss -ltn', ':18515 ')
        client = a.try_sh(f'{command} 10.0.0.2', 120)
        answer = b.agent.wait(server, 180)
        for result in (client, answer):
            self.assertEqual(result.status, 0, f'{client}\n{answer}')
        self.assertIn(' 65536 ', client.out)

    def test_2_a_group_starts_anew(self):
        """The switches of a group die and come again; nothing else is told,
        and traffic goes on."""
        machine = self.switches['b']
        machine.kill()
        machine.start()
        self.ping()
        self.wires(self.switches['a'], 3)
        self.wires(machine, 3)


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
            while machine.qom_get('/machine/peripheral/p1', 'state') != 'init':
                time.sleep(0.05)
        self.assertTrue(self.tell(machines[0], 'open'))

    def closed(self, peer):
        """It is: what the wire had sent before comes first."""
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
