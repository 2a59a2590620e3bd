# SPDX-License-Identifier: GPL-2.0-or-later
"""The same opensm and ibnetdiscover on ibsim and on ib-fabric, for
scripts/bench."""

import statistics
import time

from hosttools import Fabric, Ibsim, own_library
from test_tools import make

SIZES = (
    ('36', dict(nodes=36, radix=12)),
    ('648', dict(nodes=648, radix=36)),
    ('3456', dict(nodes=3456, radix=24, levels=3)),
    ('11664', dict(nodes=11664, radix=36, levels=3)),
)
FIGURES = (('ready', 's'), ('subnet-up', 's'), ('ibnetdiscover', 's'),
           ('server-cpu', 's'), ('memory', 'MB'))
OWN = ('subnet-up', 'ibnetdiscover')


class Own(Fabric):
    """ib-fabric with its own library, in place of libumad2sim.so."""

    library = staticmethod(own_library)


def measure(kind, path):
    """One fabric from its start on: seconds until programs may come, to
    SUBNET UP and of ibnetdiscover, and the server's memory in MB."""
    fabric = kind(path)
    begun = time.monotonic()
    with fabric:
        ready = time.monotonic() - begun
        process, log = fabric.opensm(wait=False)
        up = fabric.wait_text(log, 'SUBNET UP', 1200, process)
        begun = time.monotonic()
        fabric.run('ibnetdiscover', timeout=1200)
        found = time.monotonic() - begun
        return (ready, up, found, fabric.processor_time(),
                fabric.peak_memory())


def compare(rounds, largest):
    """(size, figure, unit, ours, theirs), medians; in turns.  A figure with
    "own-" is that of our library as well as our server."""
    for name, options in SIZES:
        if int(name) > largest:
            break
        with make('fat_tree', **options) as file:
            samples = {Fabric: [], Own: [], Ibsim: []}
            for _ in range(rounds if int(name) < 10000 else 1):
                for kind, values in samples.items():
                    values.append(measure(kind, file.name))
            for column, (figure, unit) in enumerate(FIGURES):
                ours, own, theirs = (
                    statistics.median(sample[column] for sample in values)
                    for values in samples.values())
                yield name, figure, unit, ours, theirs
                if figure in OWN:
                    yield name, f'own-{figure}', unit, own, theirs
