"""A bounded cache of encoded bytes: least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class ByteCache:
    """Bytes by key, bounded by their sum.

    Args:
        max_bytes: bound on keys of bytes and values together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[bytes, int]] = OrderedDict()
        self.bytes = 0

    @property
    def entries(self) -> int:
        """How many there are."""
        return len(self._entries)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.bytes = 0

    def get(self, key: tuple[Hashable, bytes], make: Callable[[], bytes]) -> bytes:
        """The bytes of a key, made when they are not there."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
            return entry[0]
        value = make()
        size = len(value) + len(key[1])
        self._entries[key] = (value, size)
        self.bytes += size
        while self.bytes > self._max_bytes:
            _, (_, freed) = self._entries.popitem(last=False)
            self.bytes -= freed
        return value
