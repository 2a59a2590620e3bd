# SPDX-License-Identifier: GPL-2.0-or-later
"""One QEMU process each: a switch, or several, in a chassis; a guest with
its HCA."""

import os
import re
import subprocess
import time

from . import paths
from .agent import Agent, AgentError, CommandError

KERNEL_ARGS = ('console=ttyS0 quiet nokaslr mitigations=off audit=0 '
               'apparmor=0 random.trust_cpu=on cryptomgr.notests '
               'no_timer_check panic=-1')
# On a busy host a guest under TCG now and then measures a rate of its time
# stamp counter that is wrong by a factor (775 MHz for 2300 was seen), and time
# flies: commands time out, the watchdog barks.  The HPET is always right.
TCG_ARGS = ' tsc=unstable'
# What a kernel says of the host's being busy, not of the devices.
BUSY_HOST = re.compile('hrtimer: interrupt took|hogged CPU for')
DRIVERS = 'mlx4_core mlx4_ib ib_umad ib_uverbs rdma_ucm ib_ipoib'


class StartError(Exception):
    """QEMU did not start; says what it printed."""


def qemu_version():
    """(major, minor) of the QEMU under test."""
    text = subprocess.run([paths.qemu(), '--version'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return tuple(int(n) for n in
                 re.search(r'version (\d+)\.(\d+)', text).groups())


async def negotiate(client):
    """In place of QMPClient's own, which takes an event that comes between
    its command and the answer, as of a netdev that connects, for the latter."""
    # pylint: disable=protected-access
    await client._send(client.make_execute_msg('qmp_capabilities'))
    while 'return' not in (reply := await client._recv()):
        if 'event' not in reply:
            raise StartError(f'qmp_capabilities: {reply}')


class Machine:
    """A QEMU process; args() is the command line after the binary.

    folder holds its sockets and logs.  With detached the process outlives
    this one, else it dies with it, however it dies.
    """

    def __init__(self, name, folder, detached=False):
        self.name = name
        self.folder = folder
        self.detached = detached
        self._vm = None

    def path(self, suffix):
        return os.path.join(self.folder, f'{self.name}.{suffix}')

    def args(self):
        raise NotImplementedError

    def start(self):
        paths.use_qemu_python()
        # pylint: disable=import-outside-toplevel
        from qemu.machine import QEMUMachine
        from qemu.machine.machine import VMLaunchFailure
        from qemu.qmp import QMPClient

        QMPClient._negotiate = negotiate
        # A session of its own: Ctrl-C is for this process, which then ends
        # the others in good order.
        wrapper = ['setsid']
        if not self.detached:
            wrapper += ['setpriv', '--pdeathsig', 'KILL']
        args = ['-nodefaults', '-no-user-config', '-name', self.name]
        for kind in ('qmp', 'monitor'):
            args += ['-chardev', f'socket,id={kind}0,server=on,wait=off,'
                     f'path={self.path(kind)}']
        args += ['-mon', 'chardev=qmp0,mode=control', '-mon',
                 'chardev=monitor0,mode=readline']
        self._vm = QEMUMachine(paths.qemu(), args=args + self.args(),
                               wrapper=wrapper, name=self.name,
                               base_temp_dir=self.folder, log_dir=self.folder)
        try:
            self._vm.launch()
        except VMLaunchFailure as error:
            self._vm = None
            raise StartError(error.output.strip() if error.output
                             else str(error)) from None

    def running(self):
        return self._vm is not None and self._vm.is_running()

    def pid(self):
        return self._vm.get_pid()

    def qmp(self, command, **arguments):
        """A QMP command's return value; raises if it fails."""
        return self._vm.cmd(command, arguments)

    def qom_get(self, path, name):
        return self.qmp('qom-get', path=path, property=name)

    def forget(self):
        """Let a detached process live on."""
        self._vm = None

    def log(self):
        """What the process has written to stdout and stderr."""
        return self._read('log')

    def _read(self, suffix):
        try:
            with open(self.path(suffix), encoding='utf-8',
                      errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def kill(self):
        """End it as a crash would."""
        if self._vm is not None:
            self._vm.shutdown(hard=True)
            self._vm = None

    def stop(self):
        """End it as "quit" does; raises if it crashed before or now."""
        machine, self._vm = self._vm, None
        if machine is None:
            return
        if not machine.is_running():
            status = machine.exitcode()
            machine.shutdown(hard=True)
            raise StartError(f'{self.name} ended by itself with status '
                             f'{status}: {self.log()[-2000:]}')
        machine.shutdown(timeout=20)
        if machine.exitcode() != 0:
            raise StartError(f'{self.name} ended with status '
                             f'{machine.exitcode()}: {self.log()[-2000:]}')


def stream(path, server=False):
    """The netdev at one end of a cable over a UNIX socket."""
    if server:
        return f'stream,server=on,addr.type=unix,addr.path={path}'
    again = 'reconnect-ms=200' if qemu_version() >= (9, 2) else 'reconnect=1'
    return f'stream,server=off,addr.type=unix,addr.path={path},{again}'


class Switch(Machine):
    """A switch: a chassis with an ib-switch and a cage for each cable."""

    def __init__(self, name, folder, ports, options='', detached=False):
        super().__init__(name, folder, detached)
        self.ports = ports
        self.options = options
        self.cables = {}                # port => (netdev, options of ib-port)
        self.extra = []

    def cable(self, port, options=''):
        """Lay a cable into a port; returns the socket of its far end."""
        path = self.path(f'port{port}')
        self.add_netdev(port, stream(path, server=True), options)
        return path

    def add_netdev(self, port, netdev, options=''):
        """A cable of any kind: -netdev's argument without the id."""
        self.cables[port] = (netdev, options)

    def args(self):
        args = ['-M', 'ib-chassis', '-device',
                f'ib-switch,id={self.name},ports={self.ports}{self.options}']
        for port, (netdev, options) in sorted(self.cables.items()):
            args += ['-netdev', f'{netdev},id=n{port}', '-device',
                     f'ib-port,id={self.name}-p{port},bus={self.name}.0,'
                     f'port={port},netdev=n{port}{options}']
        return args + self.extra


class Chassis(Machine):
    """Several switches in one process, cabled to each other by hubs.

    add() and join() lay out the inside, cable() what leads out.  Another
    chassis with sockets of the same names can take its place: its guests
    then find other switches at their cables.
    """

    def __init__(self, name, folder, detached=False):
        super().__init__(name, folder, detached)
        self.switches = {}              # name => (ports, options)
        self.cables = []                # (switch, port, netdev, options)
        self.extra = []

    def add(self, name, ports, options=''):
        self.switches[name] = (ports, options)

    def join(self, one, port, two, far_port, options=''):
        """Port port of switch one to port far_port of switch two."""
        hub = len(self.cables) + 1
        for end in ((one, port), (two, far_port)):
            self.cables.append((*end, f'hubport,hubid={hub}', options))

    def cable(self, switch, port, path, options=''):
        """A cable to whoever connects to a socket."""
        self.cables.append((switch, port, stream(path, server=True), options))

    def args(self):
        args = ['-M', 'ib-chassis']
        for name, (ports, options) in self.switches.items():
            args += ['-device', f'ib-switch,id={name},ports={ports}{options}']
        for switch, port, netdev, options in self.cables:
            end = f'{switch}-p{port}'
            args += ['-netdev', f'{netdev},id=n-{end}', '-device',
                     f'ib-port,id={end},bus={switch}.0,port={port},'
                     f'netdev=n-{end}{options}']
        return args + self.extra


class Guest(Machine):
    """A Debian guest with a connectx3 whose cable is a netdev (-netdev's
    argument without the id), or without one.

    hca is a string of further options of connectx3; extra is more of QEMU's
    command line; root another user land than the image's, megabytes the
    guest's memory.
    """

    def __init__(self, name, folder, kernel, netdev=None, hca='', extra=(),
                 detached=False, root=None, megabytes=512):
        super().__init__(name, folder, detached)
        self.image = dict(paths.image(kernel))
        if root is not None:
            self.image['root'] = root
        self.megabytes = megabytes
        self.kernel = kernel
        self.netdev = netdev
        self.hca = hca
        self.extra = list(extra)
        self.agent = None
        self._booted = 0.0

    def args(self):
        image = self.image
        accel = os.environ.get('ACCEL', 'tcg')
        kernel_args = f'{KERNEL_ARGS} ibtest.name={self.name}'
        if accel == 'tcg':
            kernel_args += TCG_ARGS
        args = ['-M', 'q35', '-accel', accel, '-cpu',
                'host' if accel == 'kvm' else 'max',
                '-m', str(self.megabytes),
                '-no-reboot', '-kernel', image['kernel'],
                '-initrd', image['initrd'],
                '-append', kernel_args,
                '-chardev', f'file,id=console,path={self.path("console")}',
                '-serial', 'chardev:console']
        for disk in ('root', 'modules'):
            args += ['-drive', f'if=none,id={disk},format=raw,readonly=on,'
                     f'file={image[disk]}', '-device',
                     f'virtio-blk-pci,drive={disk}']
        args += ['-device', 'virtio-serial-pci']
        for kind, device in (('agent', 'virtserialport,name=ibtest'),
                             ('shell', 'virtconsole')):
            args += ['-chardev', f'socket,id={kind},server=on,wait=off,'
                     f'path={self.path(kind)}', '-device',
                     f'{device},chardev={kind}']
        if self.netdev is not None:
            args += ['-netdev', f'{self.netdev},id=cable',
                     '-device', 'pcie-root-port,id=rp0,chassis=1',
                     '-device', 'connectx3,id=hca,bus=rp0,netdev=cable'
                     f'{self.hca}']
        return args + self.extra

    def add_hca(self, netdev, hca=''):
        """One more HCA, hca1 and so on, before the guest starts; in the
        guest it is mlx4_1 and so on."""
        n = sum('connectx3' in arg for arg in self.extra) + 1
        self.extra += ['-netdev', f'{netdev},id=cable{n}',
                       '-device', f'pcie-root-port,id=rp{n},chassis={n + 1}',
                       '-device', f'connectx3,id=hca{n},bus=rp{n},'
                       f'netdev=cable{n}{hca}']

    def start(self):
        super().start()
        self.connect()

    def connect(self):
        """A fresh connection to the agent, as after a reset."""
        self.agent = Agent(self.path('agent'))

    def kill(self):
        if self.agent is not None:
            self.agent.close()
            self.agent = None
        super().kill()

    def stop(self):
        if self.agent is not None:
            self.agent.close()
            self.agent = None
        super().stop()

    def console(self):
        """The kernel's console so far."""
        return self._read('console')

    def wait_booted(self, timeout=300):
        try:
            uptime = self.agent.wait(
                self.agent.start('cat /proc/uptime', timeout), timeout)
        except AgentError as error:
            raise StartError(f'guest {self.name} did not boot: {error}\n'
                             f'{self.console()[-3000:]}') from error
        self._booted = float(uptime.out.split()[0])

    def try_sh(self, command, timeout=60):
        """Run a shell command and return its Result, whatever it is."""
        try:
            return self.agent.run(command, timeout)
        except AgentError as error:
            raise AgentError(f'guest {self.name}: {error}\n'
                             f'{self.console()[-3000:]}') from error

    def put(self, path, text):
        """Write a file."""
        self.agent.put(path, text.encode())

    def sh(self, command, timeout=60):
        """Run a shell command that must succeed and return its output."""
        result = self.try_sh(command, timeout)
        if result.status != 0:
            raise CommandError(f'guest {self.name}', result)
        return result.out

    def load_drivers(self, timeout=300):
        """Load the HCA's drivers and name the node, as udev and rdma-ndd
        would; wait for the HCA's character devices."""
        self.sh(f'modprobe -a {DRIVERS}', timeout)
        self.sh('for i in $(seq 100); do'
                ' [ -e /dev/infiniband/umad0 -a'
                ' -e /dev/infiniband/uverbs0 ] && break; sleep 0.1; done;'
                ' echo "$(hostname) mlx4_0"'
                ' >/sys/class/infiniband/mlx4_0/node_desc', timeout)

    def unload_drivers(self, timeout=120):
        self.sh('modprobe -r ib_ipoib rdma_ucm ib_umad mlx4_ib mlx4_core',
                timeout)

    def kernel_problems(self):
        """What the kernel has complained about since it had booted: all
        warnings and errors, and of the HCA's driver all that sounds like
        one, whatever its level."""
        sounds = re.compile(r'(?i)mlx4.*(error|fail|time.?out|timed|warn|'
                            r'cannot|unable|bad|invalid)|Call Trace|BUG:|'
                            r'internal error|blocked for more')
        # ib_mad's, when a driver is unloaded and the SM asks between the end
        # of its agents and the end of its port.
        harmless = 'Unable to find port agent'
        loud = [line for line in
                self._messages('--level=emerg,alert,crit,err,warn')
                if harmless not in line]
        return loud + [line for line in self._messages('')
                       if sounds.search(line) and line not in loud and
                       harmless not in line]

    def _messages(self, options):
        found = []
        for line in self.sh(f'dmesg {options}').splitlines():
            when = re.match(r'\[ *(\d+\.\d+)\]', line)
            if (when and float(when.group(1)) > self._booted
                    and not BUSY_HOST.search(line)):
                found.append(line)
        return found

    def wait_listening(self, port):
        """Until a program waits for clients at this port of TCP, or of
        rdma_cm's TCP port space."""
        self.wait_for('cat /proc/net/tcp /proc/net/tcp6;'
                      ' rdma resource show cm_id 2>/dev/null',
                      rf':{port:04X} 0+:0000 0A|LISTEN .*:{port}\b')

    def start_rcopy(self):
        """rcopy's server, and its process id in /tmp/pid."""
        self.sh('(rcopy >/dev/null 2>&1 & echo $! >/tmp/pid)')
        self.wait_listening(7427)

    def wait_for(self, command, pattern, timeout=60, every=0.3):
        """Repeat a command until its output has the pattern; returns it."""
        deadline = time.monotonic() + timeout
        while True:
            result = self.try_sh(command, timeout)
            if re.search(pattern, result.out):
                return result.out
            if time.monotonic() > deadline:
                raise CommandError(f'guest {self.name}: still no {pattern!r} '
                                   f'after {timeout} s', result)
            time.sleep(every)
