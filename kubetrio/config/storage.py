"""Flags of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import (
    BOOLEAN,
    COUNT,
    DURATION,
    FILE,
    SIZE,
    SOME_TIME,
    TEXT,
    TEXT_LIST,
    one_of,
)

ETCD = "../how-to/run-on-etcd.md"
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
    etcd_servers: tuple[str, ...] = flag(
        "etcd-servers", TEXT_LIST, (),
        "URLs of etcd servers that keep the objects, scheme://host:port between commas; the "
        "server is a replica then, and any number of replicas share them",
        more=f"See [on etcd]({ETCD}).",
    )  # fmt: skip
    etcd_prefix: str = flag(
        "etcd-prefix",
        TEXT,
        "/registry",
        "prefix of all keys in etcd",
        more=f"See [on etcd]({ETCD}).",
    )
    etcd_cafile: Path | None = flag(
        "etcd-cafile", FILE, None, "authorities that signed the certificates of etcd servers"
    )
    etcd_certfile: Path | None = flag(
        "etcd-certfile", FILE, None, "certificate that etcd servers are shown"
    )
    etcd_keyfile: Path | None = flag("etcd-keyfile", FILE, None, "key of that certificate")
    media_type: str = flag(
        "storage-media-type",
        one_of("application/vnd.kubernetes.protobuf", "application/json"),
        "application/vnd.kubernetes.protobuf",
        "how objects of built-in kinds are written to etcd; both forms are read",
        more="Only with --etcd-servers.",
    )
    lease_reuse_s: int = flag(
        "lease-reuse-duration-seconds", COUNT, 60,
        "seconds for which a lease of etcd is given to further objects with a time to live",
    )  # fmt: skip
    size_interval_s: float = flag(
        "etcd-db-metric-poll-interval", DURATION, 30.0,
        "how often each etcd server is asked how large its database is, 0s for never",
        more="Only with --etcd-servers.",
    )  # fmt: skip
    count_interval_s: float = flag(
        "etcd-count-metric-poll-period", DURATION, 60.0,
        "how old the numbers of stored objects in metrics may be, 0s to leave them out",
        more="They are up to date at all times.",
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
