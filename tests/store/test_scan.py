"""Scans see all of a range, whatever the size of their pages."""

import pytest

from kubetrio.store.model import Range, Stamped
from kubetrio.store.scan import scan
from kubetrio.testing.store_model import MemoryStore


@pytest.mark.parametrize("page_keys", [0, 1, 2, 3, 7])
async def test_a_scan_is_the_range(page_keys: int) -> None:
    """In order, each once, nothing else."""
    store = MemoryStore()
    for name in ("a/1", "a/2", "a/3", "a/4", "b/1"):
        await store.create(name, Stamped(name.encode(), b""))
    found = [item async for item in scan(store, Range.prefix("a/"), page_keys)]
    assert found == list((await store.range(Range.prefix("a/"))).items)
    assert [item.key for item in found] == ["a/1", "a/2", "a/3", "a/4"]
    assert [item async for item in scan(store, Range.prefix("c/"), page_keys)] == []
