# SPDX-License-Identifier: GPL-2.0-or-later
"""unittest with fabrics: a class a fabric, a copy of the class a kernel."""

import sys
import time
import unittest

from . import paths
from .fabric import Fabric


class FabricCase(unittest.TestCase):
    """The tests of a class share one fabric, which build() lays out.

    With `kernels` set, each_kernel() makes a class for each, whose `kernel`
    says which.  Without the image of its kernel a class is skipped.
    """

    kernel = '6.1'
    fabric = None

    @classmethod
    def build(cls, fabric):
        """Add machines to the fabric; it is started afterwards."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        paths.qemu()
        try:
            paths.image(cls.kernel)
        except paths.Missing as error:
            raise unittest.SkipTest(str(error)) from error
        cls.fabric = Fabric()
        try:
            cls.build(cls.fabric)
            cls.fabric.start()
            cls.prepare()
        except BaseException:
            for line in cls.fabric.diagnostics().splitlines():
                print(f'    {line}')
            cls.fabric.abandon()
            raise

    @classmethod
    def prepare(cls):
        """What to do in the guests once they have booted."""
        cls.fabric.load_drivers()

    @classmethod
    def tearDownClass(cls):
        cls.fabric.close()


def each_kernel(case):
    """Class decorator: the class once for each kernel, in its module."""
    module = sys.modules[case.__module__]
    for kernel in paths.KERNELS:
        name = f'{case.__name__}_{kernel.replace(".", "_")}'
        made = type(name, (case,), {'kernel': kernel,
                                    '__module__': case.__module__,
                                    '__qualname__': name})
        setattr(module, name, made)
    return None


def long_test(test):
    """Decorator of a class or a method: only --long runs it."""
    test.long_test = True
    return test


def is_long(test):
    """Of a test that has been loaded."""
    method = getattr(test, test._testMethodName, None)
    return (getattr(test, 'long_test', False) or
            getattr(method, 'long_test', False))


class Result(unittest.TestResult):
    """One line a test, with its time; what failed shows the fabric's logs."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream
        self.failed = 0
        self._begun = None

    def startTest(self, test):
        super().startTest(test)
        self._begun = time.monotonic()

    def _line(self, what, test, text=''):
        seconds = time.monotonic() - (self._begun or time.monotonic())
        print(f'{what:4} {seconds:6.1f} s  {test.id()}{text}',
              file=self.stream, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line('ok', test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line('skip', test, f': {reason}')

    def _bad(self, test, error):
        self.failed += 1
        self._line('FAIL', test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print(f'    {line}', file=self.stream)
        fabric = getattr(type(test), 'fabric', None)
        if fabric is not None and isinstance(test, FabricCase):
            for line in fabric.diagnostics().splitlines():
                print(f'    {line}', file=self.stream)
        self.stream.flush()

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._bad(subtest, err)


def run(suite, name):
    """Run a suite; the last line printed is its count.  True if it passed."""
    result = Result(sys.stdout)
    suite.run(result)
    skipped = len(result.skipped)
    # A skipped or failed class counts as one, and none of its tests ran.
    passed = max(0, result.testsRun - len(
        [test for test, _ in result.skipped + result.failures + result.errors
         if hasattr(test, '_testMethodName')]))
    print(f'{name}: {passed} passed, {result.failed} failed, '
          f'{skipped} skipped', flush=True)
    return result.failed == 0
