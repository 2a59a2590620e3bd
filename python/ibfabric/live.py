# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of a fabric that is up: what they tell, and what can be done to
them.

A port belongs to the process where its node is: that of the switches, or a
VM's.
"""

import time
from dataclasses import dataclass

from . import Failure, graph, layout
from .core import Core
from .monitor import Monitor

# What properties call PortStates, and what a picture does.
STATES = {'down': graph.DOWN, 'init': graph.COMING, 'armed': graph.COMING,
          'active': graph.ACTIVE}
# Bytes of data in a second, a lane of each speed (s=) and width (w=).
LANE = {1: 250e6, 2: 500e6, 4: 1e9}
WIDTH = {1: 1, 2: 4, 4: 8, 8: 12}


@dataclass
class Sample:
    """A port at a time: PortState and the 64-bit counters."""
    state: str
    counters: dict


class Live:
    """Use it with "with": connections to processes are made when needed."""

    def __init__(self, run):
        self.run = run
        self.state = run.load()
        self.topology = run.topology()
        self.vms = {}           # (node, port) -> name of the process
        for vm in self.state.get('vms', []):
            node = self.topology.by_id(vm['node'])
            self.vms[node, vm['port']] = vm['name']
        self._monitors = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for monitor in self._monitors.values():
            monitor.close()

    def monitor(self, name):
        if name not in self._monitors:
            self._monitors[name] = Monitor(self.run, name)
        return self._monitors[name]

    def vm_of(self, node):
        """The name of the VM that stands for a node, or None."""
        return next((name for (of, _), name in self.vms.items()
                     if of is node), None)

    def place(self, node, port):
        """(process, QOM path) of a port, or None if nobody has it."""
        if (node, port) in self.vms:
            return self.vms[node, port], '/machine/peripheral/hca'
        if node.is_switch and self.is_there(*node.ports.get(port,
                                                            (None, 0))):
            return Core.NAME, f'/machine/peripheral/{layout.cage(node, port)}'
        return None

    def is_there(self, node, port):
        return node is not None and (node.is_switch or
                                     (node, port) in self.vms)

    def _placed(self, node, port):
        found = self.place(node, port)
        if found is None:
            raise Failure(f'{node.name}:{port} has no cable')
        return found

    def get(self, node, port, name):
        process, path = self._placed(node, port)
        return self.monitor(process).get(path, name)

    def set(self, node, port, name, value):
        process, path = self._placed(node, port)
        self.monitor(process).set(path, name, value)

    def sample(self):
        """(node, port) -> Sample of every port that is there."""
        found = {}
        for node in self.topology.nodes:
            for port in node.ports:
                if self.place(node, port) is not None:
                    found[node, port] = Sample(
                        self.get(node, port, 'state'),
                        self.get(node, port, 'counters'))
        return found

    def look(self, seconds=1.0):
        """What a picture shows: states, and loads over so many seconds."""
        before, begun = self.sample(), time.monotonic()
        time.sleep(seconds)
        after, passed = self.sample(), time.monotonic() - begun
        ports = {}
        for (node, port), sample in after.items():
            rates = rate(before.get((node, port)), sample, passed)
            ports[node.id, port] = graph.PortLook(
                STATES.get(sample.state, graph.UNKNOWN),
                max(rates) / capacity(node, port))
        return graph.Look(ports=ports,
                          vms={node.id for node, _ in self.vms})


def rate(before, after, seconds):
    """Bytes sent and received in a second."""
    if before is None:
        return 0.0, 0.0
    return tuple(4 * max(0, after.counters[name] - before.counters[name]) /
                 seconds for name in ('xmit-data', 'rcv-data'))


def capacity(node, port):
    """Bytes of data that a link carries in a second."""
    said = dict(option.split('=') for end, number in
                ((node, port), node.ports.get(port, (None, 0)))
                if end is not None
                for option in end.options.get(number, '').split())
    return LANE[int(said.get('s', 4))] * WIDTH[int(said.get('w', 2))]
