# SPDX-License-Identifier: GPL-2.0-or-later
"""rdma-core's own tests (pyverbs), of Debian 13's version, in a guest.

Each passes, or is skipped for a reason that docs/pyverbs-skips.csv has: rows
of a regular expression for test ids and the reason, which docs/verbs.rst shows.
A row that no skipped test needs, or that names one that passes, is wrong too.
"""

import csv
import io
import json
import os
import re
import tarfile
import unittest

from ibtest import paths
from ibtest.case import FabricCase, each_kernel
from ibtest.steps import bring_up

SKIPS = paths.TOP / 'docs/pyverbs-skips.csv'
RUNNER = paths.TOP / 'tests/functional/ibtest/guest/pyverbs'
LOGS = paths.TOP / 'build/log'


def expected_skips():
    """[(compiled pattern, reason)]"""
    with open(SKIPS, encoding='utf-8', newline='') as file:
        rows = list(csv.reader(file))
    return [(re.compile(f'tests\\.({pattern})'), reason)
            for pattern, reason in rows]


def packed(folder):
    """The tests as a tar file, in bytes."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w:gz') as tar:
        tar.add(folder, 'tests')
    return data.getvalue()


class Pyverbs(FabricCase):
    @classmethod
    def build(cls, fabric):
        try:
            cls.image = paths.verbs()
        except paths.Missing as error:
            raise unittest.SkipTest(str(error)) from error
        if not os.path.isdir(cls.image['tests']):
            raise unittest.SkipTest(cls.image['missing'] or 'no tests')
        switch = fabric.add_switch('sw0', 4)
        # With memory for the huge pages that some tests register.
        cls.guests = {name: fabric.add_guest(name, cls.kernel, switch, port,
                                             root=cls.image['root'],
                                             megabytes=1024)
                      for name, port in (('a', 1),)}

    @classmethod
    def prepare(cls):
        super().prepare()
        # Connections that rdma_cm makes need an address.
        bring_up(cls.guests, {'ports': 4}, ('opensm', 'ibstat-a', 'ipoib-a'))
        guest = cls.guests['a']
        guest.sh('echo 32 >/sys/kernel/mm/hugepages/hugepages-2048kB/'
                 'nr_hugepages')
        guest.agent.put('/root/tests.tar.gz', packed(cls.image['tests']))
        guest.agent.put('/root/pyverbs', RUNNER.read_bytes(), 0o755)
        guest.sh('tar xzf tests.tar.gz')

    def results(self):
        """[(id, how, why)] of all tests, which go to a log as well."""
        done = self.guests['a'].try_sh('./pyverbs .', 900)
        found = [json.loads(line) for line in done.out.splitlines()]
        LOGS.mkdir(parents=True, exist_ok=True)
        path = LOGS / f'pyverbs-{self.kernel}.log'
        with open(path, 'w', encoding='utf-8') as file:
            for name, how, why in found:
                print(f'{how:4} {name}{": " if why else ""}{why}', file=file)
        if done.status != 0:
            self.fail(f'it ended after {found[-1:]}: {done.err[-3000:]}')
        return found

    def test_all(self):
        found = self.results()
        rows = expected_skips()
        needed = set()
        for name, how, why in found:
            row = next((row for row in rows if row[0].match(name)), None)
            if how == 'skip':
                needed.add(row)
            with self.subTest(name):
                self.assertNotEqual(how, 'fail', why)
                if how == 'skip':
                    self.assertIsNotNone(row, why)
                else:
                    self.assertIsNone(row, 'it passes, and a row says not')
        for row in rows:
            with self.subTest(row[0].pattern):
                self.assertIn(row, needed, 'no skipped test needs this row')
        count = [sum(how == what for _, how, _ in found)
                 for what in ('ok', 'skip')]
        print(f'     pyverbs {self.image["version"]}: {count[0]} passed, '
              f'{count[1]} skipped as expected', flush=True)
        self.assertGreater(count[0], 60)

    def test_zz_no_complaint_from_the_kernel(self):
        self.assertEqual(self.guests['a'].kernel_problems(), [])


each_kernel(Pyverbs)
del Pyverbs

if __name__ == '__main__':
    unittest.main()
