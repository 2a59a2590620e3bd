# SPDX-License-Identifier: GPL-2.0-or-later
"""What the property pcap of a port has written: ERF records in a pcap."""

import struct
from typing import NamedTuple


class Packet(NamedTuple):
    """The LRH of a captured packet, and its bytes from the LRH on."""
    slid: int
    dlid: int
    sl: int
    vl: int
    size: int


def packets(path, skip=(15,)):
    """The packets of a capture but those of the VLs in skip."""
    with open(path, 'rb') as file:
        data = file.read()
    order = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') \
        else '>'
    at = 24
    while at + 16 <= len(data):
        size, = struct.unpack_from(order + 'I', data, at + 8)
        lrh = data[at + 32:at + 40]             # behind the ERF header
        if len(lrh) == 8 and lrh[0] >> 4 not in skip:
            dlid, words, slid = struct.unpack('>HHH', lrh[2:])
            yield Packet(slid, dlid, lrh[1] >> 4, lrh[0] >> 4,
                         4 * (words & 0x7ff))
        at += 16 + size
