# SPDX-License-Identifier: GPL-2.0-or-later
"""Bringing a fabric up, with progress, and taking all of it down again."""

import concurrent.futures
import contextlib
import os
import shutil
import signal
import sys
import time

from ibtest import paths
from ibtest.agent import AgentError, CommandError
from ibtest.machines import Guest, StartError

from . import Failure, layout, topology
from .core import Core


class Screen:
    """Progress: a line a thing that is done, and on a terminal one below them
    that counts the seconds of what is under way."""

    def __init__(self, out=sys.stdout):
        self.out = out
        self.live = out.isatty()
        self.begun = time.monotonic()
        self.shown = False

    def _clear(self):
        if self.shown:
            self.out.write('\r\033[K')
            self.shown = False

    def line(self, text):
        self._clear()
        print(f'{time.monotonic() - self.begun:6.1f} s  {text}', file=self.out,
              flush=True)

    def working(self, text):
        if self.live:
            self._clear()
            self.out.write(f'{time.monotonic() - self.begun:6.1f} s  {text} '
                           '...')
            self.out.flush()
            self.shown = True


def check(vms):
    """Fail before anything is started if something has to be built first."""
    try:
        paths.use_qemu_python()
        paths.qemu()
        for vm in vms:
            paths.image(vm.kernel)
    except paths.Missing as error:
        raise Failure(str(error)) from None


@contextlib.contextmanager
def undisturbed():
    """Signals that come meanwhile are dealt with afterwards: QEMU's Python
    waits for a machine that it is just starting to end by itself."""
    came = []
    old = {number: signal.signal(number, lambda number, _: came.append(number))
           for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), came[0])
        time.sleep(0)           # its handler runs here at the latest


def hosts(vms):
    return ''.join(f'{vm.address} {vm.name}\n' for vm in vms)


def settle(guest, vm, vms):
    """In a booted guest: drivers, names, an address for IPoIB."""
    guest.wait_booted(300)
    guest.load_drivers(300)
    guest.agent.put('/etc/hosts', ('127.0.0.1 localhost\n::1 localhost\n' +
                                   hosts(vms)).encode())
    guest.sh(f'ip address add {vm.address}/16 dev {vm.interface}; '
             f'ip link set {vm.interface} up')
    return guest.sh('uname -r').strip()


class Start:
    """One "up": everything that it starts ends with it, unless it gets to
    done()."""

    def __init__(self, run, found, vms, source, screen):
        self.run = run
        self.found = found
        self.vms = vms
        self.source = os.path.abspath(source)
        self.screen = screen
        self.machines = []

    def state(self, status):
        return {'status': status, 'source': self.source,
                'since': time.time(), 'qemu': paths.qemu(),
                'vms': [{'node': vm.node.id, 'name': vm.name,
                         'kernel': vm.kernel, 'address': vm.address}
                        for vm in self.vms]}

    def prepare(self):
        """Make its folder; what a crashed run left there goes first."""
        left = self.run.processes()
        if left and self.run.load().get('status') != 'booting':
            raise Failure(f'fabric "{self.run.name}" is up already; '
                          f'"scripts/ibfabric down {self.run.name}" ends it')
        if self.run.folder.exists():
            gone = self.run.clear(patience=0)
            self.screen.line('a run of this name had crashed: ' + (
                f'ended {", ".join(gone)}' if gone else
                'removed what it left'))
        self.run.folder.mkdir(mode=0o700)
        self.run.save(self.state('booting'))
        with open(self.run.path('topology'), 'w', encoding='utf-8',
                  errors='surrogateescape') as file:
            topology.write(self.found, file)

    def start(self):
        core = Core(self.source, self.vms, str(self.run.folder))
        self.machines.append(core)
        self.screen.working('starting the switches')
        with undisturbed():
            core.start()
        self.screen.line(f'{len(self.found.switches())} switches, '
                         f'{len(self.found.cas())} nodes, '
                         f'{sum(1 for _ in self.found.cables())} cables')
        guests = []
        for vm in self.vms:
            guest = Guest(vm.name, str(self.run.folder), vm.kernel,
                          extra=[*self.hca(core, vm), *vm.extra()],
                          detached=True, megabytes=vm.memory)
            self.machines.append(guest)
            self.screen.working(f'starting {vm.name}')
            with undisturbed():
                guest.start()
            guests.append(guest)
        self.boot(guests)

    @staticmethod
    def hca(core, vm):
        """The adapter is what the topology says of the node."""
        return ['-device', 'pcie-root-port,id=rp0,chassis=1', *layout.hca(
            vm.node, core.netdevs(vm), vm.hca, ',bus=rp0')]

    def boot(self, guests):
        if not guests:
            return
        pool = concurrent.futures.ThreadPoolExecutor(len(guests))
        waiting = {pool.submit(settle, guest, vm, self.vms): vm
                   for guest, vm in zip(guests, self.vms)}
        pool.shutdown(wait=False)
        while waiting:
            names = ', '.join(vm.name for vm in list(waiting.values())[:6])
            self.screen.working(f'booting {names}' +
                                (' and others' if len(waiting) > 6 else ''))
            done, _ = concurrent.futures.wait(
                waiting, timeout=1,
                return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                vm = waiting.pop(future)
                self.screen.line(f'{vm.name}: Linux {future.result()}, '
                                 f'IPoIB {vm.address}')

    def done(self):
        for machine in self.machines:
            machine.forget()
        self.run.save(self.state('up'))

    def abandon(self):
        """End all at once, whatever has become of it."""
        for machine in reversed(self.machines):
            with contextlib.suppress(Exception):
                machine.kill()
        shutil.rmtree(self.run.folder, ignore_errors=True)


def up(run, found, vms, source, screen=None):
    """Bring it up; nothing is left of it if that fails or is interrupted."""
    screen = screen or Screen()
    check(vms)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    with run.locked():
        start = Start(run, found, vms, source, screen)
        start.prepare()
        try:
            start.start()
            start.done()
        except (StartError, AgentError, CommandError) as error:
            start.abandon()
            raise Failure(' '.join(str(error).split('\n')[:2])) from None
        except BaseException:
            start.abandon()
            raise


def wait(run, screen=None):
    """Until Ctrl-C, which takes it down."""
    screen = screen or Screen()
    names = set(run.processes())
    try:
        screen.line('Ctrl-C ends it')
        while names:
            time.sleep(0.5)
            now = set(run.processes())
            for name in sorted(names - now):
                screen.line(f'{name} has ended by itself')
            names = now
    except KeyboardInterrupt:
        print(file=screen.out)
    with run.locked():
        run.clear()
    screen.line(f'fabric "{run.name}" is down')
