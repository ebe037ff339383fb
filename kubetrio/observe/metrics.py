"""Metrics of the server, with the names and labels that dashboards of kube-apiserver key on.

One `Metrics` belongs to one server, so that several in a process (tests, embedding) do not share
counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple, TypeVarTuple

import trio

from kubetrio.observe import prometheus
from kubetrio.observe.lasthour import LastHour, Totals
from kubetrio.observe.series import (
    PART_HISTOGRAMS,
    PART_SAMPLES,
    Histogram,
    Labels,
    counter,
    gauges,
    histograms,
    linear,
)

DURATION_BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
    45, 60,
)  # fmt: skip
_EMPTY = (0,) * (len(DURATION_BUCKETS) + 1)
SLI_UNSHOWN = 2  # the shortest of them, which the time without waits has no buckets for
SIZE_BUCKETS = tuple(1000.0 * 10**n for n in range(7))
BODY_BUCKETS = linear(50_000.0, 100_000.0, 31)
STREAMS = frozenset({"WATCH", "CONNECT"})
TOO_MANY = 429
BODY_VERBS = {"POST": "create", "PUT": "update"}


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
    """Gauges read at each scrape, for numbers that exist anyway."""

    def __init__(self) -> None:
        self._sources: list[Callable[[], Iterable[prometheus.Metric]]] = []

    def add(self, source: Callable[[], Iterable[prometheus.Metric]]) -> None:
        """Ask one more source at each scrape."""
        self._sources.append(source)

    def collect(self) -> Iterable[prometheus.Metric]:
        """What prometheus-client calls at a scrape."""
        for source in self._sources:
            yield from source()


class _Series:
    """What is counted for one `RequestKey`.

    Attributes:
        count: requests.
        duration: their times, in seconds.
        size: bytes of their bodies, where known.
        bodies: bytes of the bodies that they had; None as long as there are none.
        queued: of those that waited for a seat, the times; None as long as there are none.
        served: the same without the wait.
    """

    __slots__ = ("bodies", "count", "duration", "queued", "served", "size")

    def __init__(self) -> None:
        self.count = 0
        self.duration = Histogram(DURATION_BUCKETS)
        self.size = Histogram(SIZE_BUCKETS)
        self.bodies: Histogram | None = None
        self.queued: Histogram | None = None
        self.served: Histogram | None = None

    def own_time(self) -> Histogram:
        """Times without waits for a seat: most requests have none, so few are counted twice."""
        histogram = Histogram(DURATION_BUCKETS)
        histogram.add(self.duration)
        if self.queued is not None and self.served is not None:
            histogram.add(self.queued, -1)
            histogram.add(self.served)
        return histogram


Args = TypeVarTuple("Args")

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
) -> Iterable[prometheus.Metric]:
    """A family of histograms in parts; those with equal labels, as of several codes, become one."""
    alike: dict[tuple[str, ...], list[_Series]] = {}
    for labels, series in rows:
        alike.setdefault(labels, []).append(series)
    waiting = list(alike.items())
    for start in range(0, max(len(waiting), 1), PART_HISTOGRAMS):
        family = prometheus.HistogramMetricFamily(name, text, labels=names)
        for labels, each in waiting[start : start + PART_HISTOGRAMS]:
            histograms = [times(series) for series in each]
            merged = Histogram(histograms[0].bounds)
            for histogram in histograms:
                merged.add(histogram)
            family.add_metric(labels, merged.cumulative(unshown), merged.total)
        yield family


async def exposition(source: Gathered) -> bytes:
    """Prometheus text format, made in steps of about a millisecond.

    A family may come in parts that follow each other, whose text has one heading.

    Args:
        source: what to show; it is collected on the way.
    """
    out: list[bytes] = []
    begun = ""
    for family in source.collect():
        for start in range(0, max(len(family.samples), 1), PART_SAMPLES):
            part = copy(family)
            part.samples = family.samples[start : start + PART_SAMPLES]
            text = text_of(part)
            if family.name == begun:
                text = text.split(b"\n", 2)[2]  # behind help and type
            begun = family.name
            out.append(text)
            await trio.lowlevel.checkpoint()
    return b"".join(out)


def text_of(family: prometheus.Metric) -> bytes:
    """One family in Prometheus text format."""
    alone = Gathered()
    alone.add(lambda: (family,))
    text = prometheus.generate_latest(alone)
    if getattr(family, "counts", False):  # the library would put ``_total`` behind its name
        return text.replace(b" untyped\n", b" counter\n", 1)
    return text


class Level:
    """A number that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        """One more."""
        self.value += 1

    def dec(self) -> None:
        """One less."""
        self.value -= 1


class Metrics:
    """All metrics of one server.

    Requests are counted in plain numbers and turned into metric families at each scrape:
    the client library's own counters cost more than the store's read.

    Attributes:
        gathered: all of them.
        hour: numbers of the last hour.
        deprecated: group, version, resource and subresource of deprecated resources that
            clients asked for.
    """

    def __init__(self) -> None:
        self.deprecated: set[tuple[str, str, str, str]] = set()
        self._requests: dict[RequestKey, _Series] = {}
        self._terminated: dict[RequestKey, int] = {}
        self._open: dict[tuple[str, ...], Level] = {}
        self.hour = LastHour()
        self.gathered = Gathered()
        self.gathered.add(self._open_families)
        self.gathered.add(self._request_families)

    def observe(self, key: RequestKey, seconds: float, size: int, body: int = 0) -> None:
        """Count one answered request.

        Args:
            key: its labels.
            seconds: how long it took.
            size: bytes of its answer's body, negative when not known.
            body: bytes of its own, 0 where none was read.
        """
        series = self._requests.get(key)
        if series is None:
            series = self._requests[key] = _Series()
        series.count += 1
        series.duration.observe(seconds)
        if size >= 0:
            series.size.observe(size)
        if body:
            if series.bodies is None:
                series.bodies = Histogram(BODY_BUCKETS)
            series.bodies.observe(body)

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

    def totals(self) -> Totals:
        """Return the sums of all requests but streams."""
        each = [(key, one) for key, one in self._requests.items() if key.verb not in STREAMS]
        times = [series.duration for _, series in each]
        return Totals(
            sum(series.count for _, series in each),
            sum(histogram.total for histogram in times),
            DURATION_BUCKETS,
            tuple(map(sum, zip(_EMPTY, *(one.counts for one in times), strict=True))),
            sum(series.count for key, series in each if key.code == TOO_MANY),
        )

    def watches(self) -> int:
        """Return the number of open watches."""
        return sum(level.value for labels, level in self._open.items() if labels[0] == "WATCH")

    def open_streams(self, key: RequestKey) -> Level:
        """The number of open requests of a kind that have no end of their own."""
        labels = _labels(key)
        level = self._open.get(labels)
        if level is None:
            level = self._open[labels] = Level()
        return level

    def counted(
        self, key: RequestKey, run: Callable[[*Args], Awaitable[None]]
    ) -> Callable[[*Args], Awaitable[None]]:
        """Return a stream or tunnel that is among the open ones while it runs.

        Args:
            key: labels of its request.
            run: the stream or tunnel.
        """
        level = self.open_streams(key)

        async def counted(*args: *Args) -> None:
            level.inc()
            try:
                await run(*args)
            finally:
                level.dec()

        return counted

    def _open_families(self) -> Iterable[prometheus.Metric]:
        family = prometheus.GaugeMetricFamily(
            "apiserver_longrunning_requests",
            "Watches and other requests without an end.",
            labels=LABELS,
        )
        for labels, level in self._open.items():
            family.add_metric(labels, level.value)
        yield family
        yield gauges(
            "apiserver_requested_deprecated_apis",
            "Always 1, for each deprecated API that was asked for.",
            ("group", "version", "resource", "subresource", "removed_release"),
            [((*which, ""), 1.0) for which in sorted(self.deprecated)],
        )

    def _request_families(self) -> Iterable[prometheus.Metric]:
        total = prometheus.CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP status code.",
            labels=(*LABELS, "dry_run", "code"),
        )
        terminations = prometheus.CounterMetricFamily(
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
        bodies: dict[tuple[str, ...], Histogram] = {}
        for key, series in requests:
            if series.bodies is not None and key.resource:
                verb = BODY_VERBS.get(key.verb, key.verb.lower())
                labels = key.group, key.resource, verb
                bodies.setdefault(labels, Histogram(BODY_BUCKETS)).add(series.bodies)
        yield from histograms(
            "apiserver_request_body_size_bytes",
            "Bytes of request bodies.",
            ("group", "resource", "verb"),
            bodies,
        )


def gauge(name: str, text: str, value: float) -> prometheus.Metric:
    """A gauge without labels for `Gathered`."""
    family = prometheus.GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family


def cache_families(fills: Iterable[tuple[str, int, int | None]]) -> Iterable[prometheus.Metric]:
    """Caches by place; those of one module are added up.

    Args:
        fills: place, entries and bytes of each, the latter None where it is not known.
    """
    count = prometheus.GaugeMetricFamily(
        "kubetrio_cache_entries", "Entries of caches by module.", labels=("cache",)
    )
    size = prometheus.GaugeMetricFamily(
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


def fault_families(counts: Mapping[tuple[str, str], int]) -> Iterable[prometheus.Metric]:
    """Faults that were injected, by rule and fault."""
    family = prometheus.CounterMetricFamily(
        "kubetrio_faults_total", "Faults injected on demand.", labels=("rule", "fault")
    )
    for labels, count in counts.items():
        family.add_metric(labels, float(count))
    return (family,)


class Collected(NamedTuple):
    """The stored objects of a resource.

    Args:
        group: its API group.
        resource: its plural name.
        objects: how many there are.
        size: bytes that they take, about.
        changes: writes that were seen.
    """

    group: str
    resource: str
    objects: int
    size: int
    changes: int


def object_families(
    found: Iterable[Collected], revision: int, *, counted: bool = True
) -> Iterable[prometheus.Metric]:
    """Stored objects by kind, and what the watch cache had of them.

    There is one for all kinds, at one revision; each write comes to it once and is given to
    watchers once.

    Args:
        found: what is stored.
        revision: newest that watchers were told of.
        counted: whether numbers and sizes of objects are shown.
    """
    rows = list(found)
    which = [(row.group, row.resource) for row in rows]
    events: dict[Labels, float] = dict(
        zip(which, (float(row.changes) for row in rows), strict=True)
    )
    labels = ("group", "resource")

    def gauge_of(name: str, text: str, values: Iterable[float]) -> prometheus.Metric:
        return gauges(name, text, labels, zip(which, values, strict=True))

    if counted:
        numbers = [row.objects for row in rows]
        yield gauge_of("apiserver_resource_objects", "Stored objects.", numbers)
        old = [
            ((f"{row.resource}.{row.group}" if row.group else row.resource,), float(row.objects))
            for row in rows
        ]
        yield gauges("apiserver_storage_objects", "The same.", ("resource",), old)
        sizes = [float(row.size) for row in rows]
        yield gauge_of("apiserver_resource_size_estimate_bytes", "Bytes of them, about.", sizes)
    revisions = [float(revision)] * len(rows)
    yield gauge_of(
        "apiserver_watch_cache_resource_version", "Newest revision of events.", revisions
    )
    for name, text in (
        ("apiserver_storage_events_received_total", "Writes that the store told of."),
        ("apiserver_watch_cache_events_received_total", "Events of the watch cache."),
        ("apiserver_watch_cache_events_dispatched_total", "Events given to watchers."),
    ):
        yield from counter(name, text, labels, events)


def seat_families(
    executing: Callable[[], tuple[int, int]], queued: Callable[[], tuple[int, int]]
) -> Iterable[prometheus.Metric]:
    """Requests that are served, and that wait for a seat.

    Args:
        executing: read-only and mutating ones that are served now.
        queued: those that wait.
    """
    for name, text, read in (
        ("apiserver_current_inflight_requests", "Requests being served.", executing),
        ("apiserver_current_inqueue_requests", "Requests waiting for a seat.", queued),
    ):
        family = prometheus.GaugeMetricFamily(name, text, labels=("request_kind",))
        for kind, number in zip(("readOnly", "mutating"), read(), strict=True):
            family.add_metric((kind,), number)
        yield family
