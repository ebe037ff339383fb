"""A device that is left alone writes nothing to its flash."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.config import Config, Local, edge
from kubetrio.env import seeded
from kubetrio.server import open_server

DAY_S = 86_400.0
STEP_S = 300.0
SETTLED_S = 1500.0  # the start's own writes, and the compaction of what they replaced


def written(directory: Path) -> dict[str, tuple[int, int]]:
    """When each file was written last, and its size."""
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in directory.rglob("*")
        if path.is_file()
    }


async def test_a_day_without_clients_writes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """No file is touched: neither database nor journal, neither log nor certificates."""
    config = edge(Config(data_dir=tmp_path / "data", local=Local(secure_serving=False)))
    # A limit of memory has the process looked at ten times a second, which takes long to mock.
    config = replace(config, memory=replace(config.memory, limit_bytes=0))
    async with open_server(config, seeded(0)) as server:
        await trio.sleep(SETTLED_S)
        before, revision = written(tmp_path), server.api.storage.store.statistics().revision
        autojump_clock.autojump_threshold = inf
        for _ in range(int(DAY_S / STEP_S)):  # what comes each second comes once in each
            autojump_clock.jump(STEP_S)
            await wait_all_tasks_blocked()
        assert server.api.storage.store.statistics().revision == revision
        assert written(tmp_path) == before
