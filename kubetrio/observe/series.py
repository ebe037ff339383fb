"""Counters and histograms with labels, kept in plain numbers and shown at each scrape.

Counting is an addition to a dictionary of integers; the client library of Prometheus, whose own
counters cost more than reading an object from the store, is only asked for the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubetrio.observe import prometheus

PART_HISTOGRAMS = 2
"""Histograms that are collected before others run: about a millisecond."""
PART_SAMPLES = 50
"""Counters that are collected before others run."""
DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Those of Prometheus' client library for Go."""
Labels = tuple[str, ...]


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Bounds of buckets, each a factor over the one before, by repeated multiplication as in Go."""
    bounds = [first]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def linear(first: float, width: float, count: int) -> tuple[float, ...]:
    """Bounds of buckets that are equally wide."""
    return tuple(first + width * at for at in range(count))


def go_float(value: float) -> str:
    """A bucket's bound as kube-apiserver writes it, so that selectors of ``le`` match.

    Source: Go's ``strconv.FormatFloat`` with format ``g``; the client library adds ``.0``.
    """
    return prometheus.go_float(value).removesuffix(".0")


class Histogram:
    """Counts by bucket; observing costs a bisection and two additions."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count one value, or several that are equal."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def observe_all(self, values: Sequence[float], times: int = 1) -> None:
        """Count many values at once, each so many times."""
        ordered = sorted(values)
        begin = 0
        for at, bound in enumerate(self.bounds):
            end = bisect_right(ordered, bound, begin)
            self.counts[at] += (end - begin) * times
            begin = end
        self.counts[-1] += (len(ordered) - begin) * times
        self.total += sum(ordered) * times

    def add(self, other: Histogram, times: int = 1) -> None:
        """Count what another one with the same bounds counted; with -1 as if it had not."""
        self.counts = [n + times * m for n, m in zip(self.counts, other.counts, strict=True)]
        self.total += times * other.total

    def cumulative(self, unshown: int = 0) -> list[tuple[str, float]]:
        """Buckets as Prometheus has them, without the first so many."""
        buckets, running = [], 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            buckets.append((go_float(bound), float(running)))
        return buckets[unshown:]


def counter(
    name: str, text: str, labels: Sequence[str], rows: Mapping[Labels, float]
) -> Iterator[prometheus.Metric]:
    """A family of counters in parts.

    Args:
        name: of the metric; those of kube-apiserver do not all end in ``_total``, which the client
            library would add.
        text: its help.
        labels: names of its labels.
        rows: numbers by values of the labels.
    """
    waiting = list(rows.items())
    for start in range(0, max(len(waiting), 1), PART_SAMPLES):
        family: prometheus.Metric
        if name.endswith("_total"):
            family = prometheus.CounterMetricFamily(name, text, labels=labels)
        else:
            family = prometheus.Metric(name, text, "unknown")
            family.counts = True  # type: ignore[attr-defined]  # see `metrics.text_of`
        for values, number in waiting[start : start + PART_SAMPLES]:
            family.add_sample(name, dict(zip(labels, values, strict=True)), float(number))
        yield family


def histograms(
    name: str, text: str, labels: Sequence[str], rows: Mapping[Labels, Histogram]
) -> Iterator[prometheus.Metric]:
    """A family of histograms in parts."""
    waiting = list(rows.items())
    for start in range(0, max(len(waiting), 1), PART_HISTOGRAMS):
        family = prometheus.HistogramMetricFamily(name, text, labels=labels)
        for values, histogram in waiting[start : start + PART_HISTOGRAMS]:
            family.add_metric(values, histogram.cumulative(), histogram.total)
        yield family


class Counts(Counter[Labels]):
    """Counters by the values of their labels: ``counts["get", "200"] += 1``.

    Args:
        name: of the metric.
        text: its help.
        labels: names of its labels.
        shown: values that are there from the start, with 0.
    """

    def __init__(self, name: str, text: str, *labels: str, shown: Iterable[Labels] = ()) -> None:
        super().__init__(dict.fromkeys(shown, 0))
        self._what = name, text, labels

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        return counter(*self._what, self)


class Timings(dict[Labels, Histogram]):
    """Histograms by the values of their labels, made when first looked at.

    Args:
        name: of the metric.
        text: its help.
        labels: names of its labels.
        bounds: of the buckets.
        shown: values that are there from the start.
    """

    def __init__(
        self,
        name: str,
        text: str,
        *labels: str,
        bounds: Sequence[float] = DEFAULT_BUCKETS,
        shown: Iterable[Labels] = (),
    ) -> None:
        super().__init__()
        self._what = name, text, labels
        self._bounds = bounds
        for values in shown:
            self[values]

    def __missing__(self, labels: Labels) -> Histogram:
        """Begin a histogram."""
        histogram = self[labels] = Histogram(self._bounds)
        return histogram

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        return histograms(*self._what, self)


def gauges(
    name: str, text: str, labels: Sequence[str], rows: Iterable[tuple[Labels, float]]
) -> prometheus.Metric:
    """A family of gauges, few enough for one part."""
    family = prometheus.GaugeMetricFamily(name, text, labels=labels)
    for values, number in rows:
        family.add_metric(values, float(number))
    return family
