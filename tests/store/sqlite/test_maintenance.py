"""A bound on the size of the database: history goes, the oldest first, then creations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.store.errors import Compacted, StoreFull
from kubetrio.store.model import Range, Stamped
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.inspection import inspect
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import LOOKS_EACH_S

QUOTA = 1 << 20
CONFIG = StoreConfig(quota_bytes=QUOTA, durability="normal", reserve_bytes=0)
VALUE = Stamped(b"", b"x" * 4000)
KEYS = Range.prefix("k")

pytestmark = pytest.mark.parametrize("journal_bytes", [0, 256 * 1024], ids=["log", "journal"])


async def test_old_history_makes_room(
    tmp_path: Path, autojump_clock: MockClock, journal_bytes: int
) -> None:
    """Updates go on for ever; the newest history stays, the oldest does not."""
    config = replace(CONFIG, journal_bytes=journal_bytes)
    async with open_store(tmp_path, config, seeded(1)) as store:
        revision = (await store.create("k/a", VALUE)).revision
        for _ in range(1000):  # 4 MB
            revision = (await store.update("k/a", VALUE, expected=revision)).revision
        await wait_all_tasks_blocked()
        assert not store.statistics().refusing
        assert 0 < store.compacted < revision - 20
        with pytest.raises(Compacted):
            await store.get("k/a", at=1)
        assert await store.get("k/a", at=revision - 10) is not None
    assert (tmp_path / FILE_NAME).stat().st_size < QUOTA * 1.1


async def test_a_full_database_takes_deletions(
    tmp_path: Path, autojump_clock: MockClock, journal_bytes: int
) -> None:
    """And other writes again, once there is room; nothing is damaged."""
    config = replace(CONFIG, journal_bytes=journal_bytes)
    async with open_store(tmp_path, config, seeded(1)) as store:
        made: dict[str, int] = {}
        while not store.statistics().refusing:
            key = f"k/{len(made)}"
            made[key] = (await store.create(key, VALUE)).revision
        with pytest.raises(StoreFull):
            await store.create("k/more", VALUE)
        assert len(made) > 180
        with pytest.raises(StoreFull):
            await store.update("k/1", VALUE, expected=made["k/1"])
        assert await store.count(KEYS) == len(made)
        for number in range(100):
            key = f"k/{number}"
            await store.delete(key, expected=made.pop(key))
        await trio.sleep(3 * LOOKS_EACH_S)
        assert not store.statistics().refusing
        await store.create("k/new", VALUE)
        assert await store.count(KEYS) == len(made) + 1
    with inspect(tmp_path / FILE_NAME) as seen:
        assert list(seen.faults(lambda: None)) == []
