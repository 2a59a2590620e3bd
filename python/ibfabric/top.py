# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of a fabric that is up, as they run: the busiest cables first."""

import shutil
import sys
import time

from .live import load, rates


def amount(value):
    """A number of bytes in four characters and a unit."""
    for unit in ('', 'k', 'M', 'G'):
        if value < 999.5:
            return f'{value:.0f} {unit}B' if value >= 9.95 or not unit \
                else f'{value:.1f} {unit}B'
        value /= 1000
    return f'{value:.1f} TB'


def rows(before, after, seconds):
    """A row a cable: the busiest first, then those with new errors, then
    the rest in the order of the topology."""
    then = {cable.key: cable for cable in before}
    found = []
    for place, cable in enumerate(after):
        old = then.get(cable.key, cable)
        sent, received = rates(old, cable, seconds)
        found.append({
            'port': f'{cable.node.name}:{cable.port}',
            'peer': f'{cable.peer.name}:{cable.peer_port}',
            'state': cable.state, 'sent': sent, 'received': received,
            'load': load(old, cable, seconds), 'errors': cable.errors,
            'new': cable.errors - old.errors, 'place': place})
    found.sort(key=lambda row: (-max(row['sent'], row['received']),
                                -row['new'], -row['errors'], row['place']))
    return found


HEADING = (f'{"port":24} {"to":24} {"state":7} {"sent/s":>8} '
           f'{"rcvd/s":>8} {"load":>5} {"errors":>8}')


def text(row):
    return (f'{row["port"][-24:]:24} {row["peer"][-24:]:24} {row["state"]:7} '
            f'{amount(row["sent"]):>8} {amount(row["received"]):>8} '
            f'{row["load"]:>5.0%} {row["errors"]:>8}' +
            (f' +{row["new"]}' if row['new'] else ''))


def states(cables):
    """"3 active, 1 down" of cables."""
    count = {}
    for cable in cables:
        count[cable.state] = count.get(cable.state, 0) + 1
    return ', '.join(f'{number} {state}'
                     for state, number in sorted(count.items()))


def show(live, interval, count, all_cables, out=sys.stdout):
    """Until Ctrl-C, or count times."""
    screen = out.isatty()
    before, begun = live.cables(), time.monotonic()
    while count is None or count > 0:
        time.sleep(interval)
        after, now = live.cables(), time.monotonic()
        found = rows(before, after, now - begun)
        total = amount(sum(row['sent'] + row['received'] for row in found))
        lines = [f'{live.run.name}  {time.strftime("%H:%M:%S")}  '
                 f'{len(after)} cables: {states(after)}; {total}/s over all',
                 HEADING]
        shown = found
        if not all_cables:
            room = shutil.get_terminal_size().lines - 4 if screen else 20
            shown = found[:max(1, room)]
        lines += [text(row) for row in shown]
        if len(shown) < len(found):
            lines.append(f'... and {len(found) - len(shown)} more '
                         '(--all shows them)')
        if screen:
            out.write('\033[H\033[J')
        print('\n'.join(lines), file=out, flush=True)
        before, begun = after, now
        if count is not None:
            count -= 1
