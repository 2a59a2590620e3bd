# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo: one switch, two guests, OpenSM; a report with times.

scripts/demo does the set-up and runs this.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time

from . import paths
from .agent import AgentError, CommandError
from .fabric import Fabric
from .machines import StartError
from .steps import STEPS, run_step

PORTS = 8
KEPT = paths.TOP / 'build/demo.json'


def lay_out(fabric, kernel):
    """The demo's fabric; returns its guests by name and the facts that the
    steps start from."""
    switch = fabric.add_switch('sw0', PORTS)
    guests = {name: fabric.add_guest(name, kernel, switch, port)
              for name, port in (('a', 1), ('b', 2))}
    return guests, {'ports': PORTS}


class Screen:
    """The report: a line a step, its output below it if wanted."""

    def __init__(self, verbose):
        self.verbose = verbose
        self.colour = sys.stdout.isatty()
        self.begun = time.monotonic()

    def step(self, title, line, wrong, seconds):
        word = 'ok' if wrong is None else 'FAIL'
        if self.colour:
            word = f'\033[{32 if wrong is None else 31}m{word:4}\033[0m'
        print(f'{word:4} {seconds:6.1f} s  {title:32}  {line or wrong or ""}'
              .rstrip(), flush=True)

    def output(self, guest, command, out, everything):
        lines = out.rstrip().splitlines()
        print(f'       {guest}# {command}')
        shown = lines if everything or len(lines) <= 24 else lines[:20]
        for line in shown:
            print(f'       | {line}')
        if len(shown) < len(lines):
            print(f'       | ... {len(lines) - len(shown)} more lines '
                  '(--verbose shows them)')
        sys.stdout.flush()


def timed(screen, title, function, line=''):
    begun = time.monotonic()
    try:
        said = function()
    except Exception as error:
        screen.step(title, '', str(error), time.monotonic() - begun)
        raise
    screen.step(title, said or line, None, time.monotonic() - begun)


def run_demo(fabric, kernel, screen):
    """Run all steps; the number of those that went wrong."""
    guests, facts = lay_out(fabric, kernel)
    switch = fabric.switches[0]
    timed(screen, 'the switch process starts', switch.start,
          f'{PORTS} ports, no guest in it')

    def boot():
        for guest in guests.values():
            guest.start()
        for guest in guests.values():
            guest.wait_booted()
        return 'Linux ' + guests['a'].sh('uname -r').strip()

    timed(screen, 'guests a and b boot', boot)
    timed(screen, 'drivers load', fabric.load_drivers, 'mlx4_core, mlx4_ib, '
          'ib_umad, ib_uverbs, ib_ipoib')
    failed = 0
    for step in STEPS:
        report = run_step(step, guests, facts)
        screen.step(f'{step.guest}: {step.title}', report.line, report.wrong,
                    report.seconds)
        if report.wrong is not None or (screen.verbose is not None and
                                        report.out):
            screen.output(step.guest, report.command, report.out,
                          report.wrong is not None or screen.verbose)
        failed += report.wrong is not None

    def quiet():
        problems = [f'{guest.name}: {line}' for guest in guests.values()
                    for line in guest.kernel_problems()]
        if problems:
            raise RuntimeError('; '.join(problems))

    try:
        timed(screen, 'the kernels have no complaint', quiet)
    except RuntimeError:
        failed += 1
    return failed


def kept():
    """The fabric that --keep has left running, or None."""
    try:
        state = json.loads(KEPT.read_text())
    except (OSError, ValueError):
        return None
    state['alive'] = []
    for name, pid in state['pids'].items():
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                if state['folder'].encode() in file.read():
                    state['alive'].append(name)
        except OSError:
            pass
    return state if state['alive'] else None


def keep(fabric):
    KEPT.write_text(json.dumps({
        'folder': fabric.folder,
        'pids': {machine.name: machine.pid()
                 for machine in fabric.machines()}}))
    fabric.keep()
    print(f"""
The fabric stays up:
    scripts/guest a                 a shell in guest a (likewise b)
    scripts/guest a ibstat          one command in it
    socat - UNIX:{fabric.folder}/sw0.monitor    the switch's QEMU monitor
    scripts/demo --stop             ends it""")


def stop():
    state = kept()
    if state is None:
        KEPT.unlink(missing_ok=True)
        print('no fabric is up')
        return 0
    for name in state['alive']:
        os.kill(state['pids'][name], signal.SIGKILL)
    shutil.rmtree(state['folder'], ignore_errors=True)
    KEPT.unlink(missing_ok=True)
    print('stopped: ' + ', '.join(state['alive']))
    return 0


def main():
    parser = argparse.ArgumentParser(prog='scripts/demo')
    parser.add_argument('--kernel', default=paths.KERNELS[0])
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--stop', action='store_true')
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument('--quiet', dest='verbose', action='store_const',
                       const=None, default=False)
    shown.add_argument('--verbose', action='store_true', default=False)
    args = parser.parse_args()
    if args.stop:
        return stop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    if args.keep and kept():
        print('error: a fabric is up already; scripts/demo --stop ends it',
              file=sys.stderr)
        return 1
    try:
        paths.image(args.kernel)
        paths.use_qemu_python()
        paths.qemu()
    except paths.Missing as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    screen = Screen(args.verbose)
    fabric = Fabric(detached=args.keep)
    kept_up = False
    try:
        failed = run_demo(fabric, args.kernel, screen)
        total = time.monotonic() - screen.begun
        print(f'{"PASS" if not failed else "FAIL"}: {len(STEPS)} steps in '
              f'{total:.0f} s, {failed} wrong')
        if args.keep:
            keep(fabric)
            kept_up = True
        else:
            fabric.close()
        return 1 if failed else 0
    except (StartError, AgentError, CommandError) as error:
        print(f'FAIL: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    finally:
        if not kept_up:
            fabric.abandon()


if __name__ == '__main__':
    sys.exit(main())
