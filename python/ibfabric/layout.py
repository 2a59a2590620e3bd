# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's command lines for the switches of a fabric.

A device's id says which node it is: s5 is the switch with index 5 in the
topology, s5-p2 the cage in its port 2.
"""

from .topology import SWITCH

HCA_PORTS = 2                   # of connectx3


def option(text):
    """A value within a comma-separated option of QEMU's."""
    return str(text).replace(',', ',,')


def cage(node, port):
    """The id of the ib-port there."""
    return f's{node.index}-p{port}'


def switch_device(node, driver='ib-switch'):
    """-device's argument for a switch of the topology."""
    return (f'{driver},id=s{node.index},ports={node.num_ports},'
            f'node-guid={node.guid:#x},system-guid={node.system_guid:#x},'
            f'description={option(node.name[:64])}')


def switches(nodes, netdev, driver='ib-switch'):
    """The arguments of one process that has these switches; its machine has
    a bus for the driver: -M ib-chassis for ib-switch.

    Cables between two of them stay inside; for any other one
    netdev(node, port, peer, peer_port) gives -netdev's argument without the
    id, or None if nothing is at its other end.
    """
    args = []
    inside = set(nodes)
    for node in nodes:
        args += ['-device', switch_device(node, driver)]
    hub = 0
    for node in nodes:
        for port, (peer, peer_port) in sorted(node.ports.items()):
            if peer in inside and peer.kind == SWITCH:
                if (node.index, port) > (peer.index, peer_port):
                    continue
                hub += 1
                for end, number in ((node, port), (peer, peer_port)):
                    args += _cage(end, number, f'hubport,hubid={hub}')
            else:
                outside = netdev(node, port, peer, peer_port)
                if outside is not None:
                    args += _cage(node, port, outside)
    return args


def _cage(node, port, netdev):
    name = f'n{node.index}.{port}'
    return ['-netdev', f'{netdev},id={name}', '-device',
            f'ib-port,id={cage(node, port)},bus=s{node.index}.0,port={port},'
            f'netdev={name}']


def hca(node, ends, options='', more=''):
    """The arguments of a VM's adapter: ends has -netdev's argument without
    the id for each cabled port, options are further ones of connectx3."""
    args = []
    device = (f'connectx3,id=hca,ports={min(HCA_PORTS, node.num_ports)},'
              f'node-guid={node.guid:#x},system-guid={node.system_guid:#x},'
              f'port-guid={node.port_guid:#x}{more}')
    for port, netdev in sorted(ends.items()):
        args += ['-netdev', f'{netdev},id=cable{port}']
    if 1 in ends:
        device += ',netdev=cable1'
    args += ['-device', device + (f',{options}' if options else '')]
    for port in ends:
        if port > 1:
            args += ['-device', f'ib-port,id={hca_port(port)},bus=hca.0,'
                     f'port={port},netdev=cable{port}']
    return args


def hca_port(port):
    """The id of the device that has the properties of a VM's port."""
    return 'hca' if port == 1 else f'hca-p{port}'
