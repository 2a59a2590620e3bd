# SPDX-License-Identifier: GPL-2.0-or-later
"""A fabric that is up: what its cables tell, and what can be done to them.

The process of the fabric takes commands (docs/fabric.rst); a VM's own end of its
cable is told by QMP.
"""

import json
import os
import shlex
import socket
import time
from dataclasses import dataclass

from . import Failure, graph, layout
from .core import CONTROL, Core, plug
from .monitor import Monitor

# What the fabric calls PortStates, and what a picture does.
STATES = {'down': graph.DOWN, 'init': graph.COMING, 'armed': graph.COMING,
          'active': graph.ACTIVE}
DATA_VLS, ALL_VLS = 0x7fff, 0xffff


class Control:
    """The fabric's socket for commands."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        try:
            self._socket.connect(path)
        except OSError as error:
            raise Failure('the fabric does not answer: '
                          f'{error.strerror}') from None
        self._file = self._socket.makefile('rwb')

    def close(self):
        self._file.close()
        self._socket.close()

    def command(self, *words):
        """A command's answer, a dict; Failure says why it was not done."""
        try:
            self._file.write(shlex.join(str(word) for word in words).encode()
                             + b'\n')
            self._file.flush()
            line = self._file.readline()
        except OSError as error:
            raise Failure(f'the fabric does not answer: {error}') from None
        if not line:
            raise Failure('the fabric is gone')
        answer = json.loads(line)
        if 'error' in answer:
            raise Failure(answer['error'])
        return answer


@dataclass
class Cable:
    """A cable at a time; sent and received are bytes, as port of node has
    counted them, gbps is what it carries in each direction."""
    node: object
    port: int
    peer: object
    peer_port: int
    state: str
    gbps: float
    sent: int
    received: int
    errors: int

    @property
    def key(self):
        return self.node, self.port


class Live:
    """Use it with "with": connections are made when needed."""

    def __init__(self, run):
        self.run = run
        self.state = run.load()
        self.topology = run.topology()
        self.vms = {}           # node -> its entry in the state
        for vm in self.state.get('vms', []):
            self.vms[self.topology.by_id(vm['node'])] = vm
        self._control = None
        self._monitors = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in (self._control, *self._monitors.values()):
            if connection is not None:
                connection.close()

    def monitor(self, vm):
        """QMP with a VM, or with the fabric."""
        if vm['name'] not in self._monitors:
            self._monitors[vm['name']] = Monitor(self.run, vm['name'])
        return self._monitors[vm['name']]

    def command(self, *words):
        """As Control's."""
        if self._control is None:
            self._control = Control(self.run.path(CONTROL))
        return self._control.command(*words)

    def cables(self):
        """Every cable's Cable, in the order of the topology."""
        found = []
        for link in self.command('links')['links']:
            found.append(Cable(
                self.topology.by_id(link['a']), link['a-port'],
                self.topology.by_id(link['b']), link['b-port'],
                link['state'] if link['plugged'] else 'out', link['gbps'],
                4 * link['xmit-data'], 4 * link['rcv-data'], link['errors']))
        return found

    def look(self, seconds=1.0):
        """What a picture shows: states, and loads over so many seconds."""
        before, begun = self.cables(), time.monotonic()
        time.sleep(seconds)
        after, passed = self.cables(), time.monotonic() - begun
        ports = {}
        for old, new in zip(before, after):
            look = graph.PortLook(
                STATES.get(new.state, graph.DOWN), load(old, new, passed))
            ports[new.node.id, new.port] = look
            ports[new.peer.id, new.peer_port] = look
        return graph.Look(ports=ports, vms={node.id for node in self.vms})

    # ---- what can be done to a port

    def _has_cable(self, node, port):
        if port not in node.ports:
            raise Failure(f'{node.name}:{port} has no cable')

    def link(self, node, port, up):
        """Pull a cable out, or plug it in again."""
        self._has_cable(node, port)
        for of, number in ((node, port), node.ports[port]):
            if of in self.vms:
                self.monitor({'name': Core.NAME}).set(
                    '/machine/peripheral/' +
                    plug(self.vms[of]['name'], number), 'link', up)
                return
        self.command('link', 'up' if up else 'down', node.id, port)

    def error(self, node, port, wanted):
        """What of the packets that a port receives goes wrong: a dict of
        drop, corrupt, delay, delay-us, duplicate, seed, vls."""
        self._has_cable(node, port)
        vm = self.vms.get(node)
        if vm is None:
            self.command('error', node.id, port, *(
                f'{name}={value}' for name, value in wanted.items()))
            return
        settings = {'drop': 0, 'corrupt': 0, 'delay': 0, 'delay-us': 0,
                    'duplicate': 0, 'seed': 0, **wanted}
        vls = settings.pop('vls', ALL_VLS)
        names = {ALL_VLS: 'all', DATA_VLS: 'data'}
        monitor = self.monitor(vm)
        monitor.set(vm_port(port), 'inject-class', names.get(
            vls, f'vl{vls.bit_length() - 1}'))
        # How late, and which, before how many.
        for name in ('delay-us', 'seed', 'drop', 'corrupt', 'delay',
                     'duplicate'):
            monitor.set(vm_port(port), f'inject-{name}', settings[name])

    def capture(self, node, port, path):
        """What passes a port goes to a file; None ends that."""
        self._has_cable(node, port)
        vm = self.vms.get(node)
        if vm is not None:
            self.monitor(vm).set(vm_port(port), 'pcap', path or '')
        else:
            self.command('capture', node.id, port, *([path] if path else []))


def vm_port(port):
    """The QOM path of a port in a VM."""
    return f'/machine/peripheral/{layout.hca_port(port)}'


def rates(before, after, seconds):
    """Bytes sent and received in a second."""
    return (max(0, after.sent - before.sent) / seconds,
            max(0, after.received - before.received) / seconds)


def load(before, after, seconds):
    """The share of what the cable carries, in its busier direction."""
    if after.gbps <= 0 or seconds <= 0:
        return 0.0
    return max(rates(before, after, seconds)) / (after.gbps * 125e6)


def vls_of(text):
    """The mask of all, data, or vlN."""
    if text in ('all', 'data'):
        return ALL_VLS if text == 'all' else DATA_VLS
    if text.startswith('vl') and text[2:].isdigit() and int(text[2:]) < 16:
        return 1 << int(text[2:])
    raise Failure(f'class is all, data, or vl0 to vl15, not {text}')


def writable(path):
    """The absolute path of a file to write; Failure if its folder is none."""
    path = os.path.abspath(path)
    if not os.path.isdir(os.path.dirname(path)):
        raise Failure(f'{path}: no such folder')
    return path
