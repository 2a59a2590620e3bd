# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole InfiniBand fabrics of QEMU processes, for the demo and for tests.

    paths     what scripts/build-qemu and scripts/guest-image have made
    agent     commands in a guest: exit codes, output, time-outs
    machines  one QEMU process: a switch, or a guest with its HCA
    fabric    several of them, cabled, in a private folder
    steps     the demo, as a list of commands and of what they must show
    case      unittest.TestCase on a fabric, and the runner
    pair      two guests on a switch, and programs between them
"""
