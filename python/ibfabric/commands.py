# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on a fabric that is up: a function a command."""

import os
import shutil
import time

from ibtest.agent import Agent, AgentError
from ibtest.shell import interactive, one_command

from . import Failure, state, top
from .live import Live

UMAD2SIM = ('/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so',
            '/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so',
            '/usr/lib/umad2sim/libumad2sim.so')


def status(args):
    runs = [state.Run(args.name)] if args.name else state.all_runs()
    shown = False
    for run in runs:
        processes = run.processes()
        if not processes and not run.folder.exists():
            continue
        shown = True
        if not processes:
            print(f'fabric "{run.name}" has crashed; "scripts/ibfabric down '
                  f'{run.name}" removes what it left')
            continue
        _status_of(run, processes)
    if not shown:
        print('no fabric is up' if not args.name else
              f'no fabric "{args.name}" is up')
    return 0 if shown else 1


def _status_of(run, processes):
    known = run.load()
    minutes = (time.time() - known.get('since', time.time())) / 60
    told = f'up for {minutes:.0f} min'
    if known.get('status') == 'booting':
        told = 'coming up' if run.busy() else 'crashed while it came up'
    print(f'fabric "{run.name}": {told}, {known.get("source", "?")}')
    with Live(run) as live:
        t = live.topology
        cables = list(t.cables())
        print(f'  {len(t.switches())} switches, {len(t.cas())} nodes, '
              f'{len(cables)} cables; {len(live.vms)} of the nodes are VMs')
        if 'fabric' in processes:
            look = live.look(0)
            states = {}
            for cable in cables:
                name = look.cable(*cable).state
                states[name] = states.get(name, 0) + 1
            print('  cables: ' + ', '.join(
                f'{count} {name}' for name, count in sorted(states.items())))
        print(f'  {"process":24} {"pid":>8}  {"port":7} IPoIB')
        print(f'  {"fabric":24} {processes.get("fabric", "gone"):>8}')
        addresses = {vm['name']: vm['address'] for vm in known['vms']}
        for (node, port), name in live.vms.items():
            pid = processes.get(name)
            told = live.get(node, port, 'state') if pid else ''
            print(f'  {name:24} {pid or "gone":>8}  {told:7} '
                  f'{addresses[name]}')


def _agent(run, text):
    """(Agent, process' name) of a VM by its name or its node's."""
    processes = run.processes()
    known = run.load().get('vms', [])
    name = next((vm['name'] for vm in known if vm['name'] == text), None)
    if name is None:
        node = run.topology().find(text)
        name = next((vm['name'] for vm in known if vm['node'] == node.id),
                    None)
    if name is None:
        raise Failure(f'{text} is no VM; VMs are: ' + (', '.join(
            vm['name'] for vm in known) or 'none'))
    if name not in processes:
        raise Failure(f'the VM {name} is not running any more')
    try:
        return Agent(run.path(f'{name}.agent')), name
    except OSError as error:
        raise Failure(f'{name}: {error.strerror}') from None


def execute(args):
    run = state.find(args.name)
    agent, name = _agent(run, args.node)
    try:
        return one_command(agent, args.words)
    except AgentError as error:
        raise Failure(f'{name}: {error}') from None


def console(args):
    run = state.find(args.name)
    agent, name = _agent(run, args.node)
    return interactive(agent, run.path(f'{name}.shell'))


def link(args):
    with Live(state.find(args.name)) as live:
        node, port = live.topology.find_port(args.port)
        live.set(node, port, 'link', args.what == 'up')
    return 0


ERRORS = {'drop': 'inject-drop', 'corrupt': 'inject-corrupt',
          'delay': 'inject-delay', 'delay-us': 'inject-delay-us',
          'class': 'inject-class', 'seed': 'inject-seed'}


def error(args):
    """drop=N corrupt=N delay=N delay-us=N class=C seed=N, or off."""
    wanted = {}
    for text in args.settings:
        name, equals, value = text.partition('=')
        if text == 'off':
            wanted.update({name: 0 for name in ('drop', 'corrupt', 'delay')})
        elif name not in ERRORS or not equals:
            raise Failure(f'"{text}" is none of off, ' + ', '.join(
                f'{name}=' for name in ERRORS))
        elif name == 'class':
            wanted[name] = value
        elif value.isdigit() and int(value) < 1 << 32:
            wanted[name] = int(value)
        else:
            raise Failure(f'{text}: not a number')
    with Live(state.find(args.name)) as live:
        node, port = live.topology.find_port(args.port)
        # How late and which packets count from the moment they are late.
        for name in sorted(wanted, key=lambda name: name in (
                'drop', 'corrupt', 'delay')):
            live.set(node, port, ERRORS[name], wanted[name])
        shown = {name: live.get(node, port, full)
                 for name, full in ERRORS.items()}
    print(f'{node.name}:{port}  ' + ' '.join(
        f'{name}={value}' for name, value in shown.items()))
    return 0


def capture(args):
    path = os.path.abspath(args.file)
    if not os.path.isdir(os.path.dirname(path)):
        raise Failure(f'{path}: no such folder')
    with Live(state.find(args.name)) as live:
        node, port = live.topology.find_port(args.port)
        live.set(node, port, 'pcap', path)
        try:
            if args.seconds is None:
                print(f'{node.name}:{port} into {path}; Ctrl-C ends it',
                      flush=True)
                while True:
                    time.sleep(3600)
            time.sleep(args.seconds)
        except KeyboardInterrupt:
            print()
        finally:
            live.set(node, port, 'pcap', '')
    print(f'{path}: {os.path.getsize(path)} bytes')
    return 0


def show_top(args):
    with Live(state.find(args.name)) as live:
        top.show(live, args.interval, args.count, args.all)
    return 0


def host(args):
    """A program of this host whose libibumad talks to the fabric."""
    run = state.find(args.name)
    library = next((path for path in UMAD2SIM if os.path.exists(path)), None)
    if library is None:
        raise Failure('no libumad2sim.so: install the package libumad2sim0')
    program = shutil.which(args.words[0], path=os.environ.get(
        'PATH', '') + ':/usr/sbin:/sbin')
    if program is None:
        raise Failure(f'no program {args.words[0]} on this host')
    preload = os.environ.get('LD_PRELOAD')
    env = dict(os.environ, IBSIM_SOCKNAME=run.path('ibsim'),
               LD_PRELOAD=f'{library}:{preload}' if preload else library)
    env[state.MARK] = str(run.folder)
    if args.at:
        env['SIM_HOST'] = run.topology().find(args.at).id
    os.execve(program, args.words, env)
