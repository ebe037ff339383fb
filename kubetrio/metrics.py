"""Metrics of the server, with the names and labels that dashboards of kube-apiserver key on.

One `Metrics` belongs to one server, so that several in a process (tests, embedding) do not share
counters.  Children of labelled metrics are cached: looking one up costs more than counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

DURATION_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
SIZE_BUCKETS = tuple(1000.0 * 10**n for n in range(7))


class RequestKey(NamedTuple):
    """Labels of a request."""

    verb: str
    dry_run: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    code: int


class Gathered:
    """Gauges read when somebody asks, for numbers that exist anyway."""

    def __init__(self) -> None:
        self._sources: list[Callable[[], Iterable[Metric]]] = []

    def add(self, source: Callable[[], Iterable[Metric]]) -> None:
        """Ask one more source at each scrape."""
        self._sources.append(source)

    def collect(self) -> Iterable[Metric]:
        """What prometheus-client calls at a scrape."""
        for source in self._sources:
            yield from source()


class Metrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("verb", "group", "version", "resource", "subresource", "scope", "component")
        self._total = Counter(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP status code.",
            (*labels, "dry_run", "code"),
            registry=self.registry,
        )
        self._duration = Histogram(
            "apiserver_request_duration_seconds",
            "Time from the parsed head of a request to its answer.",
            (*labels, "dry_run"),
            buckets=DURATION_BUCKETS,
            registry=self.registry,
        )
        self._sizes = Histogram(
            "apiserver_response_sizes",
            "Bytes of response bodies.",
            labels,
            buckets=SIZE_BUCKETS,
            registry=self.registry,
        )
        self.inflight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being served.",
            ("request_kind",),
            registry=self.registry,
        )
        self.longrunning = Gauge(
            "apiserver_longrunning_requests",
            "Watches and other requests without an end.",
            labels,
            registry=self.registry,
        )
        self.gathered = Gathered()
        self.registry.register(self.gathered)
        self._children = lru_cache(maxsize=4096)(self._make_children)

    def _make_children(
        self, key: RequestKey
    ) -> tuple[Callable[[float], None], Callable[[float], None], Callable[[float], None]]:
        labels = (*key[:1], *key[2:7], "apiserver")
        total = self._total.labels(*labels, key.dry_run, str(key.code))
        duration = self._duration.labels(*labels, key.dry_run)
        return total.inc, duration.observe, self._sizes.labels(*labels).observe

    def observe(self, key: RequestKey, seconds: float, size: int) -> None:
        """Count one answered request.

        Args:
            key: its labels.
            seconds: how long it took.
            size: bytes of its body, negative when not known.
        """
        count, observe, observe_size = self._children(key)
        count(1)
        observe(seconds)
        if size >= 0:
            observe_size(size)

    def longrunning_child(self, key: RequestKey) -> Gauge:
        """The gauge of open requests of a kind."""
        return self.longrunning.labels(*key[:1], *key[2:7], "apiserver")

    def exposition(self) -> bytes:
        """Prometheus text format."""
        return generate_latest(self.registry)


def gauge(name: str, text: str, value: float) -> Metric:
    """A gauge without labels for `Gathered`."""
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
