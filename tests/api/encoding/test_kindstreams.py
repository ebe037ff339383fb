"""Watches end when their kind is served no more."""

from __future__ import annotations

import trio

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.kindstreams import KindStreams
from kubetrio.kinds.builtin import registry
from kubetrio.schema.registry import LiveRegistry

CONFIGMAPS, SECRETS = (registry().resources["", "v1", name] for name in ("configmaps", "secrets"))


async def test_a_kind_that_goes_ends_its_watches() -> None:
    """And no others; what was encoded of it is forgotten."""
    live, streams, cache = LiveRegistry(registry()), set[trio.CancelScope](), ByteCache(1000)
    kinds = KindStreams(live, streams, cache)
    mine, other = trio.CancelScope(), trio.CancelScope()
    kinds.of(CONFIGMAPS).add(mine)
    kinds.of(SECRETS).add(other)
    cache.get(("key", b""), lambda: b"value")
    assert streams == {mine, other}
    live.remove([CONFIGMAPS])
    assert mine.cancel_called
    assert not other.cancel_called
    assert cache.entries == 0


async def test_a_watch_that_ended_is_in_no_set() -> None:
    """Neither in that of its kind nor in that of all streams."""
    streams = set[trio.CancelScope]()
    kinds = KindStreams(LiveRegistry(registry()), streams, ByteCache(1000))
    scope = trio.CancelScope()
    kinds.of(CONFIGMAPS).add(scope)
    kinds.of(CONFIGMAPS).discard(scope)
    assert not streams
    assert not kinds.of(CONFIGMAPS)
