# SPDX-License-Identifier: GPL-2.0-or-later
"""Which nodes of a fabric are VMs: --vm NODE and a small YAML file.

    kernel: "6.12"              for all that say nothing else
    memory: 1024
    vms:
      node-01:                  its id, description, or first word of that
      node-02:
        kernel: "6.1"
        memory: 2048            MB
        cpus: 2
        hca: rate=link,mtu=2048         properties of connectx3
        qemu: [-device, virtio-rng-pci] more of the command line
"""

import re
from dataclasses import dataclass, field

from . import Failure
from .layout import HCA_PORTS
from .topology import CA

DEFAULTS = {'kernel': '6.1', 'memory': 512, 'cpus': 1, 'hca': '',
            'qemu': []}
ADDRESS = '10.77.{}.{}'


@dataclass
class Vm:
    """A node that is a VM; name is its host name and that of its files."""
    node: object
    name: str
    kernel: str = '6.1'
    memory: int = 512
    cpus: int = 1
    hca: str = ''
    qemu: list = field(default_factory=list)
    address: str = ''           # of its IPoIB interface

    @property
    def ports(self):
        """Its cabled ports."""
        return sorted(self.node.ports)

    @property
    def interface(self):
        """The IPoIB interface of its first cabled port."""
        return f'ib{self.ports[0] - 1}'

    def extra(self):
        """What to add to a guest's command line."""
        args = []
        if self.cpus != 1:
            args += ['-smp', str(self.cpus)]
        return args + self.qemu


def host_name(node, taken):
    """A host name like the node's, that nobody has yet."""
    name = node.name.split(' ')[0] or node.id
    name = re.sub(r'[^A-Za-z0-9-]+', '-', name).strip('-')[:40] or 'node'
    if name in taken or name == 'fabric':
        name = f'{name[:40]}-{node.index}'
    return name


def load_yaml(path):
    try:
        import yaml     # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Failure('--vms needs the package python3-yaml') from None
    try:
        with open(path, encoding='utf-8') as file:
            found = yaml.safe_load(file)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Failure(f'{path}: {" ".join(str(error).split())}') from None
    return found


def _value(place, name, value):
    kind = type(DEFAULTS[name])
    if name == 'kernel':
        value = str(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        word = {int: 'a number', str: 'text', list: 'a list'}[kind]
        raise Failure(f'{place}: {name} is {word}, not {value!r}')
    if kind is int and value < 1:
        raise Failure(f'{place}: {name} is 1 at least, not {value}')
    return [str(part) for part in value] if kind is list else value


def _settings(place, found):
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Failure(f'{place}: settings like "memory: 1024", not {found!r}')
    for name in found:
        if name not in DEFAULTS:
            raise Failure(f'{place}: there is no "{name}"; there are ' +
                          ', '.join(DEFAULTS))
    return {name: _value(place, name, value) for name, value in found.items()}


def from_yaml(path, found):
    """[(node's name, settings)] of a file's content."""
    if isinstance(found, list):
        found = {'vms': found}
    if not isinstance(found, dict) or not found.get('vms'):
        raise Failure(f'{path}: no "vms:" with a list of nodes')
    common = _settings(path, {name: value for name, value in found.items()
                              if name != 'vms'})
    vms = found['vms']
    if isinstance(vms, list):
        vms = {str(name): None for name in vms}
    if not isinstance(vms, dict):
        raise Failure(f'{path}: "vms:" is a list of nodes')
    return [(str(name), {**common, **_settings(f'{path}: {name}', said)})
            for name, said in vms.items()]


def choose(topology, names, settings=(), common=None):
    """The Vms: of names (those of --vm) and settings (pairs of a node's name
    and a dict); common is for those that say nothing."""
    vms, taken, seen = [], set(), set()
    for name, said in [*settings, *((name, {}) for name in names)]:
        node = topology.find(name)
        if node.kind != CA:
            what = 'switch' if node.is_switch else 'router'
            raise Failure(f'{name} is a {what}: a VM stands for a node')
        if node in seen:
            raise Failure(f'{name} is twice among the VMs')
        seen.add(node)
        vm = Vm(node, host_name(node, taken), **{**(common or {}), **said})
        taken.add(vm.name)
        if not vm.ports:
            raise Failure(f'{node.name} has no cable')
        if vm.ports[-1] > HCA_PORTS:
            raise Failure(f'{node.name} has a cable in port {vm.ports[-1]}: '
                          f'a VM has {HCA_PORTS} ports')
        vm.address = ADDRESS.format((len(vms) + 1) // 256,
                                    (len(vms) + 1) % 256)
        vms.append(vm)
    return vms
