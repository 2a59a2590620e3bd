# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA of a pair of guests over connectx3 and over Soft-RoCE, for
scripts/bench: the same guests, the same programs, one after the other."""

import re
import statistics

from .fabric import Fabric
from .machines import stream
from .steps import bring_up

# What is measured: name, perftest's program and arguments, and whether more
# is better (MB/s) or less (us).
FIGURES = tuple(
    (f'{verb}_bw.{size}', f'ib_{verb}_bw -s {size}', True)
    for verb in ('write', 'read', 'send') for size in (65536, 1048576)
) + tuple(
    (f'{verb}_lat.2', f'ib_{verb}_lat -s 2 -n 500', False)
    for verb in ('write', 'send')
)
# Iterations of the bandwidth programs: about two seconds each.
ITERATIONS = {('mlx4_0', 65536): 2500, ('mlx4_0', 1048576): 400,
              ('rxe0', 65536): 300, ('rxe0', 1048576): 20}


class Pair:
    """Two guests on a switch, with an Ethernet between them as well."""

    def __init__(self, kernel):
        self.fabric = Fabric()
        switch = self.fabric.add_switch('sw0', 2)
        wire = f'{self.fabric.folder}/ethernet'
        self.guests = {}
        for name, port in (('a', 1), ('b', 2)):
            netdev = stream(wire, server=name == 'a')
            self.guests[name] = self.fabric.add_guest(
                name, kernel, switch, port,
                extra=('-netdev', f'{netdev},id=eth', '-device',
                       'virtio-net-pci,netdev=eth,romfile=,host_mtu=9000,'
                       f'mac=52:54:00:00:00:0{port}'))

    def start(self):
        self.fabric.start()
        self.fabric.load_drivers()
        bring_up(self.guests, {'ports': 2})
        for number, guest in enumerate(self.guests.values(), 1):
            guest.sh('modprobe -a virtio_net rdma_rxe; '
                     'until ip link show eth0; do sleep 0.1; done; '
                     f'ip addr add 10.1.0.{number}/24 dev eth0; '
                     'ip link set eth0 up; '
                     'rdma link add rxe0 type rxe netdev eth0')

    def set_mtu(self, mtu):
        for guest in self.guests.values():
            guest.sh(f'ip link set eth0 mtu {mtu}')

    def measure(self, device, program):
        """perftest's figure: MB/s (10^6) or us."""
        size = int(re.search(r'-s (\d+)', program).group(1))
        if '_bw' in program:
            program += f' -n {ITERATIONS[device, size]}'
        program += f' -d {device} -F'
        a, b = self.guests['a'], self.guests['b']
        waiting = b.agent.start(program, 120)
        # Both devices exchange their addresses over the Ethernet.
        out = a.sh('for i in 1 2 3 4 5 6; do sleep 0.5; '
                   f'{program} 10.1.0.2 && exit; done; exit 1', 120)
        b.agent.wait(waiting, 180)
        line = re.search(rf'(?m)^ *{size} +\d+ +([\d. \t-]+)$', out)
        if line is None:
            raise RuntimeError(f'no figures in what {program} printed: {out}')
        columns = line.group(1).split()
        if '_bw' in program:
            return float(columns[1]) * 1.048576     # average, perftest's MiB
        return float(columns[2])                    # the typical one

    def close(self):
        self.fabric.close()


def compare(kernel, rounds):
    """(figure, unit, ours, {peer: theirs}) of each figure, medians."""
    pair = Pair(kernel)
    try:
        pair.start()
        for name, program, more in FIGURES:
            samples = {'hca': [], 'rxe': [], 'rxe-9000': []}
            for _ in range(rounds):
                samples['hca'].append(pair.measure('mlx4_0', program))
                for peer, mtu in (('rxe', 1500), ('rxe-9000', 9000)):
                    pair.set_mtu(mtu)
                    samples[peer].append(pair.measure('rxe0', program))
            middle = {key: statistics.median(values)
                      for key, values in samples.items()}
            ours = middle.pop('hca')
            yield name, 'MB/s' if more else 'us', ours, middle
        pair.close()
    except BaseException:
        pair.fabric.abandon()
        raise
