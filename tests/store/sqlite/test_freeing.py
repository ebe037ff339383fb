"""`kubetrio.store.sqlite.freeing`: writes that lead to room, while there is some.

What they do on a full disk is in `test_space`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.store.errors import RevisionMismatch
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.environment import seeded

VALUE = Stamped(b"<", b">")


async def test_an_update_is_stored(tmp_path: Path, autojump_clock: MockClock) -> None:
    """With its time to live, and only at the revision that is expected."""
    async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
        first = (await store.create("a", VALUE)).revision
        updated = await store.freeing.update("a", VALUE, expected=first, ttl_s=5.0)
        assert await store.get("a") == updated
        with pytest.raises(RevisionMismatch):
            await store.freeing.update("a", VALUE, expected=first)
        await trio.sleep(10)
        assert await store.get("a") is None
