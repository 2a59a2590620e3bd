# SPDX-License-Identifier: GPL-2.0-or-later
"""A fabric as processes on several hosts: a command line and a libvirt domain
for each, and cables over TCP between them.

A group is what runs on one host: a process, -device ib-fabric, with all of its
nodes that no VM stands for, and its VMs.  Cables between two nodes of that
process stay inside; all others are TCP connections, with TLS if wanted.
"""

import dataclasses
import os
import shlex
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from . import Failure, layout, topology

FABRIC = 'fabric'               # the process of a group that is no VM
# Hubs of cables, which leave a process; QEMU's own count from 0.
FIRST_HUB = 1 << 20
GROUP_NAME_MAX = 40


@dataclass
class Group:
    name: str
    host: str = '127.0.0.1'
    nodes: list = field(default_factory=list)       # that are no VMs
    vms: list = field(default_factory=list)


@dataclass
class Process:
    """cables and devices are parts of QEMU's command line; net is the
    Topology of a process that is no VM."""
    name: str
    group: Group
    cables: list
    devices: list
    vm: object = None
    net: object = None

    def net_file(self, folder):
        """The topology file of a process whose group has that folder."""
        return os.path.join(folder, f'{self.name}.net')

    def args(self, folder, control=True):
        """What the InfiniBand hardware is in QEMU's command line; control:
        the folder can be written to."""
        if self.net is None:
            return self.cables + self.devices
        device = (f'ib-fabric,id=fab0,ibsim={self.name},topology=' +
                  layout.option(self.net_file(folder)))
        if control:
            path = os.path.join(folder, f'{self.name}.control')
            device += f',control={layout.option(path)}'
        return self.cables + ['-device', device] + self.devices

    def write_net(self, folder):
        with open(self.net_file(folder), 'w', encoding='utf-8') as file:
            topology.write(self.net, file,
                           f'{self.name}, made by scripts/ibfabric export')


# ---- who is where ----------------------------------------------------------

def parse_group(text):
    """NAME[@HOST]=NODE,NODE... as (Group without nodes, names of nodes)."""
    head, equals, names = text.partition('=')
    name, at, host = head.partition('@')
    if not equals or not name or (at and not host):
        raise Failure(f'{text}: a group is NAME@HOST=NODE,NODE...')
    if len(name) > GROUP_NAME_MAX or not all(
            c.isalnum() or c in '-_' for c in name):
        raise Failure(f'{text}: a group\'s name has letters, digits, - and _, '
                      f'{GROUP_NAME_MAX} of them at most')
    return (Group(name, host or '127.0.0.1'),
            [part for part in names.split(',') if part])


def divide(found, vms, texts):
    """(the Groups, the Group of each node): of what no group names, switches
    are in the first one, other nodes with what they are cabled to."""
    parsed = [parse_group(text) for text in texts] or [(Group('all'), [])]
    if len({group.name for group, _ in parsed}) < len(parsed):
        raise Failure('two groups have the same name')
    home = {}
    for group, names in parsed:
        for name in names:
            node = found.find(name)
            if node in home:
                raise Failure(f'{name} is in two groups')
            home[node] = group
    first = parsed[0][0]
    for node in found.switches():
        home.setdefault(node, first)
    for node in found.cas():
        if node not in home:
            peers = [node.ports[port][0] for port in sorted(node.ports)]
            home[node] = next((home[peer] for peer in peers if peer in home),
                              first)
    chosen = {vm.node: vm for vm in vms}
    for node in found.nodes:
        if node in chosen:
            home[node].vms.append(chosen[node])
        else:
            home[node].nodes.append(node)
    return [group for group, _ in parsed], home


# ---- cables ----------------------------------------------------------------

class Cables:
    """TCP ports, and both ends' arguments."""

    def __init__(self, base, tls=None):
        self.next = base
        self.tls = tls
        self.ports = {}         # a cable's key -> its TCP port
        self.hub = FIRST_HUB

    def port(self, key):
        if key not in self.ports:
            if self.next > 65535:
                raise Failure('more cables than TCP ports: give a lower '
                              '--port-base')
            self.ports[key] = self.next
            self.next += 1
        return self.ports[key]

    def end(self, key, host, server, extra):
        """-netdev's argument without the id; what it needs besides is
        appended to extra."""
        port = self.port(key)
        if self.tls is None:
            text = (f'stream,server={"on" if server else "off"},'
                    f'addr.type=inet,addr.host={host},addr.port={port}')
            return text if server else f'{text},reconnect-ms=500'
        self.hub += 1
        role = 'server' if server else 'client'
        creds = (f'tls-creds-x509,id=tls-{role},dir={layout.option(self.tls)},'
                 f'endpoint={role},verify-peer=on')
        if creds not in extra:
            extra += ['-object', creds]
        chardev = (f'socket,id=c{port},host={host},port={port},'
                   f'tls-creds=tls-{role},' +
                   ('server=on,wait=off' if server else 'reconnect-ms=500'))
        hub = f'hubport,hubid={self.hub}'
        extra += ['-chardev', chardev, '-netdev', f'{hub},id=w{port}',
                  '-device', f'ib-wire,id=wire{port},netdev=w{port},'
                  f'chardev=c{port}']
        return hub


def _key(node, port, peer, peer_port):
    return frozenset(((node, port), (peer, peer_port)))


def plan(found, vms, texts, base=18500, tls=None):
    """The Processes of a fabric; in a group, that of its nodes comes first."""
    groups, home = divide(found, vms, texts)
    cables = Cables(base, tls)
    machines = {vm.node for vm in vms}
    processes = []
    for group in groups:
        if group.nodes:
            processes.append(_nodes(group, home, machines, cables))
        for vm in group.vms:
            processes.append(_vm(group, vm, home, machines, cables))
    return processes


def _outside(cables, home, machines, end, peer_end, extra):
    """-netdev's argument, without the id, for the cable in an end, (node,
    port).  It listens if the other one is a VM, or else if it comes first."""
    node, port = end
    peer, peer_port = peer_end
    if (node in machines) != (peer in machines):
        server = peer in machines
    else:
        server = (node.index, port) < (peer.index, peer_port)
    host = home[node if server else peer].host
    return cables.end(_key(*end, *peer_end), host, server, extra)


def _nodes(group, home, machines, cables):
    before, devices, copies = [], [], []
    for node in group.nodes:
        inside = {}
        for port, (peer, peer_port) in sorted(node.ports.items()):
            if home[peer] is group and peer not in machines:
                inside[port] = (peer, peer_port)
                continue
            netdev = _outside(cables, home, machines, (node, port),
                              (peer, peer_port), before)
            name = f'n{node.index}.{port}'
            devices += ['-netdev', f'{netdev},id={name}', '-device',
                        f'ib-port,id=p{node.index}-{port},bus=fab0.0,'
                        f'node={layout.option(node.id)},port={port},'
                        f'netdev={name}']
        copies.append(dataclasses.replace(node, ports=inside))
    return Process(f'{group.name}-{FABRIC}', group, before, devices,
                   net=topology.Topology(copies))


def _vm(group, vm, home, machines, cables):
    before = []
    ends = {port: _outside(cables, home, machines, (vm.node, port), peer_end,
                           before)
            for port, peer_end in vm.node.ports.items()}
    return Process(vm.name, group, before,
                   layout.hca(vm.node, ends, vm.hca), vm)


# ---- files -----------------------------------------------------------------

def _lines_of(words):
    """Words of a command line, an option and what belongs to it a line."""
    lines = []
    for word in words:
        if word.startswith('-') or not lines:
            lines.append(shlex.quote(word))
        else:
            lines[-1] += f' {shlex.quote(word)}'
    return lines


def script(process, image=None):
    """A shell script that runs a process, from whatever folder; more arguments
    may follow."""
    vm = process.vm
    if vm is None:
        machine = ['-M', 'ib-chassis']
    else:
        machine = ['-M', 'q35', '-cpu', 'max', '-m', str(vm.memory), '-smp',
                   str(vm.cpus), '-serial', 'mon:stdio']
        if image:
            machine += ['-kernel', image['kernel'], '-initrd',
                        image['initrd'], '-append', _kernel_args(vm)]
            for disk in ('root', 'modules'):
                machine += ['-drive', 'if=virtio,format=raw,readonly=on,file='
                            + layout.option(image[disk])]
        machine += vm.qemu
    text = ' \\\n    '.join(_lines_of(
        ['-nodefaults', '-display', 'none', '-name', process.name,
         *machine, *process.args('.')]))
    return ('#!/bin/sh\n# Made by scripts/ibfabric export.\n'
            'cd "$(dirname "$0")" || exit\n'
            'exec "${QEMU:-qemu-system-x86_64}" \\\n'
            f'    {text} "$@"\n')


def _kernel_args(vm):
    return f'console=ttyS0 quiet tsc=unstable ibtest.name={vm.name}'


def _disks(image):
    for name, disk in (('vda', 'root'), ('vdb', 'modules')):
        yield from ("    <disk type='file' device='disk'>",
                    "      <driver name='qemu' type='raw'/>",
                    f'      <source file={quoteattr(image[disk])}/>',
                    f"      <target dev='{name}' bus='virtio'/>",
                    '      <readonly/>', '    </disk>')
    yield from ("    <channel type='unix'>",
                "      <target type='virtio' name='ibtest'/>",
                '    </channel>')


def domain(process, emulator, folder, image=None):
    """libvirt's XML of a process whose group has that folder on its host.

    libvirt wants a machine with a processor, so the fabric is in one that
    boots nothing.
    """
    vm = process.vm
    chassis = [] if vm else ['-device', 'ib-chassis-pci']
    args = chassis + process.args(folder, control=False)
    lines = ["<domain type='qemu' "
             "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>",
             f'  <name>{process.name}</name>',
             f"  <memory unit='MiB'>{vm.memory if vm else 64}</memory>",
             f'  <vcpu>{vm.cpus if vm else 1}</vcpu>', '  <os>',
             "    <type arch='x86_64' machine='q35'>hvm</type>"]
    if vm and image:
        lines += [f'    <kernel>{escape(image["kernel"])}</kernel>',
                  f'    <initrd>{escape(image["initrd"])}</initrd>',
                  f'    <cmdline>{_kernel_args(vm)}</cmdline>']
    lines += ['  </os>', '  <features><acpi/></features>']
    if vm:
        lines.append("  <cpu mode='maximum'/>")
    lines += ['  <devices>', f'    <emulator>{escape(emulator)}</emulator>',
              "    <controller type='usb' model='none'/>",
              "    <memballoon model='none'/>"]
    if vm and image:
        lines += _disks(image)
    if vm:
        lines.append("    <serial type='pty'/>")
    lines += ['  </devices>', '  <qemu:commandline>']
    lines += [f'    <qemu:arg value={quoteattr(word)}/>'
              for word in args + (vm.qemu if vm else [])]
    lines += ['  </qemu:commandline>', '</domain>']
    return '\n'.join(lines) + '\n'


README = """\
Made by scripts/ibfabric export: %(what)s.

With libvirt, from anywhere, once %(there)s is on each host:
%(virsh)s

Without it, on each host (QEMU= names the program):
%(scripts)s

A program of a group's host is on the fabric with (opensm, say):
%(programs)s
"""


def write(processes, folder, emulator, images, there=None):
    """A folder a group with a script and a domain for each process and the
    topology of its nodes, and a README that says how to start them.  images is
    by kernel; there is where the hosts will have the folder."""
    virsh, scripts, programs = [], [], []
    there = there or os.path.abspath(folder)
    library = os.path.join(os.path.dirname(emulator), 'libib-umad.so')
    for process in processes:
        group = process.group
        image = images.get(process.vm.kernel) if process.vm else None
        where = os.path.join(folder, group.name)
        os.makedirs(where, exist_ok=True)
        path = os.path.join(where, process.name)
        with open(f'{path}.sh', 'w', encoding='utf-8') as file:
            file.write(script(process, image))
        os.chmod(f'{path}.sh', 0o755)
        with open(f'{path}.xml', 'w', encoding='utf-8') as file:
            file.write(domain(process, emulator,
                              os.path.join(there, group.name), image))
        if process.net is not None:
            process.write_net(where)
            programs.append(f'    {group.host}:  IBSIM_SOCKNAME='
                            f'{process.name} LD_PRELOAD={library} opensm')
        virsh.append(f'    virsh -c qemu+ssh://{group.host}/system create '
                     f'{group.name}/{process.name}.xml')
        scripts.append(f'    {group.host}:  {group.name}/{process.name}.sh')
    groups = len({process.group.name for process in processes})
    with open(os.path.join(folder, 'README'), 'w', encoding='utf-8') as file:
        file.write(README % {
            'what': f'{len(processes)} processes in {groups} groups',
            'there': there, 'virsh': '\n'.join(virsh),
            'scripts': '\n'.join(scripts), 'programs': '\n'.join(programs)})
