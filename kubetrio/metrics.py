"""Metrics of the server, with the names and labels that dashboards of kube-apiserver key on.

One `Metrics` belongs to one server, so that several in a process (tests, embedding) do not share
counters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import trio
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

DURATION_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
SLI_UNSHOWN = 2  # the shortest of them, which the time without waits has no buckets for
SIZE_BUCKETS = tuple(1000.0 * 10**n for n in range(7))
# What is collected and printed before others run: about a millisecond each.
PART_HISTOGRAMS = 2
PART_SAMPLES = 50


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


class Histogram:
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

    def add(self, other: Histogram, times: int = 1) -> None:
        """Count what another one with the same bounds counted; with -1 as if it had not."""
        self.counts = [n + times * m for n, m in zip(self.counts, other.counts, strict=True)]
        self.total += times * other.total

    def cumulative(self, unshown: int = 0) -> list[tuple[str, float]]:
        """Buckets as Prometheus has them, without the first so many."""
        found, running = [], 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            found.append((go_float(bound), float(running)))
        return found[unshown:]


class _Series:
    """What is counted for one `RequestKey`.

    Attributes:
        count: requests.
        duration: their times, in seconds.
        size: bytes of their bodies, where known.
        queued: of those that waited for a seat, the times; None as long as there are none.
        served: the same without the wait.
    """

    __slots__ = ("count", "duration", "queued", "served", "size")

    def __init__(self) -> None:
        self.count = 0
        self.duration = Histogram(DURATION_BUCKETS)
        self.size = Histogram(SIZE_BUCKETS)
        self.queued: Histogram | None = None
        self.served: Histogram | None = None

    def own_time(self) -> Histogram:
        """Times without waits for a seat: most requests have none, so few are counted twice."""
        made = Histogram(DURATION_BUCKETS)
        made.add(self.duration)
        if self.queued is not None and self.served is not None:
            made.add(self.queued, -1)
            made.add(self.served)
        return made


LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")


def _labels(key: RequestKey) -> tuple[str, ...]:
    """Values of `LABELS`."""
    return (*key[:1], *key[2:7], "apiserver")


def _histograms(
    name: str,
    text: str,
    names: Sequence[str],
    rows: Iterable[tuple[tuple[str, ...], _Series]],
    times: Callable[[_Series], Histogram],
    *,
    unshown: int = 0,
) -> Iterable[Metric]:
    """A family of histograms in parts; those with equal labels, as of several codes, become one."""
    alike: dict[tuple[str, ...], list[_Series]] = {}
    for labels, series in rows:
        alike.setdefault(labels, []).append(series)
    waiting = list(alike.items())
    for start in range(0, max(len(waiting), 1), PART_HISTOGRAMS):
        family = HistogramMetricFamily(name, text, labels=names)
        for labels, each in waiting[start : start + PART_HISTOGRAMS]:
            histograms = [times(series) for series in each]
            merged = Histogram(histograms[0].bounds)
            for histogram in histograms:
                merged.add(histogram)
            family.add_metric(labels, merged.cumulative(unshown), merged.total)
        yield family


async def exposition(registry: CollectorRegistry) -> bytes:
    """Prometheus text format, made in steps of about a millisecond.

    A family may come in parts that follow each other, whose text has one heading.

    Args:
        registry: what to show; it is collected on the way.
    """
    out: list[bytes] = []
    begun = ""
    for family in registry.collect():
        for start in range(0, max(len(family.samples), 1), PART_SAMPLES):
            part = copy(family)
            part.samples = family.samples[start : start + PART_SAMPLES]
            text = generate_latest(OneFamily(part))
            if family.name == begun:
                text = text.split(b"\n", 2)[2]  # behind help and type
            begun = family.name
            out.append(text)
            await trio.lowlevel.checkpoint()
    return b"".join(out)


class OneFamily(Collector):
    """A collector of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        """What prometheus-client asks for."""
        return [self._family]


class Metrics:
    """All metrics of one server.

    Requests are counted in plain numbers and turned into metric families when somebody scrapes:
    the client library's own counters cost more than the store's read.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests: dict[RequestKey, _Series] = {}
        self._terminated: dict[RequestKey, int] = {}
        self.inflight = Gauge(
            "apiserver_current_inflight_requests",
            "Requests being served.",
            ("request_kind",),
            registry=self.registry,
        )
        self.inqueue = Gauge(
            "apiserver_current_inqueue_requests",
            "Requests waiting for a seat.",
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

    def waited(self, key: RequestKey, seconds: float, wait: float) -> None:
        """Note that a request that was observed waited for a seat.

        Args:
            key: its labels.
            seconds: how long it took in all.
            wait: how much of that it waited.
        """
        series = self._requests[key]
        if series.queued is None or series.served is None:
            series.queued, series.served = (
                Histogram(DURATION_BUCKETS),
                Histogram(DURATION_BUCKETS),
            )
        series.queued.observe(seconds)
        series.served.observe(max(seconds - wait, 0.0))

    def terminated(self, key: RequestKey) -> None:
        """Count a request that was ended to protect the server: refused, or out of time."""
        self._terminated[key] = self._terminated.get(key, 0) + 1

    def open_streams(self, key: RequestKey) -> Gauge:
        """The number of open requests of a kind that have no end of their own."""
        return self.longrunning.labels(*_labels(key))

    def _request_families(self) -> Iterable[Metric]:
        total = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP status code.",
            labels=(*LABELS, "dry_run", "code"),
        )
        terminations = CounterMetricFamily(
            "apiserver_request_terminations_total",
            "Requests ended to protect the server.",
            labels=(*LABELS, "code"),
        )
        requests = list(self._requests.items())  # others may come while they are shown
        for key, series in requests:
            total.add_metric((*_labels(key), key.dry_run, str(key.code)), series.count)
        ended = Counter[tuple[str, ...]]()
        for key, count in self._terminated.items():
            ended[*_labels(key), str(key.code)] += count
        for labels, count in ended.items():
            terminations.add_metric(labels, count)
        yield total
        yield terminations
        rows = [((*_labels(key), key.dry_run), series) for key, series in requests]
        yield from _histograms(
            "apiserver_request_duration_seconds",
            "Time from the parsed head of a request to its answer.",
            (*LABELS, "dry_run"),
            rows,
            lambda series: series.duration,
        )
        rows = [(_labels(key), series) for key, series in requests]
        yield from _histograms(
            "apiserver_request_sli_duration_seconds",
            "The same without the wait for a seat.",
            LABELS,
            rows,
            _Series.own_time,
            unshown=SLI_UNSHOWN,
        )
        yield from _histograms(
            "apiserver_response_sizes",
            "Bytes of response bodies.",
            LABELS,
            rows,
            lambda series: series.size,
        )


def gauge(name: str, text: str, value: float) -> Metric:
    """A gauge without labels for `Gathered`."""
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family


def cache_families(fills: Iterable[tuple[str, int, int | None]]) -> Iterable[Metric]:
    """Caches by place; those of one module are added up.

    Args:
        fills: place, entries and bytes of each, the latter None where nobody can tell.
    """
    count = GaugeMetricFamily(
        "kubetrio_cache_entries", "Entries of caches by module.", labels=("cache",)
    )
    size = GaugeMetricFamily(
        "kubetrio_cache_bytes", "Bytes that clients chose of them.", labels=("cache",)
    )
    entries, sizes = Counter[str](), Counter[str]()
    for place, held, held_bytes in fills:
        entries[place] += held
        if held_bytes is not None:
            sizes[place] += held_bytes
    for family, numbers in ((count, entries), (size, sizes)):
        for place in sorted(numbers):
            family.add_metric([place], float(numbers[place]))
    return count, size


def fault_families(counts: Mapping[tuple[str, str], int]) -> Iterable[Metric]:
    """Faults that were injected, by rule and fault."""
    family = CounterMetricFamily(
        "kubetrio_faults_total", "Faults injected on demand.", labels=("rule", "fault")
    )
    for labels, count in counts.items():
        family.add_metric(labels, float(count))
    return (family,)


def object_families(counts: Iterable[tuple[str, str, int]]) -> Iterable[Metric]:
    """Stored objects by kind, under the old and the new name.

    Args:
        counts: group, plural name and number of each.
    """
    old = GaugeMetricFamily("apiserver_storage_objects", "The same.", labels=("resource",))
    new = GaugeMetricFamily(
        "apiserver_resource_objects", "Stored objects.", labels=("group", "resource")
    )
    for group, resource, count in counts:
        old.add_metric([f"{resource}.{group}" if group else resource], count)
        new.add_metric([group, resource], count)
    yield from (new, old)
