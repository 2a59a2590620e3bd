# SPDX-License-Identifier: GPL-2.0-or-later
"""What the property pcap of a port has written: ERF records in a pcap."""

import struct
from typing import NamedTuple


class Packet(NamedTuple):
    """The LRH of a captured packet, its bytes from the LRH on, and the queue
    pair that it goes to (0 if it is raw)."""
    slid: int
    dlid: int
    sl: int
    vl: int
    size: int
    qpn: int


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
            # The BTH follows the LRH (LNH 2) or a GRH of 40 bytes (3).
            bth = {2: at + 40, 3: at + 80}.get(lrh[1] & 3)
            qpn = bth and int.from_bytes(data[bth + 5:bth + 8], 'big')
            yield Packet(slid, dlid, lrh[1] >> 4, lrh[0] >> 4,
                         4 * (words & 0x7ff), qpn or 0)
        at += 16 + size
