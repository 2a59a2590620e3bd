# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's command lines for the nodes of a fabric."""

HCA_PORTS = 2                   # of connectx3


def option(text):
    """A value within a comma-separated option of QEMU's."""
    return str(text).replace(',', ',,')


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
