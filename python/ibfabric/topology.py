# SPDX-License-Identifier: GPL-2.0-or-later
"""Topology files: what ibnetdiscover prints and ibsim reads.

docs/fabric.rst describes the format and hw/infiniband/fabric/topology.c is
the reader that counts; this one takes the same files, refuses the same, and
gives nodes the same names and GUIDs.
"""

import os
import re
from dataclasses import dataclass, field

from . import Failure

SWITCH, CA, ROUTER = 'Switch', 'Ca', 'Rt'
PORTS_MAX = 254
LINE_MAX = 1023
NAME_MAX = 63
NODES_MAX = 49151
DEPTH_MAX = 16
FILES_MAX = 64
FIRST_SWITCH_GUID, FIRST_CA_GUID = 0x100000, 0x200000
REFUSED = ('@', 'module', 'do ', 'width', 'speed', 'hcaguids')

_NODE = re.compile(r'\s*(\d+)\s*"([^"]*)"(.*)')
_PORT = re.compile(r'\[\s*(\d+)\](?:\[ext [^]]*\])?(?:\(([^)]*)\))?\s*'
                   r'"([^"]*)"\s*(?:\[(\d+)\](?:\[ext [^]]*\])?)?'
                   r'(?:\(([^)]*)\))?([^#]*)(?:#(.*))?$')
_OPTION = re.compile(r'w=[1248]|s=[124]')
RATE = re.compile(r'(?:1|2|4|8|12)x'
                  r'(?:SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)')


@dataclass
class Node:
    """ports maps the number of each cabled port to (peer Node, its port)."""
    id: str
    kind: str
    num_ports: int
    description: str = ''
    guid: int = 0
    system_guid: int = 0
    port_guid: int = 0          # of port 1; switch: of port 0
    vendor: int = 0
    device: int = 0
    enhanced: bool = False
    index: int = 0
    ports: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)     # port -> 'w=2 s=1'
    rates: dict = field(default_factory=dict)       # port -> '4xEDR'

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    @property
    def is_switch(self):
        return self.kind == SWITCH

    @property
    def name(self):
        """What people call it: its NodeDescription, or its id."""
        return self.description or self.id

    def __repr__(self):
        return f'<{self.kind} {self.name}>'


class Topology:
    """nodes, in the order of the file."""

    def __init__(self, nodes=()):
        self.nodes = []
        self._by_id = {}
        for node in nodes:
            self.add(node)

    def add(self, node):
        node.index = len(self.nodes)
        self.nodes.append(node)
        self._by_id[node.id] = node
        return node

    def switches(self):
        return [node for node in self.nodes if node.is_switch]

    def cas(self):
        """Whatever is no switch: CAs and routers."""
        return [node for node in self.nodes if not node.is_switch]

    def cables(self):
        """(node, port, peer, its port), each cable once."""
        for node in self.nodes:
            for port, (peer, peer_port) in sorted(node.ports.items()):
                if (node.index, port) < (peer.index, peer_port):
                    yield node, port, peer, peer_port

    def by_id(self, name):
        return self._by_id.get(name)

    def find(self, name):
        """The node that a person means: its id, its description, the first
        word of that, or its GUID."""
        found = self._by_id.get(name)
        if found is not None:
            return found
        for same in (lambda node: node.description == name,
                     lambda node: node.description.split(' ')[0] == name,
                     lambda node: name.lower() in (f'{node.guid:#x}',
                                                   f'{node.guid:#018x}',
                                                   f'{node.guid:016x}')):
            found = [node for node in self.nodes if same(node)]
            if len(found) == 1:
                return found[0]
            if found:
                raise Failure(f'"{name}" is ' + ' or '.join(
                    f'"{node.id}"' for node in found[:3]) +
                    (' or ...' if len(found) > 3 else ''))
        raise Failure(f'no node "{name}" in the topology')

    def find_port(self, text):
        """(node, port) of "NODE:PORT"; of a CA the port may be left out."""
        name, colon, port = text.rpartition(':')
        if not colon or not port.isdigit():
            node = self.find(text)
            if node.is_switch:
                raise Failure(f'which port of {node.name}? NODE:PORT')
            return node, min(node.ports, default=1)
        node = self.find(name)
        if not 1 <= int(port) <= node.num_ports:
            raise Failure(f'{node.name} has ports 1 to {node.num_ports}')
        return node, int(port)

    def connect(self, node, port, peer, peer_port):
        node.ports[port] = (peer, peer_port)
        peer.ports[peer_port] = (node, port)


# ---- reading ---------------------------------------------------------------

class _Reader:
    def __init__(self):
        self.nodes = []
        self.by_id = {}
        self.places = {}
        self.lines = []         # (place, node, port, peer id, peer's port)
        self.any_guid = False
        self.node = None
        self.files = 0
        self.forget()

    def forget(self):
        """What lines have said for the node that comes next."""
        self.next = {'guid': 0, 'port_guid': 0, 'system_guid': 0,
                     'vendor': 0, 'device': 0}

    def file(self, path, blame=None, above=()):
        blame = f'{blame}: ' if blame else ''
        self.files += 1
        if self.files > FILES_MAX:
            raise Failure(f'{blame}more than {FILES_MAX} files')
        if len(above) == DEPTH_MAX:
            raise Failure(f'{blame}includes are nested more than '
                          f'{DEPTH_MAX} deep')
        try:
            found = os.stat(path)
            if not os.path.isfile(path):
                raise Failure(f'{blame}{path}: not a file')
            key = (found.st_dev, found.st_ino)
            if key in above:
                raise Failure(f'{blame}{path} includes itself')
            with open(path, encoding='utf-8', errors='surrogateescape',
                      newline='\n') as file:
                self.text(file, path, (*above, key))
        except OSError as error:
            raise Failure(f'{blame}{path}: {error.strerror}') from None

    def text(self, file, path, above):
        self.node = None
        number = 0
        while True:
            line = file.readline(LINE_MAX + 2)
            number += 1
            place = f'{path}:{number}'
            if not line:
                break
            if len(line.rstrip('\n')) > LINE_MAX:
                raise Failure(f'{place}: a line of more than {LINE_MAX} bytes')
            if '\0' in line:
                raise Failure(f'{place}: a byte of 0')
            self.line(line.rstrip(' \t\r\n'), place, path, above)
        self.node = None

    def line(self, line, place, path, above):
        if line.startswith('#'):
            return
        if line.startswith('['):
            self.port(line, place)
            return
        self.node = None
        for word in REFUSED:
            if line.startswith(word):
                raise Failure(f'{place}: "{word}" is not supported')
        for word, kind in (('Switch', SWITCH), ('Hca', CA), ('Ca', CA),
                           ('Rt', ROUTER)):
            if line.startswith(word):
                self.header(line[len(word):], kind, place)
                return
        if line.startswith('include'):
            match = re.match(r'include\s*"([^"]+)"', line)
            if not match:
                raise Failure(f'{place}: no file in quotes after include')
            self.file(os.path.join(os.path.dirname(path), match[1]), place,
                      above)
            return
        match = re.match(r'(switchguid|caguid|rtguid|sysimgguid|vendid|'
                         r'devid)=(.*)', line)
        if match:
            self.number(match[1], match[2], place)

    def number(self, word, text, place):
        match = re.match(r'(?:0x)?([0-9a-f]+)(?:\((?:0x)?([0-9a-f]+)\))?',
                         text, re.IGNORECASE)
        if not match or len(match[1]) > 16:
            raise Failure(f'{place}: no hexadecimal number after the =')
        value = int(match[1], 16)
        if word in ('switchguid', 'caguid', 'rtguid'):
            if value == 0:
                raise Failure(f'{place}: no GUID after the =')
            self.any_guid = True
            self.next['guid'] = value
            if match[2] and word == 'switchguid':
                self.next['port_guid'] = int(match[2], 16)
        elif word == 'sysimgguid':
            self.next['system_guid'] = value
        elif value > {'vendid': 0xffffff, 'devid': 0xffff}[word]:
            raise Failure(f'{place}: {word}={text} is too large')
        else:
            self.next[{'vendid': 'vendor', 'devid': 'device'}[word]] = value

    def header(self, text, kind, place):
        match = _NODE.match(text)
        if not match or not match[2]:
            raise Failure(f'{place}: no number of ports and name in quotes')
        ports, name, rest = int(match[1]), match[2], match[3]
        if not 1 <= ports <= PORTS_MAX:
            raise Failure(f'{place}: a node has 1 to {PORTS_MAX} ports')
        if len(name) > NAME_MAX:
            raise Failure(f'{place}: a name has at most {NAME_MAX} bytes')
        if name in self.by_id:
            raise Failure(f'{place}: "{name}" is there twice')
        if len(self.nodes) == NODES_MAX:
            raise Failure(f'{place}: more than {NODES_MAX} nodes')
        node = Node(name, kind, ports, **self.next)
        if not node.is_switch:
            node.port_guid = 0
        if not node.guid and re.fullmatch(r'[SHR]-[0-9a-fA-F]{16}', name):
            node.guid = int(name[2:], 16)
            self.any_guid = self.any_guid or node.guid != 0
        comment = rest.partition('#')[2]
        said = re.match(r'\s*"([^"]*)"(.*)', comment)
        node.description = said[1] if said else name
        node.enhanced = 'enhanced port 0' in (said[2] if said else comment)
        self.forget()
        self.nodes.append(node)
        self.by_id[name] = node
        self.places[name] = place
        self.node = node

    def port(self, line, place):
        if self.node is None:
            raise Failure(f'{place}: a port without a node before it')
        match = _PORT.match(line)
        if not match:
            raise Failure(f'{place}: not [PORT] "PEER"[PORT]')
        port, peer_port = int(match[1]), int(match[4] or 1)
        if not 1 <= port <= self.node.num_ports:
            raise Failure(f'{place}: "{self.node.id}" has ports 1 to '
                          f'{self.node.num_ports}')
        if port in self.node.ports:
            raise Failure(f'{place}: port {port} of "{self.node.id}" is there '
                          'twice')
        options = match[6].split()
        for option in options:
            if not _OPTION.fullmatch(option):
                raise Failure(f'{place}: neither w= nor s= nor # after the '
                              'peer')
        if match[2] and not self.node.is_switch:
            try:
                self.node.port_guid = int(match[2], 16) - (port - 1)
            except ValueError:
                self.node.port_guid = 0
            if not 0 < self.node.port_guid < 1 << 64:
                raise Failure(f'{place}: no GUID in the parentheses')
        self.node.ports[port] = None
        if options:
            self.node.options[port] = ' '.join(options)
        for word in re.sub(r'"[^"]*("|$)', ' ', match[7] or '').split():
            if RATE.fullmatch(word):
                self.node.rates[port] = word
                break
        self.lines.append((place, self.node, port, match[3], peer_port))

    def connect(self):
        for place, node, port, name, peer_port in self.lines:
            peer = self.by_id.get(name)
            if peer is None:
                raise Failure(f'{place}: unknown peer "{name}"')
            if not 1 <= peer_port <= peer.num_ports:
                raise Failure(f'{place}: "{name}" has ports 1 to '
                              f'{peer.num_ports}')
            if (peer, peer_port) == (node, port):
                raise Failure(f'{place}: port {port} of "{node.id}" leads to '
                              'itself')
            if (node.ports.get(port) or (peer, peer_port)) != (
                    peer, peer_port) or (peer.ports.get(peer_port) or (
                        node, port)) != (node, port):
                raise Failure(f'{place}: port {port} of "{node.id}" or port '
                              f'{peer_port} of "{name}" has another cable')
            node.ports[port] = (peer, peer_port)
            peer.ports[peer_port] = (node, port)
            self.connect_rates((node, port), (peer, peer_port))

    @staticmethod
    def connect_rates(*ends):
        """Options count for more than a comment; an end of which nothing is
        said runs as the other one."""
        if any(port in node.options for node, port in ends):
            for node, port in ends:
                node.rates.pop(port, None)
            return
        said = [node.rates[port] for node, port in ends if port in node.rates]
        for node, port in ends:
            if said:
                node.rates.setdefault(port, said[0])

    def complete(self):
        seen = set()
        for i, node in enumerate(self.nodes):
            place = self.places[node.id]
            if not node.guid and self.any_guid:
                raise Failure(f'{place}: no GUID for "{node.id}", but others '
                              'have one')
            if not node.guid:
                node.guid = (FIRST_SWITCH_GUID + i if node.is_switch
                             else FIRST_CA_GUID + i * 256)
            node.system_guid = node.system_guid or node.guid
            node.port_guid = node.port_guid or (
                node.guid + (not node.is_switch))
            if not node.is_switch and (node.port_guid + node.num_ports >
                                       1 << 64):
                raise Failure(f'{place}: the GUIDs of the ports of '
                              f'"{node.id}" do not fit into 64 bits')
            if node.guid in seen:
                raise Failure(f'{place}: the GUID of "{node.id}" is there '
                              'twice')
            seen.add(node.guid)


def read(path):
    """The Topology in a file; Failure "FILE:LINE: reason"."""
    reader = _Reader()
    reader.file(os.fspath(path))
    if not reader.nodes:
        raise Failure(f'{path}:1: no node')
    reader.connect()
    reader.complete()
    return Topology(reader.nodes)


# ---- writing ---------------------------------------------------------------

def _node_lines(node):
    yield f'vendid={node.vendor:#x}'
    yield f'devid={node.device:#x}'
    yield f'sysimgguid={node.system_guid:#x}'
    if node.is_switch:
        yield f'switchguid={node.guid:#x}({node.port_guid:x})'
        yield (f'Switch\t{node.num_ports} "{node.id}"\t\t'
               f'# "{node.description}" '
               f'{"enhanced" if node.enhanced else "base"} port 0 lid 0 lmc 0')
    else:
        yield f'{node.kind.lower()}guid={node.guid:#x}'
        yield (f'{node.kind}\t{node.num_ports} "{node.id}"\t\t'
               f'# "{node.description}"')
    for port, (peer, peer_port) in sorted(node.ports.items()):
        mine = f'[{port}]'
        if not node.is_switch:
            mine += f'({node.port_guid + port - 1:x})'
        theirs = f'"{peer.id}"[{peer_port}]'
        if not peer.is_switch:
            theirs += f'({peer.port_guid + peer_port - 1:x})'
        options = node.options.get(port)
        if options:
            theirs += f' {options}'
        rate = node.rates.get(port)
        yield (f'{mine}\t{theirs}\t\t# "{peer.description}"' +
               (f' {rate}' if rate else ''))


def write(topology, file, heading=''):
    """Write it as ibnetdiscover would print it."""
    for line in heading.splitlines():
        file.write(f'# {line}\n')
    for node in topology.nodes:
        file.write('\n' + '\n'.join(_node_lines(node)) + '\n')
