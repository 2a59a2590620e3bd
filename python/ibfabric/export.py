# SPDX-License-Identifier: GPL-2.0-or-later
"""A fabric as processes on several hosts: a command line and a libvirt domain
for each, and cables over TCP between them.

A group is what runs on one host: a process with all of its switches, and its
VMs.  Cables between two switches of a group stay inside the process; all others
are TCP connections, with TLS if wanted.
"""

import os
import shlex
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from . import Failure, layout

SWITCHES = 'switches'           # the process of a group that is no VM
# Hubs of cables that leave a process; those inside count from 1.
OUTSIDE_HUB = 1 << 20


@dataclass
class Group:
    name: str
    host: str = '127.0.0.1'
    switches: list = field(default_factory=list)
    vms: list = field(default_factory=list)


@dataclass
class Process:
    """args is what the InfiniBand hardware is in QEMU's command line; libvirt
    is the same for a machine that libvirt can run, one with a processor.  vm is
    None for the switches."""
    name: str
    group: Group
    args: list
    libvirt: list
    vm: object = None


# ---- who is where ----------------------------------------------------------

def parse_group(text):
    """NAME[@HOST]=NODE,NODE... as (Group without nodes, names of nodes)."""
    head, equals, names = text.partition('=')
    name, at, host = head.partition('@')
    if not equals or not name or (at and not host):
        raise Failure(f'{text}: a group is NAME@HOST=NODE,NODE...')
    if not all(c.isalnum() or c in '-_' for c in name):
        raise Failure(f'{text}: a group\'s name has letters, digits, - and _')
    return (Group(name, host or '127.0.0.1'),
            [part for part in names.split(',') if part])


def divide(found, vms, texts):
    """The Groups: switches that no group names are in the first one, VMs that
    none names with the switch that they are cabled to."""
    parsed = [parse_group(text) for text in texts] or [(Group('all'), [])]
    if len({group.name for group, _ in parsed}) < len(parsed):
        raise Failure('two groups have the same name')
    home = {}
    chosen = {vm.node for vm in vms}
    for group, names in parsed:
        for name in names:
            node = found.find(name)
            if node in home:
                raise Failure(f'{name} is in two groups')
            if not node.is_switch and node not in chosen:
                raise Failure(f'{name} is neither a switch nor a VM')
            home[node] = group
    first = parsed[0][0]
    for switch in found.switches():
        home.setdefault(switch, first).switches.append(switch)
    for vm in vms:
        peer, _ = vm.node.ports[vm.ports[0]]
        if not all(end.is_switch for end, _ in vm.node.ports.values()):
            raise Failure(f'{vm.node.name} is cabled to another node')
        home.setdefault(vm.node, home[peer]).vms.append(vm)
    return [group for group, _ in parsed], home


# ---- cables ----------------------------------------------------------------

class Cables:
    """TCP ports, and both ends' arguments."""

    def __init__(self, base, tls=None):
        self.next = base
        self.tls = tls
        self.ports = {}         # a cable's key -> its TCP port
        self.hub = OUTSIDE_HUB

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
    """The Processes of a fabric.  In a group, switches come first."""
    groups, home = divide(found, vms, texts)
    cables = Cables(base, tls)
    ends = {vm.node for vm in vms}
    processes = []
    for group in groups:
        if group.switches:
            processes.append(_switches(group, home, ends, cables))
        for vm in group.vms:
            processes.append(_vm(group, vm, home, cables))
    return processes


def _switches(group, home, ends, cables):
    def made(driver):
        extra = []

        def outside(node, port, peer, peer_port):
            key = _key(node, port, peer, peer_port)
            if peer.is_switch:
                # The one that is first in the topology listens.
                server = (node.index, port) < (peer.index, peer_port)
                return cables.end(key, home[node if server else peer].host,
                                  server, extra)
            if peer not in ends:
                return None
            return cables.end(key, group.host, True, extra)

        args = layout.switches(group.switches, outside, driver)
        # What netdevs need comes before the devices that use them.
        return extra + args

    return Process(f'{group.name}-{SWITCHES}', group, made('ib-switch'),
                   made('ib-switch-pci'))


def _vm(group, vm, home, cables):
    extra = []
    ends = {}
    for port, (peer, peer_port) in vm.node.ports.items():
        ends[port] = cables.end(_key(vm.node, port, peer, peer_port),
                                home[peer].host, False, extra)
    args = extra + layout.hca(vm.node, ends, vm.hca)
    return Process(vm.name, group, args, args, vm)


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
    """A shell script that runs a process; more arguments may follow."""
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
         *machine, *process.args]))
    return ('#!/bin/sh\n# Made by scripts/ibfabric export.\n'
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


def domain(process, emulator, image=None):
    """libvirt's XML of a process.

    libvirt wants a machine with a processor, so switches sit on the PCI bus
    of one that boots nothing.
    """
    vm = process.vm
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
              for word in process.libvirt + (vm.qemu if vm else [])]
    lines += ['  </qemu:commandline>', '</domain>']
    return '\n'.join(lines) + '\n'


README = """\
Made by scripts/ibfabric export: %(what)s.

With libvirt, from anywhere:
%(virsh)s

Without it, on each host (QEMU= names the program):
%(scripts)s
"""


def write(processes, folder, emulator, images):
    """A folder a group with a script and a domain for each process, and a
    README that says how to start them; images is by kernel."""
    virsh, scripts = [], []
    for process in processes:
        image = images.get(process.vm.kernel) if process.vm else None
        where = os.path.join(folder, process.group.name)
        os.makedirs(where, exist_ok=True)
        path = os.path.join(where, process.name)
        with open(f'{path}.sh', 'w', encoding='utf-8') as file:
            file.write(script(process, image))
        os.chmod(f'{path}.sh', 0o755)
        with open(f'{path}.xml', 'w', encoding='utf-8') as file:
            file.write(domain(process, emulator, image))
        group = process.group
        virsh.append(f'    virsh -c qemu+ssh://{group.host}/system create '
                     f'{group.name}/{process.name}.xml')
        scripts.append(f'    {group.host}:  {group.name}/{process.name}.sh')
    groups = len({process.group.name for process in processes})
    with open(os.path.join(folder, 'README'), 'w', encoding='utf-8') as file:
        file.write(README % {
            'what': f'{len(processes)} processes in {groups} groups',
            'virsh': '\n'.join(virsh), 'scripts': '\n'.join(scripts)})
