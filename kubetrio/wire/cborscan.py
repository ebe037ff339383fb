"""Finding the end of a CBOR data item, resumable, and refusing what the API has no use for.

Decoders for CBOR know many tags (dates, fractions, regular expressions, shared values), some of
which are expensive or make values that are no JSON.  Bytes pass this scanner first: it lets through
the tags Kubernetes writes and bounds nesting and number of items.
Source: RFC 8949; tags as in KEP-4222.
"""

from __future__ import annotations

MAX_DEPTH = 64
"""Nesting of containers kube-apiserver accepts."""
MAX_ITEMS = 500_000
"""Data items in one value, counting keys."""

SELF_DESCRIBED = 55799
"""Tag that marks bytes as CBOR; means nothing else."""
BASE64URL, BASE64, BASE16 = 21, 22, 23
"""Tags of byte strings that are such text in JSON."""

_TAGS = frozenset((SELF_DESCRIBED, BASE64URL, BASE64, BASE16))
_BYTES, _TEXT, _ARRAY, _MAP, _TAG, _OTHER = 2, 3, 4, 5, 6, 7
_INDEFINITE = 31
_FALSE, _TRUE, _NULL, _FLOATS = 20, 21, 22, (25, 26, 27)
_ENDLESS = -1  # a container that ends with a break
# A string in pieces that ends with a break is kept as its negative major type, -2 or -3.
_EXTRA_BYTES = {24: 1, 25: 2, 26: 4, 27: 8}


class ItemScanner:
    """Looks for the end of the item at the start of a growing buffer."""

    def __init__(self) -> None:
        self.position = 0
        """Offset of what is looked at next; of the byte after the item once it is complete."""
        self._open: list[int] = []
        self._items = 0
        self._tagged = False
        self._starved = False
        self._complete = False

    def advance(self, data: bytes | bytearray) -> bool:
        """Go on with more bytes.

        Args:
            data: all bytes from the start of the item so far.

        Returns:
            Whether the item is complete; it ends at ``position``.

        Raises:
            ValueError: malformed, not allowed here, too deep, or too many items.
        """
        while not self._complete and self.position < len(data):
            self._complete = self._head(data) and self._closed()
            if self._starved:
                return False
        return self._complete and self.position <= len(data)

    def _head(self, data: bytes | bytearray) -> bool:
        """Read one head; True if it completed an item (or opened and closed an empty one)."""
        first = data[self.position]
        major, info = first >> 5, first & 31
        if first == 0xFF:
            return self._break()
        if info in (28, 29, 30) or (info == _INDEFINITE and major not in (2, 3, 4, 5)):
            raise ValueError("cbor: invalid additional information")
        extra = _EXTRA_BYTES.get(info, 0)
        self._starved = self.position + 1 + extra > len(data)
        if self._starved:
            return False
        start = self.position + 1
        argument = int.from_bytes(data[start : start + extra], "big") if extra else info
        self.position = start + extra
        chunks_of = -self._open[-1] if self._open else 0
        if chunks_of in (_BYTES, _TEXT) and (major != chunks_of or info == _INDEFINITE):
            raise ValueError("cbor: wrong chunk in a string of indefinite length")
        self._items += 1
        if self._items > MAX_ITEMS:
            raise ValueError("cbor: too many items")
        return self._item(major, info, argument)

    def _item(self, major: int, info: int, argument: int) -> bool:
        if major == _TAG:
            if argument not in _TAGS:
                raise ValueError(f"cbor: tag {argument} is not supported")
            self._tagged = True
            return False
        self._tagged = False
        if major in (_BYTES, _TEXT):
            if info == _INDEFINITE:
                return self._enter(-major)
            self.position += argument
        elif major in (_ARRAY, _MAP):
            if info == _INDEFINITE:
                return self._enter(_ENDLESS)
            count = argument * 2 if major == _MAP else argument
            if count > MAX_ITEMS:
                raise ValueError("cbor: too many items")
            if count:
                return self._enter(count)
            if len(self._open) == MAX_DEPTH:
                raise ValueError("cbor: exceeded max nested level 64")
        elif major == _OTHER and info not in (_FALSE, _TRUE, _NULL, *_FLOATS):
            raise ValueError("cbor: simple value is not supported")
        return True

    def _enter(self, count: int) -> bool:
        if len(self._open) == MAX_DEPTH:
            raise ValueError("cbor: exceeded max nested level 64")
        self._open.append(count)
        return False

    def _break(self) -> bool:
        if self._tagged or not self._open or self._open[-1] >= 0:
            raise ValueError("cbor: unexpected break")
        self._open.pop()
        self.position += 1
        return True

    def _closed(self) -> bool:
        """Count a completed item in its container; True if it was the outermost."""
        while self._open:
            if self._open[-1] < 0:
                return False
            self._open[-1] -= 1
            if self._open[-1]:
                return False
            self._open.pop()
        return True
