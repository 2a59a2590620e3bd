#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""vmlinux.py BZIMAGE VMLINUX: take the ELF kernel out of a bzImage.

The offsets are those of the kernel's Documentation/arch/x86/boot.rst: the
setup header tells where in the protected-mode code the compressed payload
lies and how long it is.  Under TCG unpacking it here saves a guest several
seconds, and QEMU boots the ELF through its PVH note.
"""

import lzma
import struct
import subprocess
import sys
import zlib


def payload(image):
    """The compressed payload of a bzImage."""
    magic, version = struct.unpack_from('<4sH', image, 0x202)
    if magic != b'HdrS' or version < 0x208:
        raise ValueError('not a bzImage of boot protocol 2.08 or later')
    setup_sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from('<II', image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    if start + length > len(image):
        raise ValueError('the payload ends after the file does')
    return image[start:start + length]


def unpack(data):
    """Unpack a payload; four bytes of length may follow the stream."""
    if data.startswith(b'\xfd7zXZ\0'):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data)
    if data.startswith(b'\x1f\x8b'):
        return zlib.decompressobj(wbits=31).decompress(data)
    if data.startswith(b'\x28\xb5\x2f\xfd'):
        return subprocess.run(['zstd', '-dc'], input=data[:-4],
                              stdout=subprocess.PIPE, check=True).stdout
    raise ValueError('payload is neither xz, gzip nor zstd')


def main():
    with open(sys.argv[1], 'rb') as file:
        kernel = unpack(payload(file.read()))
    if not kernel.startswith(b'\x7fELF'):
        raise ValueError('the payload is not an ELF file')
    with open(sys.argv[2], 'wb') as file:
        file.write(kernel)


if __name__ == '__main__':
    try:
        main()
    except (ValueError, OSError, lzma.LZMAError, zlib.error,
            subprocess.CalledProcessError) as error:
        sys.exit(f'{sys.argv[1]}: {error}')
