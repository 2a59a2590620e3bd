# SPDX-License-Identifier: GPL-2.0-or-later
"""Fabrics of the usual shapes, of any size.

Each shape is a function that adds nodes and cables to a Builder.  Ports are
given in order: of a leaf switch first those of its nodes, then its uplinks.
"""

import math

from . import Failure
from .topology import CA, NODES_MAX, PORTS_MAX, RATE, SWITCH, Node, Topology

VENDOR = 0x2c9                  # as the devices of hw/infiniband
SWITCH_DEVICE, CA_DEVICE = 0xc738, 0x1003
# A switch every 16 GUIDs and a CA every 16: its ports have those that follow.
GUID_BASE = 0x0002c90000000000
CA_OFFSET = 0x10000000


class Builder:
    """Nodes by the kind of name that they get: leaf-1, node-01 ..."""

    def __init__(self, guid_base=GUID_BASE, rate=None):
        """rate, as '4xEDR', is that of all cables."""
        if rate and not RATE.fullmatch(rate):
            raise Failure(f'{rate} is not a rate as 4xEDR')
        self.guid_base = guid_base
        self.rate = rate
        self.nodes = []         # (Node, kind of name)
        self.cables = []
        self.switches = self.cas = 0
        self.used = {}          # Node -> ports that have a cable

    def switch(self, ports, kind='switch'):
        self.switches += 1
        if not 1 <= ports <= PORTS_MAX:
            raise Failure(f'a switch of {ports} ports; it has 1 to '
                          f'{PORTS_MAX}')
        guid = self.guid_base + 16 * self.switches
        return self._add(Node(f'S-{guid:016x}', SWITCH, ports, guid=guid,
                              system_guid=guid, port_guid=guid, vendor=VENDOR,
                              device=SWITCH_DEVICE), kind)

    def ca(self, kind='node'):
        self.cas += 1
        guid = self.guid_base + CA_OFFSET + 16 * self.cas
        return self._add(Node(f'H-{guid:016x}', CA, 1, guid=guid,
                              system_guid=guid, port_guid=guid + 1,
                              vendor=VENDOR, device=CA_DEVICE), kind)

    def _add(self, node, kind):
        if len(self.nodes) == NODES_MAX:
            raise Failure(f'more than {NODES_MAX} nodes: a subnet has no '
                          'more LIDs')
        self.nodes.append((node, kind))
        self.used[node] = 0
        return node

    def cable(self, a, b):
        """From the next free port of a to the next free one of b."""
        ends = []
        for node in (a, b):
            self.used[node] += 1
            if self.used[node] > node.num_ports:
                raise Failure(f'a switch of {node.num_ports} ports has too '
                              'few for its cables: give a larger --radix')
            ends.append((node, self.used[node]))
        self.cables.append(ends)

    def hang_nodes(self, switch, count):
        for _ in range(count):
            self.cable(switch, self.ca())

    def topology(self):
        count, sizes = {}, {}
        for _, kind in self.nodes:
            sizes[kind] = sizes.get(kind, 0) + 1
        for node, kind in self.nodes:
            count[kind] = count.get(kind, 0) + 1
            width = len(str(sizes[kind]))
            node.description = f'{kind}-{count[kind]:0{width}}'
        # Switches first, as ibnetdiscover has them.
        topology = Topology(sorted((node for node, _ in self.nodes),
                                   key=lambda node: not node.is_switch))
        for (a, port), (b, peer_port) in self.cables:
            topology.connect(a, port, b, peer_port)
            if self.rate:
                a.rates[port] = b.rates[peer_port] = self.rate
        return topology


def _divisor_from(number, least):
    """The smallest divisor of number that is at least least."""
    for candidate in range(max(1, least), number + 1):
        if number % candidate == 0:
            return candidate
    return number


def _spread(total, bins):
    """total in bins as even parts, the larger ones first."""
    return [total // bins + (i < total % bins) for i in range(bins)]


def _need(condition, text):
    if not condition:
        raise Failure(text)


def one_switch(build, nodes, radix=None):
    """nodes around a switch."""
    build.hang_nodes(build.switch(radix or max(nodes, 1)), nodes)


def fat_tree(build, nodes=None, radix=36, levels=2, down=None):
    """A fat tree of switches of radix ports; down ports of each leaf are for
    nodes (half of them by default, which blocks nothing)."""
    down = radix // 2 if down is None else down
    up = radix - down
    _need(levels in (2, 3), 'a fat tree has 2 or 3 levels')
    _need(down >= 1 and up >= 1, f'--down is 1 to {radix - 1}')
    most = radix * down if levels == 2 else radix * (radix // 2) * down
    nodes = most if nodes is None else nodes
    _need(1 <= nodes <= most, f'a fat tree of {levels} levels, radix {radix} '
          f'and {down} nodes a leaf has 1 to {most} nodes')
    leaves = [build.switch(radix, 'leaf')
              for _ in range(math.ceil(nodes / down))]
    for leaf, count in zip(leaves, _spread(nodes, len(leaves))):
        build.hang_nodes(leaf, count)
        build.used[leaf] = down
    if levels == 2:
        _two_levels(build, leaves, up, radix)
    else:
        _three_levels(build, leaves, up, radix)


def _two_levels(build, leaves, up, radix):
    least = math.ceil(len(leaves) * up / radix)
    count = _divisor_from(up, least)
    spines = [build.switch(radix, 'spine') for _ in range(count)]
    for leaf in leaves:
        for spine in spines:
            for _ in range(up // count):
                build.cable(leaf, spine)


def _three_levels(build, leaves, up, radix):
    half = radix // 2
    pods = [leaves[i:i + half] for i in range(0, len(leaves), half)]
    rows = []                   # the middle switches of each pod
    for pod in pods:
        row = [build.switch(radix, 'middle') for _ in range(up)]
        rows.append(row)
        for leaf in pod:
            for middle in row:
                build.cable(leaf, middle)
    count = _divisor_from(half, math.ceil(len(pods) * half / radix))
    for place in range(up):     # the cores of the middle switches there
        cores = [build.switch(radix, 'core') for _ in range(count)]
        for row in rows:
            build.used[row[place]] = half
            for core in cores:
                for _ in range(half // count):
                    build.cable(row[place], core)


def torus(build, sizes, per_switch=1, links=1, radix=None):
    """A torus of any number of dimensions; a dimension of 2 has one cable,
    not two, between its two."""
    _need(sizes and all(size >= 1 for size in sizes),
          'sizes of a torus: 4x4, 3x3x3 ...')
    _need(links >= 1 and per_switch >= 0, 'no torus like that')
    needed = per_switch + links * sum(min(size - 1, 2) for size in sizes)
    count = math.prod(sizes)
    _need(count <= NODES_MAX, f'more than {NODES_MAX} switches')
    switches = [build.switch(radix or max(needed, 1)) for _ in range(count)]
    for switch in switches:
        build.hang_nodes(switch, per_switch)
    stride = 1
    for size in sizes:
        for i, switch in enumerate(switches):
            place = i // stride % size
            if size == 1 or (size == 2 and place == 1):
                continue
            after = i + stride * ((place + 1) % size - place)
            for _ in range(links):
                build.cable(switch, switches[after])
        stride *= size


def ring(build, switches, per_switch=1, links=1, radix=None):
    """A torus of one dimension."""
    torus(build, [switches], per_switch, links, radix)


def dragonfly(build, per_switch=2, group=4, global_links=2, groups=None,
              radix=None):
    """Groups of switches that are all cabled to each other; each switch has
    so many cables to other groups, and any two groups have the same number
    of cables between them."""
    ends = group * global_links
    groups = ends + 1 if groups is None else groups
    _need(group >= 1 and global_links >= 1 and per_switch >= 0,
          'no dragonfly like that')
    _need(1 <= groups <= ends + 1, f'a dragonfly of {group} switches a group '
          f'and {global_links} global cables a switch has 1 to {ends + 1} '
          'groups')
    needed = per_switch + group - 1 + global_links
    rows = []
    for _ in range(groups):
        row = [build.switch(radix or needed) for _ in range(group)]
        rows.append(row)
        for switch in row:
            build.hang_nodes(switch, per_switch)
        for i, switch in enumerate(row):
            for other in row[i + 1:]:
                build.cable(switch, other)
    if groups == 1:
        return
    # Cable end q of group i leads to group i + q + 1, to its end
    # groups - 2 - q; a round of these joins every pair once.
    others = groups - 1
    for lap in range(ends // others):
        for i in range(groups):
            for q in range(others):
                j = (i + q + 1) % groups
                if i < j:
                    mine = lap * others + q
                    theirs = lap * others + others - 1 - q
                    build.cable(rows[i][mine // global_links],
                                rows[j][theirs // global_links])
