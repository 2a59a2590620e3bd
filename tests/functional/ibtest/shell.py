# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/guest NAME [COMMAND...]: into a guest of scripts/demo --keep."""

import os
import select
import shlex
import socket
import sys
import termios
import tty

from .agent import Agent
from .demo import kept

# Typed to leave the shell; the shell itself stays.
LEAVE = b'\x1d'                 # Ctrl-]

START = '''
if [ ! -e /run/ibtest/shell ]; then
    touch /run/ibtest/shell
    setsid sh -c 'while :; do setsid -c bash -l; done' \
        </dev/hvc0 >/dev/hvc0 2>&1 &
fi
stty -F /dev/hvc0 rows {rows} cols {columns}
'''


def one_command(agent, words):
    # One word is a shell's line, several are a command and its arguments.
    command = words[0] if len(words) == 1 else shlex.join(words)
    result = agent.run(command, 3600)
    sys.stdout.write(result.out)
    sys.stderr.write(result.err)
    return 124 if result.status is None else result.status


def interactive(agent, path):
    try:
        columns, rows = os.get_terminal_size()
    except OSError:
        columns, rows = 80, 24
    console = socket.socket(socket.AF_UNIX)
    console.connect(path)
    agent.run(START.format(rows=rows, columns=columns))
    print('Ctrl-] leaves the shell.')
    screen = sys.stdin.fileno()
    saved = termios.tcgetattr(screen) if os.isatty(screen) else None
    try:
        if saved:
            tty.setraw(screen)
        console.sendall(b'\r')
        while True:
            ready = select.select([screen, console], [], [])[0]
            if screen in ready:
                data = os.read(screen, 4096)
                if not data or LEAVE in data:
                    return 0
                console.sendall(data)
            if console in ready:
                data = console.recv(4096)
                if not data:
                    return 0
                os.write(sys.stdout.fileno(), data)
    finally:
        if saved:
            termios.tcsetattr(screen, termios.TCSADRAIN, saved)
        print()


def main(args):
    state = kept()
    if not args or args[0].startswith('-'):
        print(__doc__)
        return 2
    if state is None:
        print('error: no fabric is up: scripts/demo --keep leaves one',
              file=sys.stderr)
        return 1
    path = os.path.join(state['folder'], args[0])
    if args[0] not in state['alive'] or not os.path.exists(f'{path}.agent'):
        print(f'error: no guest {args[0]}; running: '
              + ', '.join(state['alive']), file=sys.stderr)
        return 1
    agent = Agent(f'{path}.agent')
    if len(args) > 1:
        return one_command(agent, args[1:])
    return interactive(agent, f'{path}.shell')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
