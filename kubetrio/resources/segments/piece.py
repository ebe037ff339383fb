"""Pieces of lists that are sent to many clients, and squeezed once for those that take gzip.

A squeezed piece is raw deflate that refers to nothing before it and ends at a byte, so that pieces
follow each other in one stream.  The checksum of the whole is made of theirs.

Source: RFC 1951; RFC 1952; zlib's manual (``Z_FULL_FLUSH``, ``crc32_combine``).
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from kubetrio.env import RunBlocking

LEVEL = 1
"""As kube-apiserver compresses."""
RAW = -zlib.MAX_WBITS  # zlib's way to say "without a header"
_POLYNOMIAL = 0xEDB88320
_ONE, _X = 1 << 31, 1 << 30  # coefficients in the order of CRC-32: the lowest power first


def _times(one: int, other: int) -> int:
    """The product of two polynomials, modulo that of CRC-32."""
    product, bit = 0, _ONE
    while one:
        if one & bit:
            product ^= other
            one ^= bit
        bit >>= 1
        other = other >> 1 ^ _POLYNOMIAL if other & 1 else other >> 1
    return product


def shift_of(size: int) -> int:
    """What a checksum is multiplied with when so many bytes follow: x to the number of bits."""
    shift, power = _ONE, _X
    bits = 8 * size
    while bits:
        if bits & 1:
            shift = _times(power, shift)
        power = _times(power, power)
        bits >>= 1
    return shift


def checksum(before: int, crc: int, shift: int) -> int:
    """CRC-32 of bytes and what follows them.

    Args:
        before: that of the bytes.
        crc: that of what follows.
        shift: by how much that shifts; see `shift_of`.
    """
    return _times(shift, before) ^ crc


class Squeezed(NamedTuple):
    """A piece as it stands in a compressed stream.

    Args:
        data: raw deflate.
        crc: CRC-32 of the piece.
        shift: see `shift_of`.
        size: bytes of the piece.
    """

    data: bytes
    crc: int
    shift: int
    size: int


class Piece(bytes):
    """Bytes that are kept to be sent again.

    Attributes:
        squeezed: as it stands in a compressed stream, once a client took that.
    """

    squeezed: Squeezed | None = None


async def squeezed_once(piece: Piece, thread: RunBlocking) -> Squeezed:
    """A piece as it stands in a compressed stream, compressed when a client first takes it so.

    Args:
        piece: the piece.
        thread: runs a blocking call without stalling the event loop.
    """
    if piece.squeezed is None:
        piece.squeezed = await thread(squeeze, piece)
    return piece.squeezed


def squeeze(piece: bytes) -> Squeezed:
    """Compress a piece; for a thread.

    Args:
        piece: the bytes.
    """
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    data = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return Squeezed(data, zlib.crc32(piece), shift_of(len(piece)), len(piece))
