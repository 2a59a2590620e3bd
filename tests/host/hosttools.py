# SPDX-License-Identifier: GPL-2.0-or-later
"""Fabrics of build/*/ib-fabric (or of ibsim) and this host's programs on
them, for tests and for scripts/bench."""

import contextlib
import glob
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from ibfabric import topology

TOP = pathlib.Path(__file__).resolve().parents[2]
CORE = os.environ.get('IB_CORE_BUILD', str(TOP / 'build/core'))
NAMES = itertools.count()


class Failed(Exception):
    """A program did not do what it must."""


def library():
    found = glob.glob('/usr/lib/*/umad2sim/libumad2sim.so')
    if not found:
        raise Failed('no libumad2sim.so: install libumad2sim0')
    return found[0]


def own_library():
    """The plain-C build's, or else that of scripts/build-qemu."""
    for path in (os.path.join(CORE, 'tools', 'umad', 'libib-umad.so'),
                 str(TOP / 'build/libib-umad.so')):
        if os.path.exists(path):
            return path
    raise Failed('no libib-umad.so: install libibumad-dev and build again')


def graph(path):
    """Nodes and cables of a topology file, whatever its names are."""
    read = topology.read(str(path))
    nodes = {(node.kind, node.guid, node.num_ports) for node in read.nodes}
    cables = {frozenset(((node.guid, port), (peer.guid, peer_port)))
              for node in read.nodes
              for port, (peer, peer_port) in node.ports.items()}
    return nodes, cables


class Fabric:
    """A server on a topology file; "with" ends all that runs on it.

    folder holds what is written; name is IBSIM_SOCKNAME.
    """

    ready = 'cables'
    good_end = (0,)
    library = staticmethod(library)

    def __init__(self, path):
        self.name = f'ibtest{os.getpid()}-{next(NAMES)}'
        self.path = os.path.abspath(path)
        self.folder = tempfile.mkdtemp(prefix='ib-fabric-')
        self.processes = []
        self.server = None

    def command(self):
        return [os.path.join(CORE, 'ib-fabric'), '--name', self.name,
                '--control', self.file('control'), self.path]

    def file(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            with contextlib.suppress(Failed):
                self.__exit__(None, None, None)
            raise
        return self

    def start(self, timeout=120):
        with open(self.file('server'), 'wb') as log:
            self.server = subprocess.Popen(
                self.command(), cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, IBSIM_SOCKNAME=self.name))
        self.wait_text('server', self.ready, timeout, self.server)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        log, status = '', 0
        if self.server is not None:
            self.server.terminate()
            status = self.server.wait()
            log = self.text('server')
        shutil.rmtree(self.folder, ignore_errors=True)
        if status not in self.good_end:
            raise Failed(f'the server ended with {status}: {log[-4000:]}')

    def text(self, name):
        try:
            with open(self.file(name), encoding='utf-8',
                      errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def wait_text(self, name, pattern, timeout=60, process=None, count=1):
        """Until a file has the pattern so often; the time it took."""
        begun = time.monotonic()
        while len(re.findall(pattern, self.text(name))) < count:
            if process is not None and process.poll() is not None:
                raise Failed(f'ended: {self.text(name)[-2000:]}')
            if time.monotonic() - begun > timeout:
                raise Failed(f'no {pattern!r} in {timeout} s: '
                             f'{self.text(name)[-2000:]}')
            time.sleep(0.01)
        return time.monotonic() - begun

    def env(self, node=None):
        env = dict(os.environ, IBSIM_SOCKNAME=self.name,
                   LD_PRELOAD=self.library(), OSM_CACHE_DIR=self.folder,
                   OSM_TMP_DIR=self.folder)
        if node:
            env['SIM_HOST'] = node
        return env

    def try_run(self, *command, node=None, timeout=60):
        try:
            return subprocess.run(
                command, cwd=self.folder, env=self.env(node), text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f'{command}: not done in {timeout} s') from error

    def run(self, *command, node=None, timeout=60):
        """A program that must succeed; what it printed."""
        done = self.try_run(*command, node=node, timeout=timeout)
        if done.returncode:
            raise Failed(f'{command}: status {done.returncode}: '
                         f'{done.stdout[-2000:]}')
        return re.sub('(?m)^ibwarn: .* attached as client .*\n', '',
                      done.stdout)

    def opensm(self, *options, conf='', node=None, timeout=120, wait=True):
        """OpenSM, on until the fabric ends, once it has brought it up."""
        number = len(self.processes)
        log, conf_file = f'opensm{number}.log', self.file(f'opensm{number}')
        with open(conf_file, 'w', encoding='utf-8') as file:
            file.write(f'force_log_flush TRUE\n{conf}')
        with open(self.file(f'{log}.out'), 'wb') as out:
            process = subprocess.Popen(
                ['opensm', '-F', conf_file, '-f', self.file(log), *options],
                cwd=self.folder, env=self.env(node), stdout=out,
                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self.processes.append(process)
        if wait:
            self.wait_text(log, 'SUBNET UP', timeout, process)
        return process, log

    def ask(self, line):
        """What the control socket says."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(30)
            sock.connect(self.file('control'))
            sock.sendall(line.encode() + b'\n')
            data = b''
            while not data.endswith(b'\n'):
                part = sock.recv(1 << 20)
                if not part:
                    raise Failed(f'{line}: the server hung up')
                data += part
        answer = json.loads(data)
        if 'error' in answer:
            raise Failed(f'{line}: {answer["error"]}')
        return answer

    def wait_active(self, timeout=60):
        """All cables that are in are Active."""
        deadline = time.monotonic() + timeout
        while True:
            status = self.ask('status')
            if status['active'] == status['cables']:
                return status
            if time.monotonic() > deadline:
                raise Failed(f'not all Active: {status}')
            time.sleep(0.1)

    def dump(self, timeout=120):
        """What ibnetdiscover finds, as a file."""
        out = self.run('ibnetdiscover', timeout=timeout)
        path = self.file('dump')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(out)
        return path

    def processor_time(self):
        """Of the server, in s."""
        with open(f'/proc/{self.server.pid}/stat', encoding='utf-8') as file:
            fields = file.read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def peak_memory(self):
        """Of the server, in MB."""
        with open(f'/proc/{self.server.pid}/status',
                  encoding='utf-8') as file:
            return int(re.search(r'VmHWM:\s*(\d+)', file.read()).group(1)) \
                / 1024


class Attached(Fabric):
    """This host's programs on a fabric that something else serves, by default
    under a name that it is to take from here."""

    library = staticmethod(own_library)

    def __init__(self, path, name=None):
        super().__init__(path)
        self.name = name or self.name

    def start(self, timeout=120):
        pass


class Ibsim(Fabric):
    """The same of ibsim."""

    ready = 'simulator ready'
    good_end = (0, -15)

    def command(self):
        read = topology.read(self.path)
        switches = list(read.switches())
        ports = sum(node.num_ports + 1 for node in read.nodes)
        return ['ibsim', '-s', '-n', '-N', str(len(read.nodes) + 16),
                '-S', str(len(switches) + 16), '-P', str(ports + 64),
                '-L', '49151', self.path]


class Client:
    """The protocol itself, as libumad2sim.so speaks it."""

    CONTROL = '=IIII64s'
    REQUEST = '=IIIII4xQ256s'

    def __init__(self, fabric, node=''):
        # The server knows clients by their process: any number does.
        self.fabric, self.number = fabric, 4000000 + next(NAMES)
        self.sockets = []
        self.control = self.socket('ctl', 'ctl')
        self.mads = self.bind(f'in{self.number}')
        data = struct.pack('=III32s', self.number, 0, 0, node.encode())
        self.id = -1
        answer = self.ask(1, data)
        self.id = struct.unpack_from('=I', answer)[0]
        self.mads.connect(self.address(f'out{self.id}'))

    def address(self, name):
        return f'\0{self.fabric.name}:{name}\0'

    def bind(self, name):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.settimeout(20)
        sock.bind(self.address(name))
        self.sockets.append(sock)
        return sock

    def socket(self, name, peer):
        sock = self.bind(f'{name}{self.number}')
        sock.connect(self.address(peer))
        return sock

    def ask(self, kind, data=b''):
        self.control.send(struct.pack(self.CONTROL, 0xdeadbeef,
                                      self.id & 0xffffffff, kind, len(data),
                                      data))
        answer = struct.unpack(self.CONTROL, self.control.recv(512))
        if answer[2] == 0:
            raise Failed(f'control {kind} refused')
        return answer[4]

    def send(self, mad, dlid=0xffff, qpn=0):
        """A MAD; (status, MAD) of its answer."""
        self.mads.send(struct.pack(
            self.REQUEST, socket.htons(dlid), 0, socket.htonl(qpn),
            socket.htonl(qpn), 0, 0, mad.ljust(256, b'\0')))
        answer = struct.unpack(self.REQUEST, self.mads.recv(512))
        return socket.ntohl(answer[4]), answer[6]

    def smp(self, attribute, path=(), method=1, modifier=0, tid=1, dlid=None):
        """A directed-route SMP, or with a dlid a LID-routed one."""
        mad = bytearray(256)
        struct.pack_into('>BBBBHBBQHHI', mad, 0, 1,
                         0x81 if dlid is None else 1, 1, method, 0, 0,
                         len(path), tid, attribute, 0, modifier)
        if dlid is None:
            struct.pack_into('>HH', mad, 32, 0xffff, 0xffff)
            mad[129:129 + len(path)] = bytes(path)
        return self.send(bytes(mad), 0xffff if dlid is None else dlid)

    def gmp(self, mgmt_class, attribute, dlid, version=1):
        """A Get of another class."""
        mad = struct.pack('>BBBBHHQHHI', 1, mgmt_class, version, 1, 0, 0, 77,
                          attribute, 0, 0)
        return self.send(mad, dlid, 1)

    def close(self):
        for sock in self.sockets:
            sock.close()
