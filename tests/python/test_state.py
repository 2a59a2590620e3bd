# SPDX-License-Identifier: GPL-2.0-or-later
"""Fabrics that are up, told by their processes; stand-ins for QEMU here."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from ibfabric import Failure, state


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.dict(os.environ, IBFABRIC_RUN=folder.name)
        patch.start()
        self.addCleanup(patch.stop)

    def process(self, run, name, env=None):
        """Something whose command line is that of a machine of the run."""
        args = [sys.executable, '-c', 'import time; time.sleep(60)'] + (
            [] if env else ['-name', name, '-chardev',
                            f'socket,path={run.path(name)}.qmp'])
        made = subprocess.Popen(args, env=dict(os.environ, **(env or {})))
        self.addCleanup(made.wait)
        self.addCleanup(made.kill)
        for _ in range(500):    # until it is that program
            with open(f'/proc/{made.pid}/cmdline', 'rb') as file:
                if file.read().startswith(sys.executable.encode()):
                    break
            time.sleep(0.01)
        return made

    def test_processes(self):
        run, other = state.Run('lab'), state.Run('lab2')
        made = self.process(run, 'node-1')
        self.assertEqual(run.processes(), {'node-1': made.pid})
        self.assertEqual(other.processes(), {})

    def test_find(self):
        with self.assertRaisesRegex(Failure, 'no fabric is up'):
            state.find()
        for name in ('a', 'b'):
            run = state.Run(name)
            run.folder.mkdir()
            self.process(run, 'fabric')
            if name == 'a':
                self.assertEqual(state.find().name, 'a')
        with self.assertRaisesRegex(Failure, 'which fabric'):
            state.find()
        self.assertEqual(state.find('b').name, 'b')
        with self.assertRaisesRegex(Failure, 'no fabric "c" is up'):
            state.find('c')

    def test_clear(self):
        """Processes, what "host" started, and files are gone."""
        run = state.Run('lab')
        run.folder.mkdir()
        run.save({'status': 'up'})
        machine = self.process(run, 'fabric')
        host = self.process(run, '', {state.MARK: str(run.folder)})
        stranger = self.process(state.Run('lab2'), 'fabric')
        self.assertEqual(run.clear(), ['fabric'])
        self.assertIsNotNone(machine.wait(5))
        self.assertIsNotNone(host.wait(5))
        self.assertIsNone(stranger.poll())
        self.assertFalse(run.folder.exists())

    def test_lock(self):
        run = state.Run('lab')
        self.assertFalse(run.busy())
        with run.locked():
            self.assertTrue(run.busy())
            with self.assertRaisesRegex(Failure, 'another ibfabric'):
                with state.Run('lab').locked():
                    pass
        self.assertFalse(run.busy())

    def test_names(self):
        for name in ('', '..', 'a/b', '.a', 'a' * 33, 'a b'):
            with self.assertRaisesRegex(Failure, 'no name for a fabric'):
                state.Run(name)

    def test_folder_of_another_user(self):
        os.chmod(os.environ['IBFABRIC_RUN'], 0o777)
        with self.assertRaisesRegex(Failure, 'not this user'):
            state.base()


if __name__ == '__main__':
    unittest.main()
