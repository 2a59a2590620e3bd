# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ibfabric: whole InfiniBand fabrics from a topology file.

    topology  the format of ibnetdiscover and ibsim, read and written
    generate  fat trees, tori, dragonflies, rings and single switches
    graph     a picture of a fabric, through graphviz
"""


class Failure(Exception):
    """What a person has to know, in one line."""
