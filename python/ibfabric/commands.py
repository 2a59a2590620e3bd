# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on a fabric that is up: a function a command."""

import os
import shutil
import time

from ibtest import paths
from ibtest.agent import Agent, AgentError
from ibtest.shell import interactive, one_command

from . import Failure, state, top
from .core import IBSIM, Core
from .live import Live, vls_of, vm_port, writable


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
        print(f'  {len(t.switches())} switches, {len(t.cas())} nodes, '
              f'{len(list(t.cables()))} cables; {len(live.vms)} of the nodes '
              'are VMs')
        if Core.NAME in processes:
            print(f'  cables: {top.states(live.cables())}')
        print(f'  {"process":24} {"pid":>8}  {"port":7} IPoIB')
        print(f'  {Core.NAME:24} {processes.get(Core.NAME, "gone"):>8}')
        for node, vm in live.vms.items():
            pid = processes.get(vm['name'])
            told = ' '.join(live.monitor(vm).get(vm_port(port), 'state')
                            for port in sorted(node.ports)) if pid else ''
            print(f'  {vm["name"]:24} {pid or "gone":>8}  {told:7} '
                  f'{vm["address"]}')


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
        live.link(*live.topology.find_port(args.port), args.what == 'up')
    return 0


ERRORS = {'drop': 1000000, 'corrupt': 1000000, 'delay': 1000000,
          'delay-us': 1000000, 'duplicate': 1000000,
          'seed': (1 << 32) - 1}


def parse_errors(texts):
    """drop=N corrupt=N delay=N delay-us=N duplicate=N seed=N class=C, or
    off."""
    wanted = {}
    for text in texts:
        name, equals, value = text.partition('=')
        if text == 'off' and len(texts) == 1:
            return {}
        if name == 'class' and equals:
            wanted['vls'] = vls_of(value)
        elif name not in ERRORS or not equals:
            raise Failure(f'"{text}" is none of off, class=, ' + ', '.join(
                f'{name}=' for name in ERRORS))
        elif not value.isdigit() or int(value) > ERRORS[name]:
            raise Failure(f'{name} is 0 to {ERRORS[name]}, not {value}')
        else:
            wanted[name] = int(value)
    return wanted


def error(args):
    wanted = parse_errors(args.settings)
    with Live(state.find(args.name)) as live:
        live.error(*live.topology.find_port(args.port), wanted)
    return 0


def capture(args):
    path = writable(args.file)
    with Live(state.find(args.name)) as live:
        node, port = live.topology.find_port(args.port)
        live.capture(node, port, path)
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
            live.capture(node, port, None)
    print(f'{path}: {os.path.getsize(path)} bytes')
    return 0


def show_top(args):
    with Live(state.find(args.name)) as live:
        top.show(live, args.interval, args.count, args.all)
    return 0


def host(args):
    """A program of this host whose libibumad talks to the fabric."""
    run = state.find(args.name)
    library = str(paths.UMAD)
    if not os.path.exists(library):
        raise Failure(f'no {library}: run scripts/build-qemu')
    program = shutil.which(args.words[0], path=os.environ.get(
        'PATH', '') + ':/usr/sbin:/sbin')
    if program is None:
        raise Failure(f'no program {args.words[0]} on this host')
    preload = os.environ.get('LD_PRELOAD')
    env = dict(os.environ, IBSIM_SOCKNAME=run.path(IBSIM),
               LD_PRELOAD=f'{library}:{preload}' if preload else library)
    env[state.MARK] = str(run.folder)
    # What an SM remembers is of this fabric and no other.
    os.makedirs(run.path('opensm'), exist_ok=True)
    for name in ('OSM_CACHE_DIR', 'OSM_TMP_DIR'):
        env.setdefault(name, run.path('opensm'))
    if args.at:
        env['SIM_HOST'] = run.topology().find(args.at).id
    os.execve(program, args.words, env)
