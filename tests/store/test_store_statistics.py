"""`kubetrio.store.statistics`: what an engine counts."""

from __future__ import annotations

from kubetrio.store.statistics import CacheFill, Gauge, StoreStatistics


def test_an_engine_says_only_what_it_has() -> None:
    """What is not said: it takes writes, no listener failed, and it has nothing of its own."""
    numbers = StoreStatistics(revision=7, compacted=3, writes=4, size_bytes=9, queued=0)
    assert (numbers.refusing, numbers.failed_listeners) == ("", 0)
    assert (*numbers.own, *numbers.caches) == ()


def test_what_only_one_engine_counts_is_named_by_it() -> None:
    """Gauges have a name and a text of their own, caches the name of where they are."""
    gauge = Gauge("kubetrio_storage_full", "1 while the disk is full.", True)
    cache = CacheFill("store/sqlite/recent", 2, 100)
    assert (gauge.value, cache.entries, cache.bytes) == (1, 2, 100)
