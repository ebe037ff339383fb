"""A digest tells stores apart that differ in a byte, and no others."""

from __future__ import annotations

from contextlib import AsyncExitStack

from kubetrio.harness.digest import PAGE_KEYS, digest
from kubetrio.store.memory import InMemoryStore, Retention, open_memory
from kubetrio.store.model import Stamped


async def test_the_newest_state_counts_and_no_history() -> None:
    """Keys, values and revisions of it, beyond one page."""
    async with AsyncExitStack() as stack:
        stores: list[InMemoryStore] = []
        for _ in range(2):
            store = await stack.enter_async_context(open_memory(Retention()))
            stores.append(store)
            for number in range(PAGE_KEYS + 5):
                await store.create(f"/registry/a/{number}", Stamped(b"v", b""))
        one, other = stores
        before = await digest(one)
        assert await digest(other) == before
        await one.compact(one.revision)
        assert await digest(one) == before
        last = await other.get(f"/registry/a/{PAGE_KEYS + 4}")
        assert last is not None
        await other.update(last.key, Stamped(b"w", b""), expected=last.revision)
        assert await digest(other) != before
