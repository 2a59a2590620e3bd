# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of scripts/ibfabric: a function a command."""

import argparse
import os
import sys

from ibtest import paths

from . import (Failure, certs, commands as running, export, generate, graph,
               state, topology, up, vms)
from .live import Live

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
    common.add_argument('--rate', help='of all cables: 4xEDR '
                        '(default: not said, which is 4xQDR)')
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
    build = generate.Builder(args.guid_base, args.rate)
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
    if os.path.exists(args.what):
        found = topology.read(args.what)
        look = graph.Look(title=args.title or os.path.basename(args.what))
    else:
        run = state.Run(args.what)
        if not run.processes():
            raise Failure(f'{args.what}: neither a file nor a fabric that is '
                          'up')
        with Live(run) as live:
            found, look = live.topology, live.look()
        look.title = args.title or f'fabric {run.name}'
    graph.draw(found, args.output, look)
    return 0


# ---- up and down -----------------------------------------------------------

UP_EPILOG = """\
A VM is named by its node's id, description, or the first word of that:
  up FILE --vm node-01 --vm Hca2
  up FILE --vms lab.yaml
where lab.yaml is
  vms:
    node-01:
    node-02: {kernel: "6.12", memory: 1024, cpus: 2, hca: "rate=link"}
"""


def add_up(commands):
    parser = commands.add_parser(
        'up', help='bring a fabric up', epilog=UP_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file', metavar='FILE', help='a topology')
    parser.add_argument('--name', '-n', default='fabric')
    parser.add_argument('--vm', action='append', default=[],
                        metavar='NODE', help='a node that is a VM')
    parser.add_argument('--vms', metavar='YAML', help='a file of VMs')
    parser.add_argument('--kernel', default=None, help='of the VMs that say '
                        'nothing else: 6.1 (default) or 6.12')
    parser.add_argument('--wait', action='store_true',
                        help='stay until Ctrl-C, which takes it down')
    parser.set_defaults(run=run_up)


def choose_vms(args, found):
    """The Vms of --vm, --vms and --kernel."""
    settings = []
    if args.vms:
        settings = vms.from_yaml(args.vms, vms.load_yaml(args.vms))
    common = {'kernel': args.kernel} if args.kernel else {}
    return vms.choose(found, args.vm, settings, common)


def run_up(args):
    found = topology.read(args.file)
    chosen = choose_vms(args, found)
    run = state.Run(args.name)
    screen = up.Screen()
    up.up(run, found, chosen, args.file, screen)
    if args.wait:
        up.wait(run, screen)
        return 0
    screen.line(f'fabric "{run.name}" is up')
    if chosen:
        print(f'    scripts/ibfabric exec {chosen[0].name} ibstat')
    print(f'    scripts/ibfabric status\n    scripts/ibfabric down {run.name}')
    return 0


def add_down(commands):
    parser = commands.add_parser('down', help='end a fabric')
    parser.add_argument('name', nargs='?')
    parser.set_defaults(run=run_down)


def run_down(args):
    run = state.Run(args.name) if args.name else state.find()
    if not run.folder.exists() and not run.processes():
        raise Failure(f'no fabric "{run.name}" is up')
    with run.locked():
        ended = run.clear()
    print(f'fabric "{run.name}" is down' +
          (f': ended {", ".join(ended)}' if ended else
           ': it had crashed, and left nothing but files'))
    return 0


# ---- export ----------------------------------------------------------------

EXPORT_EPILOG = """\
A group is a host: a process with its nodes, and its VMs.
  export net -o lab --vm Hca1 --vm Hca2 \\
      --group a@192.0.2.1=Switch1,Hca1 --group b@192.0.2.2=Switch2,Hca2 \\
      --tls /etc/pki/ibfabric --make-certs certs
Copy what certs has (but ca-key.pem) to /etc/pki/ibfabric of both hosts.
"""


def add_export(commands):
    parser = commands.add_parser(
        'export', help='command lines and libvirt domains for several hosts',
        epilog=EXPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file', metavar='FILE', help='a topology')
    parser.add_argument('-o', '--output', required=True, metavar='FOLDER')
    parser.add_argument('--vm', action='append', default=[],
                        metavar='NODE')
    parser.add_argument('--vms', metavar='YAML')
    parser.add_argument('--kernel')
    parser.add_argument('--group', action='append', default=[],
                        metavar='NAME@HOST=NODE,...', help='may be repeated; '
                        'without one all is on this host')
    parser.add_argument('--port-base', type=int, default=18500, metavar='N',
                        help='TCP ports of cables count from here')
    parser.add_argument('--tls', metavar='FOLDER', help='cables speak TLS; '
                        'where certificates are on the hosts')
    parser.add_argument('--make-certs', metavar='FOLDER',
                        help='make certificates here')
    parser.add_argument('--emulator', metavar='PATH',
                        help='QEMU on the hosts')
    parser.add_argument('--there', metavar='FOLDER', help='where the hosts '
                        'will have FOLDER (default: the same path)')
    parser.set_defaults(run=run_export)


def run_export(args):
    found = topology.read(args.file)
    chosen = choose_vms(args, found)
    tls = os.path.abspath(args.tls) if args.tls else None
    processes = export.plan(found, chosen, args.group, args.port_base, tls)
    images = {}
    for vm in chosen:
        try:
            images[vm.kernel] = paths.image(vm.kernel)
        except paths.Missing:
            print(f'note: no guest image with kernel {vm.kernel}: {vm.name} '
                  'gets no disk', file=sys.stderr)
    if args.make_certs:
        certs.make(args.make_certs, [process.group.host
                                     for process in processes])
    export.write(processes, args.output, args.emulator or str(paths.QEMU),
                 images, args.there)
    with open(os.path.join(args.output, 'README'), encoding='utf-8') as file:
        print(file.read(), end='')
    return 0


# ---- on a fabric that is up ------------------------------------------------

def add_running(commands):
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('--name', '-n', help='of the fabric; may be left out '
                        'if only one is up')

    def command(name, text, function):
        made = commands.add_parser(name, help=text, parents=[common])
        made.set_defaults(run=function)
        return made

    command('status', 'what is up', running.status)
    made = command('exec', 'run a command in a VM', running.execute)
    made.add_argument('node', metavar='NODE')
    made.add_argument('words', metavar='CMD', nargs=argparse.REMAINDER)
    made = command('console', 'a shell in a VM', running.console)
    made.add_argument('node', metavar='NODE')
    made = command('link', 'pull a cable out, or plug it in', running.link)
    made.add_argument('what', choices=('down', 'up'))
    made.add_argument('port', metavar='NODE:PORT')
    made = command('error', 'make a cable bad: of a million packets that the '
                   'port receives so many are lost, corrupt, late or '
                   'doubled',
                   running.error)
    made.add_argument('port', metavar='NODE:PORT')
    made.add_argument('settings', metavar='SETTING', nargs='+',
                      help='off, drop=N, corrupt=N, delay=N, delay-us=N, '
                      'duplicate=N, '
                      'class=all|data|vlN, seed=N')
    made = command('capture', 'write what passes a port for Wireshark',
                   running.capture)
    made.add_argument('port', metavar='NODE:PORT')
    made.add_argument('file', metavar='FILE')
    made.add_argument('--seconds', type=float, metavar='S',
                      help='so long (default: until Ctrl-C)')
    made = command('top', 'counters as they run', running.show_top)
    made.add_argument('--interval', type=float, default=1.0, metavar='S')
    made.add_argument('--count', type=int, metavar='N',
                      help='so many times (default: until Ctrl-C)')
    made.add_argument('--all', action='store_true', help='every port')
    made = command('host', 'run a program of this host on the fabric '
                   '(opensm, ibnetdiscover ...)', running.host)
    made.add_argument('--at', metavar='NODE', help='where it is attached '
                      '(default: the first node of the file)')
    made.add_argument('words', metavar='CMD', nargs=argparse.REMAINDER)


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
    for add in (add_generate, add_graph, add_up, add_down,
                add_running, add_export):
        add(commands)
    return made


def main(args):
    args = parser().parse_args(args)
    if getattr(args, 'words', None) == []:
        print(f'error: {args.command} what?', file=sys.stderr)
        return 2
    try:
        return args.run(args)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (Failure, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
