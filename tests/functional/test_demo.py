# SPDX-License-Identifier: GPL-2.0-or-later
"""Each step of scripts/demo, on each kernel."""

import unittest

from ibtest.case import FabricCase, each_kernel
from ibtest.demo import lay_out
from ibtest.steps import STEPS, run_step


class Demo(FabricCase):
    @classmethod
    def build(cls, fabric):
        cls.guests, cls.facts = lay_out(fabric, cls.kernel)

    def step(self, step):
        report = run_step(step, self.guests, self.facts)
        if report.wrong is not None:
            self.fail(f'{report.command}: {report.wrong}\n{report.out}')

    def test_99_no_complaint_from_the_kernel(self):
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_problems(), [])


def add_steps(case):
    for i, step in enumerate(STEPS):
        def method(self, step=step):
            self.step(step)
        name = f'test_{i + 1:02}_{step.name.replace("-", "_")}'
        method.__doc__ = step.title
        setattr(case, name, method)


add_steps(Demo)
each_kernel(Demo)
del Demo

if __name__ == '__main__':
    unittest.main()
