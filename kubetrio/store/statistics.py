"""Numbers of a storage engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Gauge(NamedTuple):
    """A number for metrics.

    Args:
        name: of the metric.
        text: what it is, for ``# HELP``.
        value: now.
    """

    name: str
    text: str
    value: float


class CacheFill(NamedTuple):
    """How full a cache of an engine is.

    Args:
        name: where it is, as `kubetrio_cache_entries` names it.
        entries: number of values.
        bytes: size of them.
    """

    name: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """Numbers for metrics, `/debug` and tests.

    Args:
        revision: newest revision.
        compacted: newest compacted revision; history after it is kept.
        writes: revisions made through this engine since start.
        size_bytes: size of the store on its disk, 0 while it is not known.
        members: size of each member of the store, by its URL; -1 where one does not answer.
        cluster: what metrics call the store.
        queued: writes that wait for the engine.
        refusing: why the engine takes deletions only, empty while it takes all writes.
        failed_listeners: commits that a listener of the commit stream failed to take.
        own: numbers that only this engine has.
        caches: caches that only this engine has.
    """

    revision: int
    compacted: int
    writes: int
    size_bytes: int
    queued: int
    refusing: str = ""
    failed_listeners: int = 0
    own: Sequence[Gauge] = ()
    caches: Sequence[CacheFill] = ()
    members: Mapping[str, int] = field(default_factory=dict)
    cluster: str = "sqlite"
