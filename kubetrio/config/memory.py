"""Flags of how much memory is used."""

from __future__ import annotations

from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import SIZE

GUIDE = "../how-to/run-on-a-device.md"
MIB = 1024 * 1024


@section
class Memory(Section):
    """How much memory is used; see the reference of flags."""

    TITLE: ClassVar[str] = "memory"

    cache_bytes: int = flag(
        "cache-size", SIZE, 88 * MIB,
        "bytes of caches at most: pages of the database, objects, recent events, encoded objects",
        more="They are filled as they are used. See [caches](../design/caches.md).",
    )  # fmt: skip
    limit_bytes: int = flag(
        "memory-limit", SIZE, 0,
        "resident memory, without mapped files, over which caches are dropped and requests get 429",
        unset="no limit",
        more=f"Administrators and deletions pass. See [on a device]({GUIDE}#memory).",
    )  # fmt: skip

    @property
    def page_cache_bytes(self) -> int:
        """Of the database, all connections together."""
        return self.cache_bytes * 6 // 11

    @property
    def recent_bytes(self) -> int:
        """Of objects that were read lately."""
        return self.cache_bytes // 11

    @property
    def window_bytes(self) -> int:
        """Of recent events."""
        return self.cache_bytes * 2 // 11

    @property
    def encoded_bytes(self) -> int:
        """Of encoded objects."""
        return self.cache_bytes * 2 // 11
