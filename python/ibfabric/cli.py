# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of scripts/ibfabric: a function a command."""

import argparse
import os
import sys

from . import Failure, generate, graph, topology

GENERATE_EPILOG = """\
examples:
  fat-tree 648                       54 switches of 36 ports, two levels
  fat-tree 11664 --levels 3          1,620 switches of 36 ports
  fat-tree 64 --radix 24 --down 16   two nodes for each uplink
  torus 4x4x4 --per-switch 2
  dragonfly --group 4 --global 2 --per-switch 2
  ring 6
  switch 8
"""


# ---- generate --------------------------------------------------------------

def _sizes(text):
    try:
        return [int(part) for part in text.lower().split('x')]
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text}: not like 4x4x4') from None


def add_generate(commands):
    parser = commands.add_parser(
        'generate', help='make a topology file of a usual shape',
        epilog=GENERATE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    shapes = parser.add_subparsers(dest='shape', required=True, metavar='SHAPE')
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('-o', '--output', metavar='FILE',
                        help='where to write it (default: standard output)')
    common.add_argument('--guid-base', type=lambda text: int(text, 0),
                        default=generate.GUID_BASE, metavar='GUID',
                        help='GUIDs count from here')
    radix = {'type': int, 'metavar': 'N', 'help': 'ports of each switch'}

    def shape(name, text):
        made = shapes.add_parser(name, help=text, parents=[common])
        return made

    tree = shape('fat-tree', 'fat tree of two or three levels')
    tree.add_argument('nodes', type=int, nargs='?',
                      help='default: as many as it can have')
    tree.add_argument('--radix', default=36, **radix)
    tree.add_argument('--levels', type=int, choices=(2, 3), default=2)
    tree.add_argument('--down', type=int, metavar='N', help='ports of a leaf '
                      'that are for nodes (default: half)')
    tree.set_defaults(shape_arguments=('nodes', 'radix', 'levels', 'down'),
                      builder=generate.fat_tree)

    torus = shape('torus', 'torus of any number of dimensions')
    torus.add_argument('sizes', type=_sizes, help='4x4x4')
    ring = shape('ring', 'ring of switches')
    ring.add_argument('switches', type=int)
    for made, first, builder in ((torus, 'sizes', generate.torus),
                                 (ring, 'switches', generate.ring)):
        made.add_argument('--per-switch', type=int, default=1, metavar='N',
                          help='nodes at each switch (default: 1)')
        made.add_argument('--links', type=int, default=1, metavar='N',
                          help='cables between neighbours (default: 1)')
        made.add_argument('--radix', **radix)
        made.set_defaults(shape_arguments=(first, 'per_switch', 'links',
                                           'radix'), builder=builder)

    fly = shape('dragonfly', 'groups of switches, all joined to all')
    fly.add_argument('--per-switch', type=int, default=2, metavar='N',
                     help='nodes at each switch (default: 2)')
    fly.add_argument('--group', type=int, default=4, metavar='N',
                     help='switches in a group (default: 4)')
    fly.add_argument('--global', dest='global_links', type=int, default=2,
                     metavar='N', help='cables of each switch to other groups '
                     '(default: 2)')
    fly.add_argument('--groups', type=int, metavar='N',
                     help='default: as many as it can have')
    fly.add_argument('--radix', **radix)
    fly.set_defaults(shape_arguments=('per_switch', 'group', 'global_links',
                                      'groups', 'radix'),
                     builder=generate.dragonfly)

    one = shape('switch', 'one switch')
    one.add_argument('nodes', type=int)
    one.add_argument('--radix', **radix)
    one.set_defaults(shape_arguments=('nodes', 'radix'),
                     builder=generate.one_switch)
    parser.set_defaults(run=run_generate)


def run_generate(args):
    build = generate.Builder(args.guid_base)
    args.builder(build, **{name: getattr(args, name)
                           for name in args.shape_arguments})
    made = build.topology()
    options = ' '.join(f'{name.replace("_", "-")}={getattr(args, name)}'
                       for name in args.shape_arguments
                       if getattr(args, name) is not None)
    heading = (f'{args.shape} of scripts/ibfabric: {options}\n'
               f'{len(made.switches())} switches, {len(made.cas())} nodes')
    if args.output:
        with open(args.output, 'w', encoding='utf-8') as file:
            topology.write(made, file, heading)
    else:
        topology.write(made, sys.stdout, heading)
    return 0


# ---- graph -----------------------------------------------------------------

def add_graph(commands):
    parser = commands.add_parser(
        'graph', help='draw a topology file, or a fabric that is up')
    parser.add_argument('what', metavar='FILE|NAME')
    parser.add_argument('-o', '--output', required=True, metavar='PICTURE',
                        help='ends in .svg, .png, .pdf or .dot')
    parser.add_argument('--title')
    parser.set_defaults(run=run_graph)


def run_graph(args):
    found = topology.read(args.what)
    look = graph.Look(title=args.title or os.path.basename(args.what))
    graph.draw(found, args.output, look)
    return 0


# ---- all -------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        self.exit(2, f'error: {message} ({self.prog} --help)\n')


def parser():
    made = Parser(
        prog='scripts/ibfabric', description='InfiniBand fabrics from a '
        'topology file, as ibnetdiscover prints it and ibsim reads it.')
    commands = made.add_subparsers(dest='command', required=True,
                                   metavar='COMMAND')
    for add in (add_generate, add_graph):
        add(commands)
    return made


def main(args):
    args = parser().parse_args(args)
    try:
        return args.run(args)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (Failure, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
