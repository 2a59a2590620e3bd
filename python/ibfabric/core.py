# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that has a fabric's switches (the VMs are ibtest's Guest)."""

import os

from ibtest import machines

from . import layout


# In a fabric's folder: the socket for commands; the name that programs of the
# host know it by (IBSIM_SOCKNAME).
CONTROL = 'control'
IBSIM = 'ibsim'


def plug(name, port):
    """The id of the ib-port that the cable of a VM's port is in."""
    return f'vm-{name}-p{port}'


class Core(machines.Machine):
    """A topology as -device ib-fabric, with a cable out of it for each VM."""

    NAME = 'fabric'

    def __init__(self, source, vms, folder):
        super().__init__(self.NAME, folder, detached=True)
        self.source = source
        self.vms = vms

    def cable(self, vm, port):
        """The socket of a VM's cable."""
        return self.path(f'cable-{vm.node.index}-{port}')

    def netdevs(self, vm):
        """The VM's ends of its cables, by port."""
        return {port: machines.stream(self.cable(vm, port))
                for port in vm.ports}

    def args(self):
        def path(name):
            return layout.option(os.path.join(self.folder, name))

        args = ['-M', 'ib-chassis', '-device',
                f'ib-fabric,id=fab0,topology={layout.option(self.source)},'
                f'ibsim={path(IBSIM)},control={path(CONTROL)}']
        for vm in self.vms:
            for port in vm.ports:
                name = plug(vm.name, port)
                netdev = machines.stream(self.cable(vm, port), server=True)
                args += ['-netdev', f'{netdev},id=n-{name}', '-device',
                         f'ib-port,id={name},bus=fab0.0,'
                         f'node={layout.option(vm.node.id)},port={port},'
                         f'netdev=n-{name}']
        return args
