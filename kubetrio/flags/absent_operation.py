"""Absent flags of operation: etcd, several servers, logs, metrics, versions.

Most have a reason that is not here, and are ignored.
"""

from __future__ import annotations

from kubetrio.flags.absence import Absent, Ignored, Refused
from kubetrio.release import MINOR_VERSION

NO_ETCD = "there is no etcd: objects are in --data-dir"
ETCD: tuple[Absent, ...] = (
    *(
        Ignored(name, NO_ETCD)
        for name in (
            "etcd-cafile",
            "etcd-certfile",
            "etcd-keyfile",
            "etcd-servers",
            "etcd-servers-overrides",
            "etcd-prefix",
            "lease-reuse-duration-seconds",
        )
    ),
    *(
        Ignored(name, "these numbers are always up to date")
        for name in ("etcd-count-metric-poll-period", "etcd-db-metric-poll-interval")
    ),
    Ignored("storage-media-type", "the form of stored objects is the server's own matter"),
    Ignored("storage-initialization-timeout", "the store is open before the server listens"),
    Ignored("watch-cache", "every read is consistent, and watches share one window", switch=True),
    Ignored("watch-cache-sizes", "watches share one window of memory"),
    Ignored("delete-collection-workers", "objects of a collection are deleted one by one"),
)

MOST_CHANCE = 0.02


def _no_chance(value: str) -> str:
    try:
        fits = 0 <= float(value) <= MOST_CHANCE
    except ValueError:
        return f"invalid float value: {value!r}"
    return "" if fits else f"can not be less than 0 or greater than {MOST_CHANCE}"


ONE_SERVER = "there is one server for a data directory"
SERVERS: tuple[Absent, ...] = (
    Ignored("goaway-chance", ONE_SERVER, wrong=_no_chance),
    *(
        Ignored(name, "there are no leaders to elect")
        for name in (
            "coordinated-leadership-lease-duration",
            "coordinated-leadership-renew-deadline",
            "coordinated-leadership-retry-period",
        )
    ),
    *(
        Ignored(name, ONE_SERVER)
        for name in ("peer-advertise-ip", "peer-advertise-port", "peer-ca-file")
    ),
    Refused(
        "endpoint-reconciler-type",
        "the endpoints of the Service kubernetes always have this server's address",
        fine=("", "lease", "master-count"),
    ),
    Ignored("permit-address-sharing", "it is always on where the system has it", switch=True),
)

ONE_VERSION = f"the server is as kube-apiserver {MINOR_VERSION}"
OWN_VERSION = ("", MINOR_VERSION, f"kube={MINOR_VERSION}")
APIS = (
    Refused("emulated-version", ONE_VERSION, fine=OWN_VERSION),
    Ignored("emulation-forward-compatible", ONE_VERSION, switch=True),
    Ignored("runtime-config-emulation-forward-compatible", ONE_VERSION, switch=True),
    Ignored("min-compatibility-version", "no other version writes to the data directory"),
    Refused("runtime-config", "the versions of APIs that are served are fixed"),
    Refused(
        "enable-garbage-collector",
        "deletions always wait for a garbage collector where their policy says so",
        fine=("true",),
        switch=True,
    ),
    Refused(
        "service-node-port-range",
        "ports of nodes are between 30000 and 32767",
        fine=("", "30000-32767"),
    ),
    Refused(
        "kubernetes-service-node-port",
        "the Service kubernetes has no port of nodes",
        fine=("", "0"),
    ),
    Refused(
        "cors-allowed-origins",
        "scripts of other origins are not let in by browsers",
        "serve them from the same origin, and leave the flag out",
    ),
    Ignored("external-hostname", "clients are told --advertise-address"),
)

LIFE = (
    Ignored("livez-grace-period", "all that is done at a start is done when the server listens"),
    Ignored(
        "shutdown-send-retry-after", "new requests find a closed port, and try again", switch=True
    ),
    Ignored(
        "shutdown-watch-termination-grace-period",
        "watches end in order at a stop, and clients begin them again",
    ),
)

NO_PROFILES = "there is nothing to profile over HTTP"
NO_FILES = "the log goes to standard error, line by line"
OBSERVATION: tuple[Absent, ...] = (
    Ignored("profiling", NO_PROFILES, switch=True),
    Ignored("contention-profiling", NO_PROFILES, switch=True),
    Ignored("debug-socket-path", NO_PROFILES),
    Refused(
        "enable-logs-handler",
        "there is no path /logs",
        fine=("false",),
        switch=True,
    ),
    *(
        Ignored(name, "every label has few values, and all metrics are shown")
        for name in (
            "allow-metric-labels",
            "allow-metric-labels-manifest",
            "disabled-metrics",
            "show-hidden-metrics-for-version",
        )
    ),
    *(
        Ignored(name, NO_FILES)
        for name in (
            "log-flush-frequency",
            "log-json-info-buffer-size",
            "log-text-info-buffer-size",
        )
    ),
    *(
        Refused(
            name,
            "all of the log goes to standard error",
            fine=("false",),
            switch=True,
        )
        for name in ("log-json-split-stream", "log-text-split-stream")
    ),
    Ignored("vmodule", "one level holds for the whole log"),
    Refused("tracing-config-file", "there are no traces"),
)

ROWS: tuple[Absent, ...] = (*ETCD, *SERVERS, *APIS, *LIFE, *OBSERVATION)
