"""`kubetrio.server.engines.sqlite`: objects in the data directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kubetrio.config import Config
from kubetrio.resources.objects import stamp
from kubetrio.server.engines.sqlite import opened, store_config
from kubetrio.store.model import EventType
from kubetrio.testing.environment import seeded

OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


async def test_a_deletion_is_stamped(tmp_path: Path) -> None:
    """The last state of an object has the revision of its deletion, also in the log."""
    async with opened(Config(data_dir=tmp_path), seeded(1)) as store:
        made = await store.create("a", stamp(OBJECT))
        gone = await store.delete("a", expected=made.revision)
        (event,), _ = await store.events(after=made.revision, max_bytes=1000)
    assert event.type is EventType.DELETED
    assert b'"resourceVersion":"%d"' % gone in event.value


def test_the_flags_of_the_store_reach_it(tmp_path: Path) -> None:
    """Each field has the value of its flag."""
    plain = Config(data_dir=tmp_path)
    storage = replace(
        plain.storage, durability="normal", history_window_s=7.0, journal_bytes=1 << 20
    )
    config = store_config(replace(plain, storage=storage))
    assert (config.durability, config.history_window_s) == ("normal", 7.0)
    assert config.journal_bytes == 1 << 20
    assert config.recent_bytes == plain.memory.recent_bytes
