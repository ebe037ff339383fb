"""`kubetrio.server.engines.memory`: objects in memory alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubetrio.resources.objects import stamp
from kubetrio.server.engines.memory import opened
from kubetrio.store.errors import DataDirectoryLocked
from kubetrio.store.model import Event, EventType
from kubetrio.testing.environment import seeded
from kubetrio.testing.server import in_memory

OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


async def test_a_deletion_is_stamped(tmp_path: Path) -> None:
    """The last state of an object has the revision of its deletion."""
    events: list[Event] = []
    async with opened(in_memory(tmp_path), seeded(1)) as store:
        store.on_commit(events.extend)
        made = await store.create("a", stamp(OBJECT))
        gone = await store.delete("a", expected=made.revision)
    assert [event.type for event in events] == [EventType.CREATED, EventType.DELETED]
    assert b'"resourceVersion":"%d"' % gone in events[1].value


async def test_two_servers_cannot_have_a_data_directory(tmp_path: Path) -> None:
    """It has the keys and certificates of one; afterwards it is free."""
    config = replace(in_memory(tmp_path), data_dir=tmp_path)
    async with opened(config, seeded(1)):
        with pytest.raises(DataDirectoryLocked):
            async with opened(config, seeded(1)):
                pass
    async with opened(config, seeded(1)) as store:
        assert store.revision == 0
