# SPDX-License-Identifier: GPL-2.0-or-later
"""QMP with the processes of a fabric that is up."""

from ibtest import paths

from . import Failure


class Monitor:
    """A connection to one process; its methods raise Failure."""

    def __init__(self, run, name):
        paths.use_qemu_python()
        # pylint: disable=import-outside-toplevel
        from qemu.qmp import QMPError
        from qemu.qmp.legacy import QEMUMonitorProtocol

        self.name = name
        self.error = QMPError
        self._qmp = QEMUMonitorProtocol(run.path(f'{name}.qmp'))
        self._qmp.settimeout(30)
        try:
            self._qmp.connect()
        except (OSError, QMPError) as error:
            raise Failure(f'{name} does not answer: {error}') from None

    def close(self):
        self._qmp.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, name, **arguments):
        try:
            return self._qmp.cmd(name, **arguments)
        except self.error as error:
            raise Failure(f'{self.name}: {error}') from None

    def get(self, path, name):
        return self.command('qom-get', path=path, property=name)

    def set(self, path, name, value):
        return self.command('qom-set', path=path, property=name, value=value)
