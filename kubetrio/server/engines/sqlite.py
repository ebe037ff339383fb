"""The engine in the data directory: SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.resources.objects import restamp
from kubetrio.store.model import Store
from kubetrio.store.remote import forget
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig

HELD_BACK = ("/registry/leases/", "/registry/events/")
"""Keys of heartbeats and of what is said of other objects: a newer one comes soon, or none must."""


def store_config(config: Config) -> StoreConfig:
    """The store's part of a configuration."""
    return StoreConfig(
        durability=config.storage.durability,
        history_window_s=config.storage.history_window_s,
        compact_interval_s=config.storage.compact_interval_s,
        accept_data_loss=config.storage.accept_data_loss,
        journal_bytes=config.storage.journal_bytes,
        quota_bytes=config.storage.quota_backend_bytes,
        held_back=HELD_BACK,
        held_back_s=config.storage.held_back_s,
        recent_bytes=config.memory.recent_bytes,
        cache_kib=config.memory.page_cache_bytes // 1024,
    )


@asynccontextmanager
async def opened(config: Config, env: Env) -> AsyncIterator[Store]:
    """Open the store of the data directory.

    Raises:
        StoreError: the data directory is in use, foreign or damaged.
    """
    async with open_store(config.data_dir, store_config(config), env, restamp) as store:
        forget(config.data_dir)
        yield store
