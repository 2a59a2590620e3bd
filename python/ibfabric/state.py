# SPDX-License-Identifier: GPL-2.0-or-later
"""Fabrics that are up: a folder each, and the processes that use it.

The folder has the processes' sockets and logs, a copy of the topology, and
what status tells (state.json).  Which processes belong to it is looked up in
/proc, where their command lines name the folder: that holds for a run that
crashed, too.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import tempfile
import time

from . import Failure, topology

# In the environment of what "host" runs; says which fabric it talks to.
MARK = 'IBFABRIC_FOLDER'


def base():
    """The folder of all fabrics of this user."""
    given = os.environ.get('IBFABRIC_RUN')
    if given:
        path = pathlib.Path(given)
    elif os.environ.get('XDG_RUNTIME_DIR'):
        path = pathlib.Path(os.environ['XDG_RUNTIME_DIR']) / 'ibfabric'
    else:
        path = pathlib.Path(tempfile.gettempdir()) / f'ibfabric-{os.getuid()}'
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise Failure(f'{path} is not this user\'s alone: set IBFABRIC_RUN')
    return path.resolve()


class Run:
    """A fabric by its name, up or not."""

    def __init__(self, name):
        if not re.fullmatch(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,31}', name):
            raise Failure(f'"{name}" is no name for a fabric: letters, '
                          'digits, "-", "_" and ".", at most 32')
        self.name = name
        self.folder = base() / name

    def path(self, name):
        return str(self.folder / name)

    @contextlib.contextmanager
    def locked(self):
        """While it is coming up or going down."""
        with open(f'{self.folder}.lock', 'w', encoding='ascii') as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Failure(f'another ibfabric is at work on "{self.name}"'
                              ) from None
            yield

    def busy(self):
        """Is another process bringing it up or down?"""
        try:
            with self.locked():
                return False
        except Failure:
            return True

    def processes(self):
        """Its QEMU processes, name -> pid."""
        found = {}
        mark = f'path={self.folder}/'.encode()
        for pid, args in _commands('cmdline'):
            if mark in args and b'-name\0' in args:
                args = args.split(b'\0')
                name = args[args.index(b'-name') + 1].decode()
                found[name] = pid
        return found

    def host_processes(self):
        """Pids of what "host" has started and is still there, without this
        process and those that it came from."""
        own = set()
        pid = os.getpid()
        while pid > 1 and pid not in own:
            own.add(pid)
            pid = _parent(pid)
        mark = f'{MARK}={self.folder}\0'.encode()
        return [pid for pid, env in _commands('environ')
                if mark in env and pid not in own]

    def load(self):
        try:
            return json.loads((self.folder / 'state.json').read_text())
        except (OSError, ValueError):
            return {}

    def save(self, state):
        path = self.folder / 'state.json'
        path.with_suffix('.new').write_text(json.dumps(state, indent=1))
        path.with_suffix('.new').rename(path)

    def topology(self):
        return topology.read(self.path('topology'))

    def clear(self, patience=5):
        """End its processes, in good order if they can within so many
        seconds, and remove the folder; the names of those that ran."""
        found = self.processes()
        left = list(found.values()) + self.host_processes()
        for number, seconds in ((signal.SIGTERM, patience),
                                (signal.SIGKILL, 5)):
            if seconds:
                left = _end(left, number, seconds)
        shutil.rmtree(self.folder, ignore_errors=True)
        return sorted(found)


def _end(pids, number, seconds):
    """Send them a signal and wait; those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    deadline = time.monotonic() + seconds
    while pids and time.monotonic() < deadline:
        pids = [pid for pid in pids if _alive(pid)]
        time.sleep(0.02)
    return pids


def _alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def _parent(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            return int(file.read().rpartition(')')[2].split()[1])
    except OSError:
        return 0


def _commands(kind):
    """(pid, content of /proc/PID/kind) of this user's processes."""
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                with open(f'/proc/{entry}/{kind}', 'rb') as file:
                    yield int(entry), file.read()
            except OSError:
                pass


def all_runs():
    """Every fabric that has a folder."""
    return [Run(path.name) for path in sorted(base().iterdir())
            if path.is_dir()]


def find(name=None):
    """The fabric of that name, or the only one that is up."""
    if name is None:
        up = [run for run in all_runs() if run.processes()]
        if len(up) == 1:
            return up[0]
        if up:
            raise Failure('which fabric? -n ' + ', -n '.join(
                run.name for run in up))
        raise Failure('no fabric is up: scripts/ibfabric up FILE')
    run = Run(name)
    if not run.processes():
        raise Failure(f'no fabric "{name}" is up')
    return run
