# SPDX-License-Identifier: GPL-2.0-or-later
"""Times of whole fabrics, for scripts/bench."""

import time

from .demo import lay_out
from .fabric import Fabric
from .steps import bring_up


def time_to_active(kernel):
    """Seconds from the power-on of two guests until OpenSM, in one of them,
    has made both of their ports Active."""
    with Fabric() as fabric:
        guests, facts = lay_out(fabric, kernel)
        begun = time.monotonic()
        fabric.start()
        fabric.load_drivers()
        bring_up(guests, facts, ('opensm', 'ibstat-a', 'ibstat-b'))
        return time.monotonic() - begun
