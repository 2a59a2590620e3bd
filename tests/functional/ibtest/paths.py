# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are that scripts/build-qemu and scripts/guest-image make."""

import json
import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
CACHE = pathlib.Path(os.environ.get('XDG_CACHE_HOME') or
                     pathlib.Path.home() / '.cache') / 'qemu-ibswitch'
QEMU = pathlib.Path(os.environ.get('QEMU') or
                    TOP / 'build/qemu-system-x86_64')
# In front of a program's libibumad: the program is on a fabric.
UMAD = TOP / 'build/libib-umad.so'
QEMU_PYTHON = pathlib.Path(os.environ.get('QEMU_PYTHON') or
                           TOP / 'build/qemu-src/python')

# Kernels that guests can have, as scripts/guest-image names them.
KERNELS = ('6.1', '6.12')


class Missing(Exception):
    """Something that a script has to build first; says which."""


def use_qemu_python():
    """Put QEMU's own python packages (qemu.machine, qemu.qmp) on the path."""
    if not (QEMU_PYTHON / 'qemu/machine').is_dir():
        raise Missing(f'no {QEMU_PYTHON}/qemu: run scripts/build-qemu')
    if str(QEMU_PYTHON) not in sys.path:
        sys.path.insert(0, str(QEMU_PYTHON))


def qemu():
    """The QEMU binary, as a string."""
    if not os.access(QEMU, os.X_OK):
        raise Missing(f'no {QEMU}: run scripts/build-qemu')
    return str(QEMU)


def image(kernel):
    """The guest image with that kernel: a dict of file names."""
    path = CACHE / 'guest' / f'{kernel}.json'
    try:
        found = json.loads(path.read_text())
    except OSError:
        raise Missing(f'no guest with kernel {kernel}: run '
                      f'scripts/guest-image --kernel {kernel}') from None
    for key in ('kernel', 'initrd', 'root', 'modules'):
        if not os.path.exists(found[key]):
            raise Missing(f'{found[key]} is gone: run '
                          f'scripts/guest-image --kernel {kernel}')
    return found


def verbs():
    """The user land of scripts/guest-image --verbs: its root, the folder of
    rdma-core's tests, or in `missing` why that is not there."""
    try:
        found = json.loads((CACHE / 'guest/verbs.json').read_text())
    except OSError:
        raise Missing('no user land for verbs: run '
                      'scripts/guest-image --verbs') from None
    if not os.path.exists(found['root']):
        raise Missing(f'{found["root"]} is gone: run '
                      'scripts/guest-image --verbs')
    return found
