# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's end of guest/agent: commands in a guest, over a UNIX socket."""

import random
import select
import socket
import time
from dataclasses import dataclass


class AgentError(Exception):
    """The guest does not answer."""


@dataclass
class Result:
    """How a command ended: status is an exit code, or None for a time-out."""
    command: str
    status: int
    out: str
    err: str
    seconds: float

    def __str__(self):
        status = 'timed out' if self.status is None else f'exit {self.status}'
        return (f'{self.command!r}: {status} after {self.seconds:.1f} s\n'
                f'{self.out}{self.err}')


class CommandError(Exception):
    """A command failed; result says how."""

    def __init__(self, where, result):
        super().__init__(f'{where}: {result}')
        self.result = result


class Agent:
    """One connection to a guest's agent.

    Several commands can run at once: start() gives an id and wait() takes
    it.  Answers come as the commands end.
    """

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._buffer = b''
        self._results = {}
        self._begun = {}

    def close(self):
        self._socket.close()

    def start(self, command, timeout):
        """Start a shell script that may take timeout seconds."""
        key = f'{random.getrandbits(48):x}'
        data = command.encode()
        self._begun[key] = (command, time.monotonic())
        self._send(f'run {key} {timeout} {len(data)}\n'.encode() + data)
        return key

    def put(self, path, content, mode=0o644, timeout=60):
        """Write a file in the guest."""
        key = f'{random.getrandbits(48):x}'
        self._begun[key] = (f'put {path}', time.monotonic())
        self._send(f'put {key} {mode:o} {len(content)} {path}\n'.encode() +
                   content)
        result = self.wait(key, timeout)
        if result.status != 0:
            raise AgentError(result.err.strip())

    def wait(self, key, timeout):
        """Wait up to timeout seconds for a command's end."""
        deadline = time.monotonic() + timeout
        while key not in self._results:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AgentError(f'no answer in {timeout} s to: '
                                 f'{self._begun[key][0]}')
            if select.select([self._socket], [], [], left)[0]:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise AgentError('the guest is gone, during: '
                                     f'{self._begun[key][0]}')
                self._buffer += data
                self._take()
        self._begun.pop(key)
        return self._results.pop(key)

    def run(self, command, timeout=60):
        # The guest enforces the time-out; only a dead guest exceeds it.
        return self.wait(self.start(command, timeout), timeout + 60)

    def _send(self, data):
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise AgentError(f'the guest is gone: {error}') from error

    def _take(self):
        while b'\n' in self._buffer:
            line, rest = self._buffer.split(b'\n', 1)
            key, status, out, err = line.decode().split(' ')
            out, err = int(out), int(err)
            if len(rest) < out + err:
                return
            self._buffer = rest[out + err:]
            if key not in self._begun:      # asked by an earlier connection
                continue
            command, begun = self._begun[key]
            if status == 'timeout':
                status = None
            elif status.startswith('signal:'):
                status = 128 + int(status[7:])
            else:
                status = int(status)
            self._results[key] = Result(
                command, status, rest[:out].decode(errors='replace'),
                rest[out:out + err].decode(errors='replace'),
                time.monotonic() - begun)
