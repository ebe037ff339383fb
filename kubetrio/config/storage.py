"""Flags of the store."""

from __future__ import annotations

from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import BOOLEAN, DURATION, SOME_TIME, one_of

GUIDE = "../how-to/tune-durability-and-history.md"


@section
class Storage(Section):
    """How objects are kept; see the reference of flags."""

    TITLE: ClassVar[str] = "data"

    in_memory: bool = flag(
        "in-memory", BOOLEAN, False,
        "keep objects in memory alone: they end with the server, and no disk is written to but for "
        "keys and certificates",
        more="For tests and for programs that embed a server.",
    )  # fmt: skip
    durability: str = flag(
        "durability", one_of("full", "normal"), "full",
        "full: an acknowledged write survives power loss; normal: it survives a killed process, "
        "power loss may take the newest writes",
        more=f"See [durability]({GUIDE}#durability).",
    )  # fmt: skip
    accept_data_loss: bool = flag(
        "accept-data-loss", BOOLEAN, False,
        "start although writes that were answered are missing, as when the write-ahead log was "
        "removed after a crash",
        more=f"See [lost files]({GUIDE}#lost-files).",
    )  # fmt: skip
    history_window_s: float = flag(
        "history-window", DURATION, 300.0, "how long old revisions stay readable"
    )
    compact_interval_s: float = flag(
        "etcd-compaction-interval", DURATION, 60.0,
        "how often older revisions are dropped, 0s for never",
    )  # fmt: skip
    event_ttl_s: float = flag(
        "event-ttl", DURATION, 3600.0,
        "how long Events are kept behind their last change, 0s for good",
        more="The time in which no server runs does not count. Events that were written by "
        "versions before this flag stay until they are changed or deleted.",
    )  # fmt: skip
    healthcheck_timeout_s: float = flag(
        "etcd-healthcheck-timeout", SOME_TIME, 2.0,
        "how long the store may take to answer the health check etcd",
    )  # fmt: skip
    readycheck_timeout_s: float = flag(
        "etcd-readycheck-timeout", SOME_TIME, 2.0,
        "the same of the readiness checks etcd-readiness and storage-readiness",
    )  # fmt: skip
