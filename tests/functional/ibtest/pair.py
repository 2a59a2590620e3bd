# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests on a switch, and programs that talk from one to the other."""

import re
import unittest

from . import paths
from .case import FabricCase
from .steps import bring_up


class PairCase(FabricCase):
    """Guests a (10.0.0.1, with OpenSM) and b (10.0.0.2), and switch sw0.

    With `clients` they have the user land of scripts/guest-image --verbs.
    """

    clients = False

    @classmethod
    def build(cls, fabric):
        options = {}
        if cls.clients:
            try:
                options = {'root': paths.verbs()['root'], 'megabytes': 1024}
            except paths.Missing as error:
                raise unittest.SkipTest(str(error)) from error
        cls.switch = fabric.add_switch('sw0', 4)
        cls.guests = {name: fabric.add_guest(name, cls.kernel, cls.switch,
                                             port, **options)
                      for name, port in (('a', 1), ('b', 2))}
        cls.facts = {'ports': 4}

    @classmethod
    def prepare(cls):
        super().prepare()
        # Most programs exchange their addresses over IPoIB.
        bring_up(cls.guests, cls.facts)

    def try_pair(self, server, client=None, timeout=60):
        """Run a program in b, and in a with b's address; both Results."""
        a, b = self.guests['a'], self.guests['b']
        client = client or f'{server} 10.0.0.2'
        waiting = b.agent.start(server, timeout)
        # The client does not wait for a server that is slow to start.
        done = a.try_sh(f'for i in 1 2 3 4 5 6; do sleep 0.5; {client} && '
                        'exit; done; exit 1', timeout)
        return done, b.agent.wait(waiting, timeout + 60)

    def pair(self, server, client=None, timeout=60):
        """try_pair() of programs that must succeed; a's output."""
        done, end = self.try_pair(server, client, timeout)
        self.assertEqual(done.status, 0, f'{done}\n{end}')
        self.assertEqual(end.status, 0, f'{done}\n{end}')
        return done.out

    def perftest(self, program, sizes, timeout=90):
        """perftest must report figures for these sizes of message.

        Before each figure it measures the rate of the guest's time stamp
        counter, and gives up where a busy host makes that uneven.  Then the
        sizes that it had not come to are tried one by one."""
        missing = self._perftest(program, sizes, timeout)
        for size in missing:
            one = re.sub(' -a( |$)', f' -s {size}\\1', program)
            if not any(self._perftest(one, [size], timeout) == []
                       for _ in range(6)):
                self.skipTest("perftest cannot tell this guest's clock "
                              'rate: the host is busy')

    def _perftest(self, program, sizes, timeout):
        """Those of the sizes that are without a figure."""
        done, end = self.try_pair(program, timeout=timeout)
        found = re.findall(r'(?m)^ *(\d+) +(\d+) +(?:\d|inf)',
                           done.out)
        missing = [size for size in sizes
                   if str(size) not in (row[0] for row in found)]
        good = done.status == 0 and end.status == 0
        if "Can't produce a report" not in f'{done}{end}':
            self.assertTrue(good and not missing, f'{done}\n{end}')
        elif not good and not missing:      # the last one, at one end
            missing = sizes[-1:]
        return missing

    def no_complaints(self, but='(?!)'):
        """No guest's kernel complains of anything but what matches."""
        for guest in self.guests.values():
            self.assertEqual([line for line in guest.kernel_problems()
                              if not re.search(but, line)], [])
