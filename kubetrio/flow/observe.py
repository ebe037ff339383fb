"""What flow control counts for each request, and the rows that pages and metrics are made of.

Pure: the gate feeds it, HTTP reads it.  Numbers about levels and queues are the dispatcher's own
(``report``); here are the histograms of single requests and the rows of the debug pages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.report import (
    DispatcherStatistics,
    QueueStatistics,
    RequestStatistics,
)
from kubetrio.flow.seats import seat_seconds_text

SECONDS_BOUNDS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
LENGTH_BOUNDS = (0, 10, 25, 50, 100, 250, 500, 1000)
WATCHER_BOUNDS = (0, 1, 10, 100, 1000, 10000)
WIDTH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 100)

PRIORITY_LEVEL_COLUMNS = (
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
)
QUEUE_COLUMNS = (
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
)
REQUEST_COLUMNS = (
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",  # as kube-apiserver spells it
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
)
REQUEST_DETAIL_COLUMNS = (
    "UserName",
    "Verb",
    "APIPath",
    "Namespace",
    "Name",
    "APIVersion",
    "Resource",
    "SubResource",
)


class Histogram:
    """Counts by bucket.

    Args:
        bounds: ascending upper bounds, without infinity.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, some times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    @property
    def count(self) -> int:
        """All values counted."""
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """Values at or below each bound, and last all of them."""
        buckets, running = [], 0
        for count in self.counts:
            running += count
            buckets.append(running)
        return buckets


def less(histogram: Histogram, value: float, times: int) -> Histogram:
    """A histogram as if a value had not been counted so many times."""
    if not times:
        return histogram
    difference = Histogram(histogram.bounds)
    difference.counts, difference.total = [*histogram.counts], histogram.total
    difference.observe(value, -times)
    return difference


class SchemaHistograms:
    """Histograms of the requests of one FlowSchema in one level.

    Attributes:
        waited: seconds from arrival to start, of requests that were executed.
        given_up: the same to the refusal, of those that were not.
        executed: seconds of execution; of a watch, until its state was sent.
        watched: the same, of watches.
        queued: length of its queue after a request entered it.
        seats: the most seats a request was worth.
        watchers: open watches that a write was thought to wake.
        passed_again: requests that gave their seat back while their body came, and then began again
            without a ticket; they were counted in each of the other histograms twice.
        started_again: all that began again.
    """

    __slots__ = (
        "executed", "given_up", "passed_again", "queued", "seats", "started_again", "waited",
        "watched", "watchers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.waited = Histogram(SECONDS_BOUNDS)
        self.given_up = Histogram(SECONDS_BOUNDS)
        self.executed = Histogram(SECONDS_BOUNDS)
        self.watched = Histogram(SECONDS_BOUNDS)
        self.queued = Histogram(LENGTH_BOUNDS)
        self.seats = Histogram(WIDTH_BOUNDS)
        self.watchers = Histogram(WATCHER_BOUNDS)
        self.passed_again = self.started_again = 0


HistogramsBySchema = Mapping[tuple[str, str], SchemaHistograms]  # by FlowSchema and level


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything there is to show at one time.

    Args:
        now: seconds of the monotonic clock in use.
        wall: the same moment, in seconds since the epoch.
        statistics: of levels.
        histograms: of requests.
    """

    now: float
    wall: float
    statistics: DispatcherStatistics
    histograms: HistogramsBySchema


def priority_level_rows(statistics: DispatcherStatistics) -> Iterable[tuple[str, ...]]:
    """Rows of ``dump_priority_levels``."""
    for level in statistics.levels:
        queues = level.queues
        yield (
            level.name,
            str(queues.waiting_queues),
            _boolean(queues.idle),
            _boolean(level.quiescing),
            str(queues.waiting),
            str(queues.executing),
            str(queues.dispatched),
            str(queues.rejected),
            str(queues.timed_out),
            str(queues.cancelled),
        )


def queue_rows(
    queues: Mapping[str, tuple[QueueStatistics, ...]],
) -> Iterable[tuple[str, ...]]:
    """Rows of ``dump_queues``."""
    for level, rows in queues.items():
        for row in rows:
            yield (
                level,
                str(row.index),
                str(row.waiting),
                str(row.executing),
                str(row.seats_in_use),
                seat_seconds_text(row.next_dispatch_r),
                str(row.initial_seats_sum),
                str(row.max_seats_sum),
                seat_seconds_text(row.total_work_sum),
            )


def request_rows(
    requests: Mapping[str, tuple[RequestStatistics, ...]],
    stamp: Callable[[float], str],
    *,
    details: bool,
) -> Iterable[tuple[str, ...]]:
    """Rows of ``dump_requests``.

    Args:
        requests: by level.
        stamp: prints a time of the monotonic clock as a date.
        details: with the columns about the request itself.
    """
    for level, rows in requests.items():
        for row in rows:
            shown = (
                level,
                row.schema,
                str(row.queue),
                str(row.position),
                row.distinguisher,
                stamp(row.arrived_at),
                str(row.initial_seats),
                str(row.final_seats),
                go_duration(row.additional_latency_s),
                "" if row.started_at is None else stamp(row.started_at),
            )
            yield (*shown, *_details(row.about)) if details else shown


def _details(about: object) -> tuple[str, ...]:
    if not isinstance(about, RequestDigest):
        return ("",) * len(REQUEST_DETAIL_COLUMNS)
    return (
        about.user,
        about.verb,
        about.path,
        about.namespace,
        about.name,
        f"{about.api_group}/{about.api_version}".removeprefix("/"),
        about.resource,
        about.subresource,
    )


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def go_duration(seconds: float) -> str:
    """Seconds as Go prints a ``time.Duration``, for less than an hour: ``0s``, ``5ms``, ``1.5s``.

    Source: the documentation of Go's ``time.Duration.String``.
    """
    nanoseconds = round(seconds * 1e9)
    if nanoseconds == 0:
        return "0s"
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1)):
        if nanoseconds >= size:
            whole, rest = divmod(nanoseconds, size)
            digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else ""
            return f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}"
    return f"{nanoseconds}ns"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells with a comma behind each but the last, in aligned columns.

    As Go's ``text/tabwriter`` lays it out with cells of at least 8 places and 1 of padding.
    """
    lines = [tuple(columns), *(tuple(row) for row in rows)]
    last = len(columns) - 1
    widths = [max(8, *(len(line[at]) + 2 for line in lines)) for at in range(last)]
    text = []
    for line in lines:
        cells = [f"{line[at]},".ljust(widths[at]) for at in range(last)]
        text.append("".join(cells) + line[last])
    return "\n".join(text) + "\n"
