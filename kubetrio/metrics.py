"""Metrics of the server, with the names and labels that dashboards of kube-apiserver key on.

One `Metrics` belongs to one server, so that several in a process (tests, embedding) do not share
counters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

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


_go_string: Callable[[float], str] = floatToGoString


def go_float(value: float) -> str:
    """A bucket's bound as kube-apiserver writes it, so that selectors of ``le`` match.

    Source: Go's ``strconv.FormatFloat`` with format ``g``; the client library adds ``.0``.
    """
    return _go_string(value).removesuffix(".0")


class _Histogram:
    """Counts by bucket; observing costs a bisection and two additions."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Buckets as Prometheus has them."""
        found, running = [], 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            found.append((go_float(bound), float(running)))
        return found


class _Series:
    """What is counted for one `RequestKey`."""

    __slots__ = ("count", "duration", "size")

    def __init__(self) -> None:
        self.count = 0
        self.duration = _Histogram(DURATION_BUCKETS)
        self.size = _Histogram(SIZE_BUCKETS)


LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")


class Metrics:
    """All metrics of one server.

    Requests are counted in plain numbers and turned into metric families when somebody scrapes:
    the client library's own counters cost more than the store's read.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests: dict[RequestKey, _Series] = {}
        self.inflight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being served.",
            ("request_kind",),
            registry=self.registry,
        )
        self.longrunning = Gauge(
            "apiserver_longrunning_requests",
            "Watches and other requests without an end.",
            LABELS,
            registry=self.registry,
        )
        self.gathered = Gathered()
        self.gathered.add(self._request_families)
        self.registry.register(self.gathered)

    def observe(self, key: RequestKey, seconds: float, size: int) -> None:
        """Count one answered request.

        Args:
            key: its labels.
            seconds: how long it took.
            size: bytes of its body, negative when not known.
        """
        series = self._requests.get(key)
        if series is None:
            series = self._requests[key] = _Series()
        series.count += 1
        series.duration.observe(seconds)
        if size >= 0:
            series.size.observe(size)

    def open_streams(self, key: RequestKey) -> Gauge:
        """The number of open requests of a kind that have no end of their own."""
        return self.longrunning.labels(*key[:1], *key[2:7], "apiserver")

    def _request_families(self) -> Iterable[Metric]:
        total = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP status code.",
            labels=(*LABELS, "dry_run", "code"),
        )
        duration = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from the parsed head of a request to its answer.",
            labels=(*LABELS, "dry_run", "code"),
        )
        sizes = HistogramMetricFamily(
            "apiserver_response_sizes", "Bytes of response bodies.", labels=(*LABELS, "code")
        )
        for key, series in self._requests.items():
            labels = (*key[:1], *key[2:7], "apiserver")
            code = str(key.code)
            total.add_metric((*labels, key.dry_run, code), series.count)
            for family, more, histogram in (
                (duration, (key.dry_run, code), series.duration),
                (sizes, (code,), series.size),
            ):
                family.add_metric((*labels, *more), histogram.cumulative(), histogram.total)
        yield total
        yield duration
        yield sizes

    def exposition(self) -> bytes:
        """Prometheus text format."""
        return generate_latest(self.registry)


def gauge(name: str, text: str, value: float) -> Metric:
    """A gauge without labels for `Gathered`."""
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
