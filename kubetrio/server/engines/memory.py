"""The engine that keeps objects in memory alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.resources.objects import restamp
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.memory import Retention, open_memory
from kubetrio.store.model import Store


@asynccontextmanager
async def opened(config: Config, env: Env) -> AsyncIterator[Store]:
    """Open a store in memory; the data directory is locked for its keys and certificates.

    Raises:
        DataDirectoryLocked: another server has the data directory.
    """
    retention = Retention(
        history_window_s=config.storage.history_window_s,
        compact_interval_s=config.storage.compact_interval_s,
    )
    lock = DirectoryLock(config.data_dir)
    try:
        async with open_memory(retention, restamp, env.now) as memory:
            yield memory
    finally:
        lock.release()
