"""Absent flags of operation: etcd, several servers, logs, metrics, versions.

Most have a reason that is not here, and are ignored.
"""

from __future__ import annotations

from kubetrio.flags.absence import Absent, IgnoredFlag, RefusedFlag
from kubetrio.release import MINOR_VERSION

ETCD: tuple[Absent, ...] = (
    RefusedFlag("etcd-servers-overrides", "one etcd keeps the objects of all resources"),
    IgnoredFlag("storage-initialization-timeout", "the store is open before the server listens"),
    IgnoredFlag(
        "watch-cache", "every read is consistent, and watches share one window", switch=True
    ),
    IgnoredFlag("watch-cache-sizes", "watches share one window of memory"),
    IgnoredFlag("delete-collection-workers", "objects of a collection are deleted one by one"),
)

MOST_CHANCE = 0.02


def _no_chance(value: str) -> str:
    try:
        fits = 0 <= float(value) <= MOST_CHANCE
    except ValueError:
        return f"invalid float value: {value!r}"
    return "" if fits else f"can not be less than 0 or greater than {MOST_CHANCE}"


def _no_servers(value: str) -> str:
    try:
        fits = int(value) > 0
    except ValueError:
        return f"invalid integer: {value!r}"
    return "" if fits else f"should be a positive number, but value {value!r} provided"


NOT_BETWEEN = "servers do not pass requests to each other"
SERVERS: tuple[Absent, ...] = (
    IgnoredFlag("goaway-chance", "connections stay with their server", wrong=_no_chance),
    *(
        IgnoredFlag(name, "controllers elect their leader by a Lease alone")
        for name in (
            "coordinated-leadership-lease-duration",
            "coordinated-leadership-renew-deadline",
            "coordinated-leadership-retry-period",
        )
    ),
    *(
        IgnoredFlag(name, NOT_BETWEEN)
        for name in ("peer-advertise-ip", "peer-advertise-port", "peer-ca-file")
    ),
    IgnoredFlag(
        "apiserver-count",
        "servers are counted by their leases, as with --endpoint-reconciler-type=lease there",
        wrong=_no_servers,
    ),
    IgnoredFlag("permit-address-sharing", "it is always on where the system has it", switch=True),
)

ONE_VERSION = f"the server is as kube-apiserver {MINOR_VERSION}"
OWN_VERSION = ("", MINOR_VERSION, f"kube={MINOR_VERSION}")
APIS = (
    RefusedFlag("emulated-version", ONE_VERSION, fine=OWN_VERSION),
    IgnoredFlag("emulation-forward-compatible", ONE_VERSION, switch=True),
    IgnoredFlag("runtime-config-emulation-forward-compatible", ONE_VERSION, switch=True),
    IgnoredFlag("min-compatibility-version", "no other version writes to the data directory"),
    RefusedFlag("runtime-config", "the versions of APIs that are served are fixed"),
    RefusedFlag(
        "enable-garbage-collector",
        "deletions always wait for a garbage collector where their policy says so",
        fine=("true",),
        switch=True,
    ),
    RefusedFlag(
        "service-node-port-range",
        "ports of nodes are between 30000 and 32767",
        fine=("", "30000-32767"),
    ),
    RefusedFlag(
        "kubernetes-service-node-port",
        "the Service kubernetes has no port of nodes",
        fine=("", "0"),
    ),
    RefusedFlag(
        "cors-allowed-origins",
        "scripts of other origins are not let in by browsers",
        "serve them from the same origin, and leave the flag out",
    ),
    IgnoredFlag("external-hostname", "clients are told --advertise-address"),
)

LIFE = (
    IgnoredFlag(
        "livez-grace-period", "all that is done at a start is done when the server listens"
    ),
    IgnoredFlag(
        "shutdown-send-retry-after", "new requests find a closed port, and try again", switch=True
    ),
    IgnoredFlag(
        "shutdown-watch-termination-grace-period",
        "watches end in order at a stop, and clients begin them again",
    ),
)

NO_PROFILES = "there is nothing to profile over HTTP"
NO_FILES = "the log goes to standard error, line by line"
OBSERVATION: tuple[Absent, ...] = (
    IgnoredFlag("profiling", NO_PROFILES, switch=True),
    IgnoredFlag("contention-profiling", NO_PROFILES, switch=True),
    IgnoredFlag("debug-socket-path", NO_PROFILES),
    RefusedFlag(
        "enable-logs-handler",
        "there is no path /logs",
        fine=("false",),
        switch=True,
    ),
    *(
        IgnoredFlag(name, "every label has few values, and all metrics are shown")
        for name in (
            "allow-metric-labels",
            "allow-metric-labels-manifest",
            "disabled-metrics",
            "show-hidden-metrics-for-version",
        )
    ),
    *(
        IgnoredFlag(name, NO_FILES)
        for name in (
            "log-flush-frequency",
            "log-json-info-buffer-size",
            "log-text-info-buffer-size",
        )
    ),
    *(
        RefusedFlag(
            name,
            "all of the log goes to standard error",
            fine=("false",),
            switch=True,
        )
        for name in ("log-json-split-stream", "log-text-split-stream")
    ),
    IgnoredFlag("vmodule", "one level holds for the whole log"),
    RefusedFlag("tracing-config-file", "there are no traces"),
)

OURS_ALONE: tuple[Absent, ...] = (
    RefusedFlag(
        "workers",
        "one process serves a data directory",
        "have several servers share an etcd (docs/explanation/one-process.md)",
        fine=("1",),
    ),
)
"""What servers other than kube-apiserver have a flag for."""

ROWS: tuple[Absent, ...] = (*ETCD, *SERVERS, *APIS, *LIFE, *OBSERVATION)
