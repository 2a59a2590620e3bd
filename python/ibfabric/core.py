# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that has a fabric's switches (the VMs are ibtest's Guest)."""

from ibtest import machines

from . import layout


class Core(machines.Machine):
    """Every switch of a topology in one process, with a cable out of it for
    each VM."""

    NAME = 'fabric'

    def __init__(self, topology, vms, folder):
        super().__init__(self.NAME, folder, detached=True)
        self.topology = topology
        self.vms = {(vm.node, vm.port): vm for vm in vms}

    def cable(self, vm):
        """The socket of a VM's cable."""
        return self.path(f'cable-{vm.node.index}')

    def netdev(self, vm):
        """The VM's end of its cable."""
        return machines.stream(self.cable(vm))

    def args(self):
        def outside(_node, _port, peer, peer_port):
            vm = self.vms.get((peer, peer_port))
            return vm and machines.stream(self.cable(vm), server=True)
        return ['-M', 'ib-chassis', *layout.switches(
            self.topology.switches(), outside)]
