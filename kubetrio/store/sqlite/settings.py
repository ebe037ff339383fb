"""Tunables of the SQLite store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Tunables of the SQLite store.

    Args:
        durability: ``full`` survives power loss; ``normal`` survives a killed process, and power
            loss may take the newest writes (never consistency).
        history_window_s: how long superseded revisions are kept, seconds.
        compact_interval_s: seconds between compactions, 0 for none.
        compact_step_s: time one compaction transaction should take, seconds; writers wait for it.
        checkpoint_pages: pages of write-ahead log that start a checkpoint.
        wal_limit_pages: pages of write-ahead log at which writers wait for a checkpoint.
        recent_bytes: bound of the objects kept in memory because they were read lately.
        reserve_bytes: room kept on the disk for deletions and an orderly stop; less on a small
            file system, 0 for none.
        accept_data_loss: open a store that lacks revisions that were answered.
        journal_bytes: size of the journal (`store.sqlite.journal`), 0 for none.
        quota_bytes: size of the database at which history goes, the oldest first, and then only
            deletions are taken; 0 for no bound.
        held_back: prefixes of keys whose writes are answered before they are synced.
        held_back_s: how long these may wait for a sync, seconds; 0 for not at all.
        cache_kib: bound of the page caches of all connections together, KiB.
    """

    durability: str = "full"
    history_window_s: float = 300.0
    compact_interval_s: float = 60.0
    compact_step_s: float = 0.004
    checkpoint_pages: int = 2000
    wal_limit_pages: int = 16000
    recent_bytes: int = 8 * 1024 * 1024
    reserve_bytes: int = 16 * 1024 * 1024
    accept_data_loss: bool = False
    journal_bytes: int = 0
    quota_bytes: int = 0
    held_back: tuple[str, ...] = ()
    held_back_s: float = 0.0
    cache_kib: int = 48 * 1024
