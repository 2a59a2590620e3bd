# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of a fabric that is up, as they run: the busiest ports first."""

import shutil
import sys
import time

from .live import capacity, rate

# Counters that tell of something wrong.
ERRORS = ('symbol-errors', 'link-error-recovery', 'link-downed', 'rcv-errors',
          'rcv-remote-physical-errors', 'rcv-switch-relay-errors',
          'xmit-discards', 'xmit-constraint-errors', 'rcv-constraint-errors',
          'local-link-integrity-errors', 'vl15-dropped')


def amount(value):
    """A number of bytes in four characters and a unit."""
    for unit in ('', 'k', 'M', 'G'):
        if value < 999.5:
            return f'{value:.0f} {unit}B' if value >= 9.95 or not unit \
                else f'{value:.1f} {unit}B'
        value /= 1000
    return f'{value:.1f} TB'


def errors(sample):
    return sum(sample.counters.get(name, 0) for name in ERRORS)


def rows(before, after, seconds):
    """A row a port: the busiest first, then those with errors, then the
    rest in the order of the topology."""
    found = []
    for (node, port), sample in after.items():
        then = before.get((node, port))
        sent, received = rate(then, sample, seconds)
        waited = (sample.counters.get('xmit-wait', 0) -
                  then.counters.get('xmit-wait', 0) if then else 0)
        peer, peer_port = node.ports[port]
        found.append({
            'port': f'{node.name}:{port}', 'peer': f'{peer.name}:{peer_port}',
            'state': sample.state, 'sent': sent, 'received': received,
            'load': max(sent, received) / capacity(node, port),
            'wait': waited, 'errors': errors(sample),
            'new': errors(sample) - (errors(then) if then else 0),
            'order': (node.index, port)})
    found.sort(key=lambda row: (-max(row['sent'], row['received']),
                                -row['new'], -row['errors'], row['order']))
    return found


HEADING = (f'{"port":24} {"to":24} {"state":7} {"sent/s":>8} '
           f'{"rcvd/s":>8} {"load":>5} {"wait":>7} {"errors":>8}')


def text(row):
    return (f'{row["port"][-24:]:24} {row["peer"][-24:]:24} {row["state"]:7} '
            f'{amount(row["sent"]):>8} {amount(row["received"]):>8} '
            f'{row["load"]:>5.0%} {row["wait"]:>7} {row["errors"]:>8}' +
            (f' +{row["new"]}' if row['new'] else ''))


def summary(name, after, found):
    states = {}
    for sample in after.values():
        states[sample.state] = states.get(sample.state, 0) + 1
    return (f'{name}  {time.strftime("%H:%M:%S")}  {len(after)} ports: ' +
            ', '.join(f'{count} {state}' for state, count in
                      sorted(states.items())) +
            f'; {amount(sum(row["sent"] for row in found))}/s sent')


def show(live, interval, count, all_ports, out=sys.stdout):
    """Until Ctrl-C, or count times."""
    screen = out.isatty()
    before, begun = live.sample(), time.monotonic()
    while count is None or count > 0:
        time.sleep(interval)
        after, now = live.sample(), time.monotonic()
        found = rows(before, after, now - begun)
        lines = [summary(live.run.name, after, found), HEADING]
        shown = found
        if not all_ports:
            room = shutil.get_terminal_size().lines - 4 if screen else 20
            shown = found[:max(1, room)]
        lines += [text(row) for row in shown]
        if len(shown) < len(found):
            lines.append(f'... and {len(found) - len(shown)} ports more '
                         '(--all shows them)')
        if screen:
            out.write('\033[H\033[J')
        print('\n'.join(lines), file=out, flush=True)
        before, begun = after, now
        if count is not None:
            count -= 1
