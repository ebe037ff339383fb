"""Flags of the store."""

from __future__ import annotations

from typing import Any, ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import BOOLEAN, DURATION, SIZE, SOME_TIME, TEXT, one_of

GUIDE = "../how-to/tune-durability-and-history.md"
DEVICE = "../how-to/run-on-a-device.md"
SMALLEST_JOURNAL = 1 << 20


def _is_journal(value: Any) -> str:
    why = SIZE.check(value)
    return why or ("" if not value or value >= SMALLEST_JOURNAL else "is less than 1Mi")


JOURNAL = SIZE._replace(check=_is_journal)


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
    backend: str = flag(
        "storage-backend", TEXT, "",
        "storage engine by name: sqlite keeps objects in the data directory, memory keeps them in "
        "memory alone; empty, or etcd3, for the engine that other flags choose, else sqlite",
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
    journal_bytes: int = flag(
        "journal-size", JOURNAL, 0,
        "write changes to a journal of this size and bring them into the database together, for "
        "few bytes on flash; reads wait for writes then; 0 for none",
        more=f"At least 1Mi. See [on a device]({DEVICE}#flash).",
    )  # fmt: skip
    quota_backend_bytes: int = flag(
        "quota-backend-bytes", SIZE, 0,
        "size of the database at which history goes, oldest first, and then only deletions are "
        "taken; 0 for no bound",
        more="As etcd's flag of that name, which has no history to drop. See "
        f"[on a device]({DEVICE}#a-bounded-database).",
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
    lease_renew_s: float = flag(
        "identity-lease-renew-interval", DURATION, 600.0,
        "how often the server renews its own Lease in kube-system, each time a write to the disk; "
        "0s for at its start alone",
        more="kube-apiserver does each ten seconds. The Lease is valid for an hour from each "
        "renewal on, or twice the interval; without renewals it has no end, and the next start "
        "replaces it.",
    )  # fmt: skip
    held_back_s: float = flag(
        "hold-back", DURATION, 0.0,
        "how long a Lease or Event may wait for the disk: they are answered before it has them, "
        "and go there with the next other write, or after this time; 0s for not at all",
        more="A killed process loses none of them, a power cut those of this time. "
        f"See [on a device]({DEVICE}#flash).",
    )  # fmt: skip
    healthcheck_timeout_s: float = flag(
        "etcd-healthcheck-timeout", SOME_TIME, 2.0,
        "how long the store may take to answer the health check etcd",
    )  # fmt: skip
    readycheck_timeout_s: float = flag(
        "etcd-readycheck-timeout", SOME_TIME, 2.0,
        "the same of the readiness checks etcd-readiness and storage-readiness",
    )  # fmt: skip
