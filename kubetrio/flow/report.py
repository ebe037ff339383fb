"""What flow control tells about itself: frozen values for metrics, debug pages and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubetrio.flow.allocate import Demand, Limits
from kubetrio.flow.config import LevelKind
from kubetrio.flow.occupancy import RatioSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaStatistics:
    """Requests of one FlowSchema in one level.

    Args:
        waiting_requests: in queues now.
        waiting_seats: that these will take.
        executing_requests: executing now, not counting those that only linger.
        executing_seats: taken by requests executing or lingering.
        dispatched: requests ever begun.
        rejected: requests ever refused, by reason.
        no_accommodation: times the next request was wider than the free seats.
    """

    waiting_requests: int
    waiting_seats: int
    executing_requests: int
    executing_seats: int
    dispatched: int
    rejected: Mapping[str, int]
    no_accommodation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatistics:
    """One queue: a row of ``dump_queues``.

    Args:
        index: of the queue in its level.
        waiting: requests.
        executing: requests dispatched from it.
        seats_in_use: of those, and of those lingering.
        next_dispatch_r: virtual start of its next request, in units of seat-seconds.
        initial_seats_sum: over the waiting requests.
        max_seats_sum: over the waiting requests.
        total_work_sum: over the waiting requests, in units of seat-seconds.
    """

    index: int
    waiting: int = 0
    executing: int = 0
    seats_in_use: int = 0
    next_dispatch_r: int = 0
    initial_seats_sum: int = 0
    max_seats_sum: int = 0
    total_work_sum: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatistics:
    """One request: a row of ``dump_requests``.

    Args:
        schema: name of its FlowSchema.
        distinguisher: of its flow.
        queue: index, -1 where there are no queues.
        position: among those waiting in its queue, -1 while executing.
        arrived_at: seconds of the clock in use.
        started_at: the same, None while waiting.
        initial_seats: while executing.
        final_seats: while lingering.
        additional_latency_s: of lingering.
        about: what the caller gave to describe it.
    """

    schema: str
    distinguisher: str
    queue: int
    position: int
    arrived_at: float
    started_at: float | None
    initial_seats: int
    final_seats: int
    additional_latency_s: float
    about: object


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatistics:
    """Requests of a level by flow, the name of whose schema and whose distinguisher are the keys.

    Args:
        waiting: requests in queues.
        executing: requests executing.
        oldest: when the first of those waiting arrived, seconds of the clock in use.
        queues: number of queues of the configuration.
        used: index, requests waiting and requests executing of each queue that has some.
    """

    waiting: Mapping[tuple[str, str], int]
    executing: Mapping[tuple[str, str], int]
    oldest: float | None
    queues: int
    used: Sequence[tuple[int, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSetStatistics:
    """All numbers of one level's queues.

    Args:
        limit: current limit in seats.
        idle: nothing waits or executes.
        waiting: requests in queues.
        executing: requests executing.
        lingering: requests done, but for their final seats.
        seats_in_use: by executing and lingering requests.
        seats_waiting: that the waiting requests will take.
        waiting_queues: queues with a request waiting.
        active_queues: queues with a request waiting or executing.
        dispatched: requests ever begun.
        rejected: requests ever refused, for any reason.
        timed_out: of those, for waiting too long.
        cancelled: of those, given up by the client.
        current_r: progress meter, in units of seat-seconds.
        dispatch_r: progress meter at the last dispatch.
        latest_s: virtual start of the last request dispatched.
        next_s_bounds: least and greatest virtual start of a next request, over queues that
            wait; ``latest_s`` twice if none does.
        next_discounted_s_bounds: the same less the guessed work in progress.
        schemas: by FlowSchema name.
        waiting_ratio: requests waiting to queue capacity.
        executing_ratio: requests executing to limit.
        seat_ratio: seats in use to limit.
        demand_ratio: seats in use and waiting to limit.
    """

    limit: int
    idle: bool
    waiting: int
    executing: int
    lingering: int
    seats_in_use: int
    seats_waiting: int
    waiting_queues: int
    active_queues: int
    dispatched: int
    rejected: int
    timed_out: int
    cancelled: int
    current_r: int
    dispatch_r: int
    latest_s: int
    next_s_bounds: tuple[int, int]
    next_discounted_s_bounds: tuple[int, int]
    schemas: Mapping[str, SchemaStatistics]
    waiting_ratio: RatioSnapshot
    executing_ratio: RatioSnapshot
    seat_ratio: RatioSnapshot
    demand_ratio: RatioSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStatistics:
    """One level.

    Args:
        name: of the PriorityLevelConfiguration.
        kind: what it does with a request that finds no seat.
        quiescing: removed from the configuration, but not yet drained.
        limits: its bounds.
        current_limit: seats it has now.
        demand: as of the last adjustment.
        target: seats aimed at in the last adjustment.
        retry_after_s: what a request refused now would be told.
        queues: the numbers of its queue set.
    """

    name: str
    kind: LevelKind
    quiescing: bool
    limits: Limits
    current_limit: int
    demand: Demand
    target: float
    retry_after_s: int
    queues: QueueSetStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherStatistics:
    """Flow control as a whole.

    Args:
        server_limit: seats of the server.
        fair_fraction: ``seat_fair_frac``.
        levels: in ascending order of name.
        read_write: (phase, request kind) to ratio of requests to the respective limit.
    """

    server_limit: int
    fair_fraction: float
    levels: tuple[LevelStatistics, ...]
    read_write: Mapping[tuple[str, str], RatioSnapshot]
