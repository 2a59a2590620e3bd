# SPDX-License-Identifier: GPL-2.0-or-later
"""Several machines with cables between them, in a folder of their own."""

import atexit
import shutil
import tempfile

from .agent import AgentError
from .machines import Chassis, Guest, Switch, stream


class Fabric:
    """Use it with "with": nothing is left when the block ends.

        with Fabric() as fabric:
            switch = fabric.add_switch('sw0', ports=4)
            a = fabric.add_guest('a', '6.1', switch, 1)
            fabric.start()
    """

    def __init__(self, folder=None, detached=False):
        self.folder = folder or tempfile.mkdtemp(prefix='ibswitch-')
        self.detached = detached
        self.switches = []
        self.guests = []
        # Ctrl-C in the midst of a test ends it without its clean-up.
        atexit.register(self.abandon)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.close()
        else:
            self.abandon()

    def add_switch(self, name, ports, options=''):
        switch = Switch(name, self.folder, ports, options, self.detached)
        self.switches.append(switch)
        return switch

    def add_chassis(self, name):
        chassis = Chassis(name, self.folder, self.detached)
        self.switches.append(chassis)
        return chassis

    def add_guest(self, name, kernel, switch=None, port=None, hca='',
                  port_options='', extra=(), **options):
        """A guest on a port of a switch; without one it has no HCA."""
        netdev = stream(switch.cable(port, port_options)) if switch else None
        guest = Guest(name, self.folder, kernel, netdev, hca, extra,
                      self.detached, **options)
        self.guests.append(guest)
        return guest

    def machines(self):
        return self.switches + self.guests

    def start(self, timeout=300):
        """Start all of them, the guests side by side, and wait until each
        guest takes commands."""
        for machine in self.machines():
            machine.start()
        for guest in self.guests:
            guest.wait_booted(timeout)

    def load_drivers(self):
        for guest in self.guests:
            if guest.netdev is not None:
                guest.load_drivers()

    def close(self):
        """End all processes in good order and remove the folder.  Raises
        what the first one that had crashed has to say."""
        first = None
        for machine in reversed(self.machines()):
            try:
                machine.stop()
            except Exception as error:  # pylint: disable=broad-except
                first = first or error
        self.abandon()
        if first is not None:
            raise first

    def abandon(self):
        """End all processes at once and remove the folder."""
        for machine in reversed(self.machines()):
            machine.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.abandon)

    def keep(self):
        """Leave a detached fabric running when this process ends."""
        for machine in self.machines():
            machine.forget()
        atexit.unregister(self.abandon)

    def diagnostics(self):
        """What a person wants to see after a failure."""
        text = []
        for machine in self.machines():
            state = 'running' if machine.running() else 'not running'
            text.append(f'--- {machine.name} is {state}; its output:')
            text.append(machine.log()[-2000:].strip())
        for guest in self.guests:
            if not guest.running():
                text.append(f'--- {guest.name}: its console')
                text.append(guest.console()[-2000:].strip())
                continue
            for command in ('dmesg | tail -n 30',
                            'tail -n 30 /var/log/opensm.log'):
                try:
                    result = guest.try_sh(command, 10)
                except AgentError as error:
                    text.append(str(error))
                    break
                if result.status == 0:
                    text.append(f'--- {guest.name}: {command}')
                    text.append(result.out)
        return '\n'.join(line for line in text if line)
