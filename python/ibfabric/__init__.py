# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ibfabric: whole InfiniBand fabrics from a topology file.

    topology  the format of ibnetdiscover and ibsim, read and written
    generate  fat trees, tori, dragonflies, rings and single switches
    graph     a picture of a fabric, through graphviz
    vms       which nodes are VMs
    layout    QEMU's command lines for the switches
    core      the process that has the switches
    state     fabrics that are up: their folders and processes
    up        bringing one up, with progress
    monitor   QMP with its processes
    live      its ports: states, counters, and what can be done to them
    top       counters as they run
    export    the same on several hosts: scripts, libvirt domains
    certs     certificates for cables over TLS
    commands  the commands on a fabric that is up
    cli       the command line
"""


class Failure(Exception):
    """What a person has to know, in one line."""
