# SPDX-License-Identifier: GPL-2.0-or-later
"""A picture of a fabric: a description in graphviz' language, and a file.

A leaf switch and its nodes are one box, a table with a cell for each node, so
that hundreds of nodes need no more room than their names; what is between the
switches is drawn as lines.  Cables between the same two switches are one line.
"""

import math
import os
import shutil
import subprocess
from dataclasses import dataclass
from html import escape

from . import Failure

UNKNOWN, ACTIVE, COMING, DOWN = 'unknown', 'active', 'coming up', 'down'

LINE = {UNKNOWN: '#7d8ca3', ACTIVE: '#2e9e5b', COMING: '#e0a100',
        DOWN: '#d62f2f'}
CELL = {UNKNOWN: '#eef1f5', ACTIVE: '#d5f0de', COMING: '#ffedb8',
        DOWN: '#f8c4c0'}
SWITCH_FILL, WHITE = '#26415f', '#ffffff'
VM_EDGE = '#111111'
INK, PALE = '#1d2733', '#5b6878'
# Load as a share of what the link carries; the colours get darker, too.
LOADS = ((0.01, '#2e9e5b', 'under 1 %'), (0.25, '#2b7bba', '1 to 25 %'),
         (0.60, '#7a3fb8', '25 to 60 %'), (9e9, '#e0641b', 'over 60 %'))


@dataclass
class PortLook:
    """What is known of a port in a running fabric."""
    state: str = UNKNOWN
    load: float = None          # share of the link's rate, 0 to 1


@dataclass
class Look:
    """What to draw besides the topology: ports by (node id, port), the ids of
    the nodes that are VMs."""
    ports: dict = None
    vms: frozenset = frozenset()
    title: str = ''

    def cable(self, node, port, peer, peer_port):
        """Both ends of a cable as one PortLook: the worse of the two."""
        if not self.ports:
            return PortLook()
        ends = [self.ports.get((node.id, port), PortLook()),
                self.ports.get((peer.id, peer_port), PortLook())]
        known = [end.state for end in ends if end.state != UNKNOWN]
        state = UNKNOWN
        for worst in (DOWN, COMING, ACTIVE):
            if worst in known:
                state = worst
                break
        loads = [end.load for end in ends if end.load is not None]
        return PortLook(state, max(loads) if loads else None)


def colour_of(look):
    if look.state == ACTIVE and look.load is not None:
        return next(colour for limit, colour, _ in LOADS if look.load < limit)
    return LINE[look.state]


# ---- what is where ---------------------------------------------------------

def _home(ca):
    """The switch that a CA is drawn at."""
    for _, (peer, _) in sorted(ca.ports.items()):
        if peer.is_switch:
            return peer
    return None


def levels_of(topology):
    """Of each switch how many cables it is away from the nearest CA: 1 at
    least.  Switches that no CA can be reached from are at level 1."""
    level = {}
    ring = [switch for switch in topology.switches()
            if any(not peer.is_switch for peer, _ in switch.ports.values())]
    depth = 1
    while ring:
        for switch in ring:
            level[switch] = depth
        depth += 1
        ring = list({peer: None for switch in ring
                     for peer, _ in switch.ports.values()
                     if peer.is_switch and peer not in level})
    for switch in topology.switches():
        level.setdefault(switch, 1)
    return level


def _common_prefix(names):
    """What all names begin with, up to the last '-' or blank in it."""
    prefix = os.path.commonprefix(names)
    cut = max(prefix.rfind('-'), prefix.rfind(' '), prefix.rfind('_')) + 1
    return prefix[:cut]


class Drawing:
    """Collects the lines of the description."""

    def __init__(self, topology, look):
        self.topology = topology
        self.look = look
        self.level = levels_of(topology)
        self.top = max(self.level.values(), default=1)
        self.homes = {}
        for ca in topology.cas():
            self.homes.setdefault(_home(ca), []).append(ca)
        self.names = self.short_names()
        self.names_fit = len(topology.cas()) <= 4000
        self.ranked = self.top > 1 or len(topology.switches()) <= 2
        self.between = [cable for cable in topology.cables()
                        if not self.in_cell(*cable)]
        # Few cables: each is a line, from a cell with its port's number.
        self.details = len(self.between) <= 64
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def short_names(self):
        """Of each node what its box is called; where descriptions do not
        tell nodes apart, ids do."""
        said = {}
        for node in self.topology.nodes:
            said[node.name] = said.get(node.name, 0) + 1
        names = {node: node.name if said[node.name] == 1 else node.id
                 for node in self.topology.nodes}
        cas = self.topology.cas()
        self.prefix = ''
        if len(cas) > 64:
            self.prefix = _common_prefix([names[ca] for ca in cas])
            for ca in cas:
                names[ca] = names[ca][len(self.prefix):]
        return {node: name if len(name) <= 24 else name[:23] + '…'
                for node, name in names.items()}

    @staticmethod
    def in_cell(node, _port, peer, _peer_port):
        """Is it the cable of a CA at the switch that it is drawn at?"""
        return any(not ca.is_switch and _home(ca) is other
                   for ca, other in ((node, peer), (peer, node)))

    # ---- nodes

    def columns(self, count):
        """How many cells a row of a switch's nodes has."""
        leaves = max(1, sum(1 for switch in self.homes if switch))
        if not self.ranked:
            return max(1, round(math.sqrt(count)))
        for most, columns in ((3, 6), (8, 4), (16, 3)):
            if leaves <= most:
                return min(count, columns)
        return min(count, 2)

    def ca_cell(self, ca):
        looks = [self.look.cable(ca, port, *end)
                 for port, end in ca.ports.items()]
        state = next((state for state in (DOWN, COMING, ACTIVE, UNKNOWN)
                      if any(look.state == state for look in looks)), UNKNOWN)
        text = escape(self.names[ca])
        load = max((look.load for look in looks if look.load is not None),
                   default=0)
        fill, ink, pale = CELL[state], INK, PALE
        if state == ACTIVE and load >= LOADS[0][0]:
            fill, ink, pale = colour_of(PortLook(ACTIVE, load)), *2 * (WHITE,)
        frame = 'border="0"'
        if ca.id in self.look.vms:
            text = f'<b>{text}</b>'
            frame = f'border="2" color="{VM_EDGE}"'
        home = _home(ca)
        if self.details and home:
            ports = ' '.join(str(peer_port) for _, (peer, peer_port)
                             in sorted(ca.ports.items()) if peer is home)
            text = (f'<font point-size="7" color="{pale}">{ports}</font><br/>'
                    f'{text}')
        return (f'<td port="c{ca.index}" bgcolor="{fill}" {frame} '
                f'title="{escape(ca.name)} {ca.id}" href="#n{ca.index}">'
                f'<font color="{ink}">{text}</font></td>')

    def above(self, switch, peer):
        """Is a cable to the peer drawn at the top of a switch?"""
        mine, theirs = self.level[switch], self.level.get(peer, 0)
        if mine == theirs:
            return self.top > 1 or peer.index < switch.index
        return theirs > mine

    def port_cells(self, switch, above):
        """A row with the ports of the cables to other boxes."""
        cells = [f'<td port="p{port}" border="1" color="#c3ccd8">'
                 f'<font point-size="7" color="{PALE}">{port}</font></td>'
                 for port, (peer, peer_port) in sorted(switch.ports.items())
                 if not self.in_cell(switch, port, peer, peer_port)
                 and self.above(switch, peer) == above]
        return _row(cells, cellpadding=1, cellspacing=2) if cells else ''

    def switch(self, switch):
        cas = self.homes.get(switch, [])
        cells = self.details and self.ranked
        rows = [self.port_cells(switch, True) if cells else '']
        rows.append(f'<td port="s" border="0" bgcolor="{SWITCH_FILL}" '
                    'cellpadding="4" width="48" '
                    f'title="{escape(switch.name)} {switch.id}" '
                    f'href="#n{switch.index}"><font color="{WHITE}"><b>'
                    f'{escape(self.names[switch])}</b></font></td>')
        if cas and not self.names_fit:
            rows.append(f'<td border="0">{len(cas)} nodes</td>')
        elif cas:
            columns = self.columns(len(cas))
            rows.append(_row(*([self.ca_cell(ca) for ca in cas[i:i + columns]]
                               for i in range(0, len(cas), columns)),
                             cellpadding=3, cellspacing=2))
        if cells:
            rows.append(self.port_cells(switch, False))
        rows = ''.join(f'<tr>{row}</tr>' for row in rows if row)
        self.say(f'n{switch.index} [label=<<table border="1" color="#9aa7b8" '
                 'cellborder="0" cellspacing="2" cellpadding="0" '
                 f'bgcolor="{WHITE}">{rows}</table>>]')

    def lonely(self):
        """CAs that are at no switch."""
        for ca in self.homes.get(None, []):
            self.say(f'n{ca.index} [label=<<table border="1" '
                     'color="#9aa7b8" cellborder="0" cellspacing="2" '
                     f'cellpadding="3"><tr>{self.ca_cell(ca)}</tr></table>>]')

    # ---- cables

    def end(self, node, port, other):
        """Where a line ends at a node."""
        if not node.is_switch:
            home = _home(node)
            if home is None or not self.names_fit:
                return f'n{(home or node).index}'
            return f'n{home.index}:c{node.index}'
        if not self.ranked:
            return f'n{node.index}'
        side = 'n' if self.above(node, other) else 's'
        if self.details:
            return f'n{node.index}:p{port}:{side}'
        return f'n{node.index}:s' + (':n' if side == 'n' else '')

    def drawn(self):
        """(upper end, lower end, colour, state) -> its cables, the upper
        node first."""
        found = {}
        for node, port, peer, peer_port in self.between:
            look = self.look.cable(node, port, peer, peer_port)
            if self.level.get(peer, 0) > self.level.get(node, 0):
                node, port, peer, peer_port = peer, peer_port, node, port
            key = (self.end(node, port, peer), self.end(peer, peer_port, node),
                   colour_of(look), look.state)
            found.setdefault(key, []).append((node, port, peer, peer_port))
        return found

    def edges(self):
        found = self.drawn()
        many = len(found) > 150
        # What is unusual goes on top: drawn last.
        order = (UNKNOWN, ACTIVE, COMING, DOWN)
        for (upper, lower, colour, state), cables in sorted(
                found.items(), key=lambda item: order.index(item[0][3])):
            count = len(cables)
            node, port, peer, peer_port = cables[0]
            width = min(6, (0.7 if many else 1.4) * (1 + math.log2(count) / 2))
            say = [f'tooltip="{escape(node.name)}:{port} - '
                   f'{escape(peer.name)}:{peer_port}, {state}"']
            if state == DOWN:
                say.append('style=dashed')
                width = max(width, 1.5)
            if many and state in (UNKNOWN, ACTIVE):
                colour += 'a0'
            say += [f'color="{colour}"', f'penwidth={width:.2f}']
            if count > 1 and not many:
                say.append(f'label=" ×{count}"')
            elif self.details and not self.ranked:
                say += [f'taillabel="{port}"', f'headlabel="{peer_port}"']
            if ':c' in upper + lower:
                say.append('constraint=false')
            self.say(f'{upper} -- {lower} [{" ".join(say)}]')

    # ---- all of it

    def key(self):
        """Pairs of a colour and what it means, for the legend."""
        if self.look.ports:
            known = {self.look.cable(*cable).state
                     for cable in self.topology.cables()}
            if any(look.load is not None for look in self.look.ports.values()):
                for i, (_, colour, text) in enumerate(LOADS):
                    yield colour, ('Active, load ' if i == 0 else '') + text
            else:
                yield LINE[ACTIVE], 'Active'
            yield LINE[COMING], 'Init or Armed'
            yield LINE[DOWN], 'Down'
            if UNKNOWN in known:
                yield LINE[UNKNOWN], 'not known'
        if self.look.vms:
            yield VM_EDGE, 'frame: a VM'

    def legend(self):
        """The title, and below it what the colours mean."""
        def several(count, word, plural='s'):
            return f'{count} {word}{plural if count != 1 else ""}'

        t = self.topology
        facts = ', '.join((several(len(t.switches()), 'switch', 'es'),
                           several(len(t.cas()), 'node'),
                           several(sum(1 for _ in t.cables()), 'cable')))
        if self.prefix and self.names_fit:
            facts += f'; nodes are named “{escape(self.prefix)}…”'
        if self.details:
            facts += '; small numbers are ports'
        key = ' &nbsp; '.join(
            f'<font color="{colour}">■</font> {text}'
            for colour, text in self.key())
        title = escape(self.look.title or 'fabric')
        return ('<<table border="0" cellborder="0" cellspacing="3"><tr><td>'
                f'<font point-size="18"><b>{title}</b></font></td></tr>'
                f'<tr><td><font color="{PALE}">{facts}</font></td></tr>'
                f'{f"<tr><td>{key}</td></tr>" if key else ""}</table>>')

    def text(self):
        font = 'fontname="Helvetica,Arial,sans-serif"'
        size = 11 if len(self.topology.nodes) < 64 else 9
        self.say('graph fabric {')
        self.say(f'graph [{font} fontsize=12 labelloc=t label={self.legend()} '
                 'bgcolor=white pad=0.3 nodesep=0.15 '
                 f'ranksep={self.rank_distance():.2f} splines=line '
                 'outputorder=edgesfirst forcelabels=true]')
        self.say(f'node [shape=plain {font} fontsize={size} '
                 f'fontcolor="{INK}"]')
        self.say(f'edge [{font} fontsize={size - 1} fontcolor="{PALE}" '
                 'labelfontsize=8]')
        if not self.ranked:
            self.say('graph [overlap=prism overlap_scaling=-3 sep="+18" '
                     'start=1]')
            self.say('edge [len=1.8]')
        for switch in self.topology.switches():
            self.switch(switch)
        self.lonely()
        if self.ranked:
            self.ranks()
        self.edges()
        self.say('}')
        return '\n'.join(self.lines) + '\n'

    def rank_distance(self):
        """Inches between the levels: more when they are wide."""
        widest = max((sum(1 for level in self.level.values() if level == n)
                      for n in range(1, self.top + 1)), default=1)
        return min(6, 0.7 + 0.08 * widest)

    def ranks(self):
        if self.top == 1:
            return
        for n in range(self.top, 0, -1):
            row = [switch for switch in self.topology.switches()
                   if self.level[switch] == n]
            self.say('{ rank=same; ' + '; '.join(
                f'n{switch.index}' for switch in row) + ' }')
            # Beside each other in the order of the file.
            for left, right in zip(row, row[1:]):
                self.say(f'n{left.index} -- n{right.index} '
                         '[style=invis weight=50]')

    def program(self):
        """Which of graphviz' programs lays it out."""
        if self.ranked:
            return 'dot'
        return 'neato' if len(self.topology.switches()) <= 150 else 'sfdp'


def _row(*rows, **attributes):
    """A cell with a table in it; each row is a list of cells."""
    said = ' '.join(f'{name}="{value}"' for name, value in attributes.items())
    return (f'<td><table border="0" cellborder="0" {said}>' +
            ''.join(f'<tr>{"".join(row)}</tr>' for row in rows) +
            '</table></td>')


def dot_text(topology, look=None):
    """The picture in graphviz' language."""
    return Drawing(topology, look or Look()).text()


def draw(topology, path, look=None, timeout=300):
    """Write the picture; the end of the file's name says what kind it is:
    svg, png, pdf, or dot for graphviz' own language."""
    kind = os.path.splitext(path)[1].lower().lstrip('.')
    if kind not in ('svg', 'png', 'pdf', 'dot'):
        raise Failure(f'{path}: a picture ends in .svg, .png, .pdf or .dot')
    drawing = Drawing(topology, look or Look())
    text = drawing.text()
    if kind == 'dot':
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return
    program = drawing.program()
    if not shutil.which(program):
        raise Failure(f'no {program}: install the package graphviz')
    try:
        dots = ['-Gdpi=96'] if kind == 'png' else []
        done = subprocess.run([program, f'-T{kind}', *dots, '-o', path],
                              input=text, text=True, check=False,
                              timeout=timeout, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        raise Failure(f'{program} has not drawn it in {timeout} s') from None
    if done.returncode != 0:
        raise Failure(f'{program} failed: '
                      f'{(done.stderr.strip() or "no reason given")[-300:]}')
