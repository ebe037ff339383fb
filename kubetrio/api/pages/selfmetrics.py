"""Metrics of the program and its process: which version, which features, how much of the machine.

Source: k8s.io/component-base/metrics/prometheus/{version,feature}, and Prometheus' client library
for Go for what it tells of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from kubetrio.api.pages.documents import version_info
from kubetrio.observe import prometheus
from kubetrio.observe.series import counter, gauges
from kubetrio.release import KUBERNETES_VERSION

UNLIMITED = float(2**64 - 1)
_BUILD = {
    "build_date": "buildDate",
    "compiler": "compiler",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "git_version": "gitVersion",
    "go_version": "goVersion",
    "major": "major",
    "minor": "minor",
    "platform": "platform",
}
"""Labels, and what ``/version`` calls the same."""
_NETSTAT = Path("/proc/self/net/netstat")


def build_families() -> Iterator[prometheus.Metric]:
    """The version, as labels."""
    info = version_info()
    values = tuple(info[name] for name in _BUILD.values())
    yield gauges("kubernetes_build_info", "Always 1.", tuple(_BUILD), [(values, 1)])
    labels = ("binary", "component", "emulation", "min_compat")
    oldest = f"{info['minCompatibilityMajor']}.{info['minCompatibilityMinor']}"
    emulated = f"{info['emulationMajor']}.{info['emulationMinor']}"
    versions = KUBERNETES_VERSION, "kube", emulated, oldest
    yield gauges("version_info", "Always 1.", labels, [(versions, 1)])


def feature_families(
    known: Callable[[], Mapping[str, tuple[str, bool]]], chosen: Mapping[str, bool]
) -> Iterator[prometheus.Metric]:
    """Feature gates.

    Args:
        known: stage and default of each that kube-apiserver has.
        chosen: those that are set.
    """
    rows = [
        ((name, stage), float(chosen.get(name, default)))
        for name, (stage, default) in known().items()
    ]
    text = "Feature gates, 1 for those that are on."
    for start in range(0, len(rows), 100):
        part = rows[start : start + 100]
        yield gauges("kubernetes_feature_enabled", text, ("name", "stage"), part)


def process_families() -> Iterator[prometheus.Metric]:
    """What the process takes of the machine; where there is no ``/proc``, what can be told."""
    import resource  # there is none on Windows

    from prometheus_client.process_collector import ProcessCollector

    yield from ProcessCollector(registry=None).collect()
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    most = UNLIMITED if limit == resource.RLIM_INFINITY else float(limit)
    text = "Most virtual memory that the process may have."
    yield gauges("process_virtual_memory_max_bytes", text, (), [((), most)])
    octets = _octets()
    for name, key, text in (
        ("process_network_receive_bytes_total", "InOctets", "Bytes that came over the network."),
        ("process_network_transmit_bytes_total", "OutOctets", "Bytes that went over the network."),
    ):
        if key in octets:
            yield from counter(name, text, (), {(): octets[key]})


def _octets() -> dict[str, float]:
    """Counters of the network namespace, which a container has for itself."""
    try:
        lines = _NETSTAT.read_text().splitlines()
    except OSError:
        return {}
    rows = [line.split()[1:] for line in lines if line.startswith("IpExt:")]
    if len(rows) != 2:
        return {}
    return dict(zip(rows[0], map(float, rows[1]), strict=False))


def families_of(
    known: Callable[[], Mapping[str, tuple[str, bool]]], chosen: Mapping[str, bool]
) -> list[Callable[[], Iterator[prometheus.Metric]]]:
    """All of them, for `kubetrio.observe.metrics.Gathered`."""
    return [build_families, partial(feature_families, known, chosen), process_families]
