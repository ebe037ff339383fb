"""The flow control metrics, with kube-apiserver's names, labels and buckets.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kubetrio.flow.config import EXEMPT
from kubetrio.flow.observe import Histogram, SchemaHistograms, Snapshot, less
from kubetrio.flow.occupancy import RatioSnapshot
from kubetrio.flow.report import LevelStatistics, SchemaStatistics
from kubetrio.flow.seats import seconds
from kubetrio.observe import prometheus
from kubetrio.observe.series import go_float

PREFIX = "apiserver_flowcontrol_"
LEVEL = ("priority_level",)
FLOW = ("flow_schema", "priority_level")

_BY_LEVEL: tuple[tuple[str, str, Callable[[LevelStatistics], float]], ...] = (
    ("nominal_limit_seats", "Part of the server's seats by shares.", lambda v: v.limits.nominal),
    ("lower_limit_seats", "Seats that are never lent.", lambda v: v.limits.minimum),
    ("upper_limit_seats", "Seats with all that may be borrowed.", lambda v: v.limits.maximum),
    ("current_limit_seats", "Seats at present.", lambda v: v.current_limit),
    ("request_concurrency_limit", "The same as the nominal limit.", lambda v: v.limits.nominal),
    ("demand_seats_average", "Mean demand in the last period.", lambda v: v.demand.average),
    ("demand_seats_stdev", "Its standard deviation.", lambda v: v.demand.deviation),
    ("demand_seats_high_watermark", "Its maximum.", lambda v: v.demand.high_watermark),
    ("demand_seats_smoothed", "Demand that steers the limits.", lambda v: v.demand.smoothed),
    ("target_seats", "Seats aimed at in the last adjustment.", lambda v: v.target),
    ("current_r", "Progress meter, seat-seconds.", lambda v: seconds(v.queues.current_r)),
    ("dispatch_r", "The same at the last dispatch.", lambda v: seconds(v.queues.dispatch_r)),
    ("latest_s", "Virtual start of the last dispatch.", lambda v: seconds(v.queues.latest_s)),
)
_BY_FLOW: tuple[tuple[str, str, Callable[[SchemaStatistics], float]], ...] = (
    ("current_inqueue_requests", "Requests waiting.", lambda v: v.waiting_requests),
    ("current_inqueue_seats", "Seats these will take.", lambda v: v.waiting_seats),
    ("current_executing_requests", "Requests executing.", lambda v: v.executing_requests),
    ("current_executing_seats", "Seats taken.", lambda v: v.executing_seats),
    ("request_concurrency_in_use", "Seats taken.", lambda v: v.executing_seats),
)


def _queued(of_schema: SchemaHistograms) -> Histogram:
    # Those of the exempt level have no queues.
    return less(of_schema.queued, 1, min(of_schema.passed_again, of_schema.queued.counts[1]))


def _seats(of_schema: SchemaHistograms) -> Histogram:
    return less(of_schema.seats, 1, of_schema.passed_again)


_OF_SCHEMAS: tuple[tuple[str, str, Callable[[SchemaHistograms], Histogram]], ...] = (
    ("request_queue_length_after_enqueue", "Length of its queue with it.", _queued),
    ("work_estimated_seats", "Most seats a request is worth.", _seats),
    ("watch_count_samples", "Watches that a write is thought to wake.", lambda v: v.watchers),
)


def families(snapshot: Snapshot) -> Iterator[prometheus.Metric]:
    """Every metric of flow control."""
    levels = snapshot.statistics.levels
    yield prometheus.GaugeMetricFamily(
        f"{PREFIX}seat_fair_frac",
        "Limit over target of the levels that no bound holds.",
        value=snapshot.statistics.fair_fraction,
    )
    for name, text, read in _BY_LEVEL:
        gauge = prometheus.GaugeMetricFamily(PREFIX + name, text, labels=LEVEL)
        for level in levels:
            gauge.add_metric([level.name], read(level))
        yield gauge
    yield from _bounds(levels)
    yield from _by_flow(snapshot)
    yield from _utilization(snapshot)
    yield from _requests(snapshot)
    # Progress meters here need no epochs, so this stays without samples.
    yield prometheus.CounterMetricFamily(
        f"{PREFIX}epoch_advance", "Times a meter was set back.", labels=(*LEVEL, "success")
    )


def _bounds(levels: Sequence[LevelStatistics]) -> Iterator[prometheus.Metric]:
    for name, text, discounted in (
        ("next_s_bounds", "Virtual starts of the next requests of queues.", False),
        ("next_discounted_s_bounds", "The same less the guessed work in progress.", True),
    ):
        gauge = prometheus.GaugeMetricFamily(PREFIX + name, text, labels=("bound", *LEVEL))
        for level in levels:
            queues = level.queues
            ends = queues.next_discounted_s_bounds if discounted else queues.next_s_bounds
            for bound, value in zip(("low", "high"), ends, strict=True):
                gauge.add_metric([bound, level.name], seconds(value))
        yield gauge


def _by_flow(snapshot: Snapshot) -> Iterator[prometheus.Metric]:
    levels = snapshot.statistics.levels
    rows = [
        (name, level.name, numbers)
        for level in levels
        for name, numbers in level.queues.schemas.items()
    ]
    for name, text, read in _BY_FLOW:
        gauge = prometheus.GaugeMetricFamily(PREFIX + name, text, labels=FLOW)
        for schema, level_name, numbers in rows:
            gauge.add_metric([schema, level_name], read(numbers))
        yield gauge
    dispatched = prometheus.CounterMetricFamily(
        f"{PREFIX}dispatched_requests", "Requests begun.", labels=FLOW
    )
    rejected = prometheus.CounterMetricFamily(
        f"{PREFIX}rejected_requests", "Requests refused.", labels=(*FLOW, "reason")
    )
    crowded_out = prometheus.CounterMetricFamily(
        f"{PREFIX}request_dispatch_no_accommodation",
        "Times the next request was wider than the free seats.",
        labels=FLOW,
    )
    for schema, level_name, numbers in rows:
        labels = [schema, level_name]
        histograms = snapshot.histograms.get((schema, level_name))
        again = 0 if histograms is None else histograms.started_again
        dispatched.add_metric(labels, max(numbers.dispatched - again, 0))
        if numbers.no_accommodation:
            crowded_out.add_metric(labels, numbers.no_accommodation)
        for reason, count in numbers.rejected.items():
            if count:
                rejected.add_metric([*labels, reason], count)
    yield from (dispatched, rejected, crowded_out)


def _utilization(snapshot: Snapshot) -> Iterator[prometheus.Metric]:
    requests = prometheus.HistogramMetricFamily(
        f"{PREFIX}priority_level_request_utilization",
        "Requests over their limit, at the end of every nanosecond.",
        labels=("phase", *LEVEL),
    )
    seats = prometheus.HistogramMetricFamily(
        f"{PREFIX}priority_level_seat_utilization",
        "Seats taken over the limit, at the end of every nanosecond.",
        labels=(*LEVEL, "phase"),
    )
    demand = prometheus.HistogramMetricFamily(
        f"{PREFIX}demand_seats",
        "Seats taken and waited for over the nominal limit, at the end of every nanosecond.",
        labels=LEVEL,
    )
    for level in snapshot.statistics.levels:
        queues = level.queues
        _add_ratio(requests, ["waiting", level.name], queues.waiting_ratio)
        _add_ratio(requests, ["executing", level.name], queues.executing_ratio)
        _add_ratio(seats, [level.name, "executing"], queues.seat_ratio)
        _add_ratio(demand, [level.name], queues.demand_ratio)
    kinds = prometheus.HistogramMetricFamily(
        f"{PREFIX}read_vs_write_current_requests",
        "Requests over their limit, at the end of every nanosecond.",
        labels=("phase", "request_kind"),
    )
    for key, ratio in snapshot.statistics.read_write.items():
        _add_ratio(kinds, list(key), ratio)
    yield from (requests, seats, demand, kinds)


def _requests(snapshot: Snapshot) -> Iterator[prometheus.Metric]:
    waited = prometheus.HistogramMetricFamily(
        f"{PREFIX}request_wait_duration_seconds",
        "Time from arrival to start or refusal.",
        labels=("execute", *FLOW),
    )
    executed = prometheus.HistogramMetricFamily(
        f"{PREFIX}request_execution_seconds",
        "Time from start to end; of watches, until their state is sent.",
        labels=(*FLOW, "type"),
    )
    for (schema, level), histograms in snapshot.histograms.items():
        if level != EXEMPT:  # there is nothing that its requests could wait for
            began = less(histograms.waited, 0.0, histograms.passed_again)
            _add(waited, ["true", schema, level], began)
            _add(waited, ["false", schema, level], histograms.given_up)
        _add(executed, [schema, level, "regular"], histograms.executed)
        _add(executed, [schema, level, "watch"], histograms.watched)
    yield from (waited, executed)
    for name, text, read in _OF_SCHEMAS:
        family = prometheus.HistogramMetricFamily(PREFIX + name, text, labels=FLOW)
        for (schema, level), histograms in snapshot.histograms.items():
            _add(family, [schema, level], read(histograms))
        yield family


def _add(family: prometheus.HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    counts = histogram.cumulative()
    if not counts[-1]:
        return
    bounds = (*histogram.bounds, float("inf"))
    buckets = [(go_float(b), float(c)) for b, c in zip(bounds, counts, strict=True)]
    family.add_metric(labels, buckets, histogram.total)


def _add_ratio(
    family: prometheus.HistogramMetricFamily, labels: list[str], ratio: RatioSnapshot
) -> None:
    bounds, counts = (*ratio.bounds, float("inf")), (*ratio.counts, ratio.count)
    buckets = [(go_float(b), float(c)) for b, c in zip(bounds, counts, strict=True)]
    family.add_metric(labels, buckets, ratio.total)
