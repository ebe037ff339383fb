"""Flags of how much memory is used."""

from __future__ import annotations

from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import SIZE

GUIDE = "../how-to/run-on-a-device.md"
MIB = 1024 * 1024
SEGMENTS_FROM = 32 * MIB
"""Bytes of caches from which on lists are kept in memory."""


@section
class Memory(Section):
    """How much memory is used; see the reference of flags."""

    TITLE: ClassVar[str] = "memory"

    cache_bytes: int = flag(
        "cache-size", SIZE, 128 * MIB,
        "bytes of caches at most: lists, pages of the database, objects, recent events",
        more="They are filled as they are used. See [caches](../design/caches.md).",
    )  # fmt: skip
    limit_bytes: int = flag(
        "memory-limit", SIZE, 0,
        "resident memory, without mapped files, over which caches are dropped and requests get 429",
        unset="no limit",
        more=f"Administrators and deletions pass. See [on a device]({GUIDE}#memory).",
    )  # fmt: skip

    @property
    def segments_bytes(self) -> int:
        """Of collections that are listed again and again; none where there is little room."""
        return self.cache_bytes * 5 // 16 if self.cache_bytes >= SEGMENTS_FROM else 0

    @property
    def _rest(self) -> int:
        return self.cache_bytes - self.segments_bytes

    @property
    def page_cache_bytes(self) -> int:
        """Of the database, all connections together."""
        return self._rest * 6 // 11

    @property
    def recent_bytes(self) -> int:
        """Of objects that were read lately."""
        return self._rest // 11

    @property
    def window_bytes(self) -> int:
        """Of recent events."""
        return self._rest * 2 // 11

    @property
    def encoded_bytes(self) -> int:
        """Of encoded objects."""
        return self._rest * 2 // 11
