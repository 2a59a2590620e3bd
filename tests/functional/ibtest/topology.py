# SPDX-License-Identifier: GPL-2.0-or-later
"""Chassis full of switches: trees, rings, meshes and tori with places for
hosts, and what their forwarding tables say.

Ports of a switch of a grid: 1 and 2 towards larger and smaller x, 3 and 4
towards larger and smaller y, 5 for a host.
"""

import re

SWITCH_GUID = 0x2c90000000100
HOST_GUID = 0x2c90000010000


class Topology:
    """switches: name => number of ports; joins: (name, port, name, port);
    hosts: (switch, port), in the order of the hosts' numbers."""

    def __init__(self, switches, joins, hosts, options=''):
        self.switches = switches
        self.joins = joins
        self.hosts = hosts
        self.options = options
        self.guids = {name: SWITCH_GUID + 0x100 * i
                      for i, name in enumerate(switches)}
        self.far = {}                   # (switch, port) => what is there
        self.far_port = {}
        for one, port, two, far in joins:
            self.far[one, port], self.far_port[one, port] = two, far
            self.far[two, far], self.far_port[two, far] = one, port
        for i, place in enumerate(hosts):
            self.far[place] = i

    def fill(self, chassis, folder):
        """The switches, and a socket for each host's cable."""
        for name, ports in self.switches.items():
            chassis.add(name, ports, f',node-guid={self.guids[name]:#x},'
                        f'description={name}{self.options}')
        for join in self.joins:
            chassis.join(*join)
        for i, place in enumerate(self.hosts):
            chassis.cable(*place, host_socket(folder, i))

    def route(self, tables, host, lid):
        """The (switch, port) pairs by which packets of a host go to a LID."""
        way = []
        switch = self.hosts[host][0]
        while not isinstance(switch, int):
            port = tables[switch].get(lid)
            if (switch, port) not in self.far:
                raise ValueError(f'{switch} has no route to LID {lid}: {way}')
            if (switch, port) in way:
                raise ValueError(f'a loop to LID {lid}: {way}')
            way.append((switch, port))
            switch = self.far[switch, port]
        return way

    def lanes(self, sl_to_vl, host, way, sl):
        """The VL on each cable of a way; sl_to_vl: (switch, in, out) => 16
        VLs."""
        vls, came = [], self.hosts[host][1]
        for switch, port in way:
            vls.append(sl_to_vl[switch, came, port][sl])
            came = self.far_port.get((switch, port))
        return vls

    def distance(self, one, two):
        """Switches on a shortest way between two hosts."""
        reached, edge, steps = set(), {self.hosts[one][0]}, 1
        while self.hosts[two][0] not in edge:
            reached |= edge
            edge = {far for (near, _), far in self.far.items()
                    if near in edge and not isinstance(far, int)} - reached
            steps += 1
        return steps


def host_socket(folder, i):
    return f'{folder}/host{i}'


def tree(spines, leaves, hosts):
    """A fat tree of two levels; hosts go round the leaves."""
    switches = {f'spine{i}': leaves for i in range(spines)}
    down = (hosts + leaves - 1) // leaves
    switches.update({f'leaf{i}': spines + down for i in range(leaves)})
    joins = [(f'leaf{n}', s + 1, f'spine{s}', n + 1)
             for n in range(leaves) for s in range(spines)]
    places = [(f'leaf{i % leaves}', spines + 1 + i // leaves)
              for i in range(hosts)]
    return Topology(switches, joins, places)


def grid(width, height, hosts, wrap):
    """A torus, or without wrap a mesh; with height 1 a ring or a chain.
    hosts are the (x, y) of their switches."""
    joins = []
    for x in range(width):
        for y in range(height):
            if (x + 1 < width or wrap) and width > 1:
                joins.append((f's{x}{y}', 1, f's{(x + 1) % width}{y}', 2))
            if (y + 1 < height or wrap) and height > 1:
                joins.append((f's{x}{y}', 3, f's{x}{(y + 1) % height}', 4))
    return Topology({f's{x}{y}': 5 for x in range(width)
                     for y in range(height)}, joins,
                    [(f's{x}{y}', 5) for x, y in hosts])


def forwarding_tables(text):
    """Of the output of dump_lfts: switch => LID => port."""
    tables, table = {}, None
    for line in text.splitlines():
        found = re.search(r'lids .* of switch .* \((.*)\):', line)
        if found:
            table = tables.setdefault(found.group(1).split()[0], {})
        found = re.match(r'0x([0-9a-f]+) (\d+)', line)
        if found and table is not None:
            table[int(found.group(1), 16)] = int(found.group(2))
    return tables


def sl_to_vl(text):
    """Of the output of smpquery sl2vl for a port: input port => 16 VLs."""
    return {int(port): [int(vl) for vl in row.split('|') if vl.strip()]
            for port, row in re.findall(r'in *(\d+), out *\d+: \|(.*)', text)}
