"""NaCl's secretbox: XSalsa20 and Poly1305.

OpenSSL has no Salsa20, so that is worked out here, many blocks at a time: each of the sixteen
words of the state is one long integer with a lane of 64 bits for each block, and an operation on it
is one on all blocks.  It has no tables and no branches that depend on a secret.

Source: D. J. Bernstein, "Cryptography in NaCl" and "Extending the Salsa20 nonce"; k8s.io/apiserver,
storage/value/encrypt/secretbox.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence

from kubetrio.encryption.aes import TOO_SHORT
from kubetrio.encryption.transformers import Plain, Refused, Seal, TransformError

KEY_BYTES = 32
NONCE_BYTES = 24
TAG_BYTES = 16
BLOCK_BYTES = 64
BLOCKS_AT_ONCE = 1024  # what the cache of a processor holds

_SIGMA = struct.unpack("<4I", b"expand 32-byte k")
# Columns and then rows of the state, each word with the three that follow it.
_QUARTERS = (
    (0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
    (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14),
)  # fmt: skip
_STEPS = tuple(
    (q[(place + 1) % 4], q[place], q[(place + 3) % 4], turn)
    for q in _QUARTERS
    for place, turn in enumerate((7, 9, 13, 18))
)


def _rounds(state: Sequence[int], mask: int) -> list[int]:
    """Twenty rounds over all lanes; `mask` has the low half of each lane set."""
    x = list(state)
    for _ in range(10):
        for to, one, other, turn in _STEPS:
            total = (x[one] + x[other]) & mask
            x[to] = (x[to] ^ (total << turn) ^ (total >> (32 - turn))) & mask
    return x


def _state(key: bytes, words: Sequence[int]) -> list[int]:
    """The sixteen words of a block from a key and the four words in its middle."""
    k = struct.unpack("<8I", key)
    s = _SIGMA
    return [s[0], *k[:4], s[1], *words, s[2], *k[4:], s[3]]


def _subkey(key: bytes, nonce: bytes) -> bytes:
    """HSalsa20: a key from a key and 16 bytes of nonce."""
    x = _rounds(_state(key, struct.unpack("<4I", nonce)), 0xFFFFFFFF)
    return struct.pack("<8I", x[0], x[5], x[10], x[15], x[6], x[7], x[8], x[9])


def _blocks(key: bytes, nonce: bytes, first: int, count: int) -> bytes:
    """Blocks of Salsa20's stream."""
    ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * count, "little")
    counters = array("Q", range(first, first + count))
    if sys.byteorder == "big":
        counters.byteswap()
    counter = int.from_bytes(counters.tobytes(), "little")
    mask = ones * 0xFFFFFFFF
    state = [word * ones for word in _state(key, (*struct.unpack("<2I", nonce), 0, 0))]
    state[8], state[9] = counter & mask, (counter >> 32) & mask
    out = array("I", bytes(BLOCK_BYTES * count))
    for place, (word, begun) in enumerate(zip(_rounds(state, mask), state, strict=True)):
        lanes = array("I", ((word + begun) & mask).to_bytes(8 * count, "little"))
        out[place::16] = lanes[::2]
    return out.tobytes()


def stream(key: bytes, nonce: bytes, size: int) -> bytes:
    """At least so many bytes of XSalsa20's stream.

    Args:
        key: 32 bytes.
        nonce: 24 bytes.
        size: bytes wanted.
    """
    subkey = _subkey(key, nonce[:16])
    count = -(-size // BLOCK_BYTES)
    return b"".join(
        _blocks(subkey, nonce[16:], first, min(BLOCKS_AT_ONCE, count - first))
        for first in range(0, count, BLOCKS_AT_ONCE)
    )


def _xor(one: bytes, other: bytes) -> bytes:
    size = len(one)
    mixed = int.from_bytes(one, "little") ^ int.from_bytes(other[:size], "little")
    return mixed.to_bytes(size, "little")


class Secretbox:
    """XSalsa20 and Poly1305 with random nonces.

    Args:
        key: 32 bytes.
    """

    nonce_bytes = NONCE_BYTES

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`; the stream, which is what takes long, is made here."""
        del path
        made = stream(self._key, nonce, KEY_BYTES + size + BLOCK_BYTES)

        def seal(data: bytes) -> bytes:
            from cryptography.hazmat.primitives.poly1305 import Poly1305

            used = made
            if len(used) < KEY_BYTES + len(data):
                used = stream(self._key, nonce, KEY_BYTES + len(data))
            sealed = _xor(data, used[KEY_BYTES:])
            return nonce + Poly1305.generate_tag(used[:KEY_BYTES], sealed) + sealed

        return seal

    def open(self, data: bytes, path: bytes, refused: Refused) -> Plain:
        """See `Transformer.open`."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.poly1305 import Poly1305

        del path, refused
        if len(data) < NONCE_BYTES + TAG_BYTES:
            raise TransformError(TOO_SHORT)
        nonce, rest = data[:NONCE_BYTES], data[NONCE_BYTES:]
        tag, sealed = rest[:TAG_BYTES], rest[TAG_BYTES:]
        made = stream(self._key, nonce, KEY_BYTES + len(sealed))
        try:
            Poly1305.verify_tag(made[:KEY_BYTES], sealed, tag)
        except InvalidSignature as error:
            # kube-apiserver's words for a tag that is wrong
            raise TransformError("output array was not large enough for encryption") from error
        return Plain(_xor(sealed, made[KEY_BYTES:]), stale=False)
