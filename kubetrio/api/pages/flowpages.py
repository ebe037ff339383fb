"""What there is to see of flow control, below ``/debug/api_priority_and_fairness/``.

The dumps are kube-apiserver's, column by column.  The document ``state`` is what the page ``Load``
of ``/ui/`` draws: once, or with ``watch`` as a line of JSON each half second.  A browser that opens
the folder is sent on to that page.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from kubetrio.api.request import Request, truthy
from kubetrio.api.response import (
    JSON,
    AnyResponse,
    Channel,
    Response,
    StreamResponse,
    json_bytes,
    json_response,
    page_not_found,
    text_response,
)
from kubetrio.flow import observe
from kubetrio.flow.gate import Gate
from kubetrio.flow.observe import Histogram, SchemaHistograms, Snapshot
from kubetrio.flow.report import FlowStatistics, LevelStatistics
from kubetrio.machinery.status import method_not_allowed

ROOT = "/debug/api_priority_and_fairness"
PAGES = {"": b"../ui/#/load", "/": b"../../ui/#/load"}
"""Where the page is, from the folder without and with its last slash: relative, for proxies."""
SHOWN_FLOWS = 6
STREAM_PERIOD_S = 0.5


def stamp(snapshot_now: float, wall: float, t: float) -> str:
    """A time of the monotonic clock as RFC 3339 with nanoseconds, without trailing zeros.

    Args:
        snapshot_now: a moment by the monotonic clock.
        wall: the same moment in seconds since the epoch.
        t: the time to print.
    """
    nanoseconds = round((wall - snapshot_now + t) * 1e9)
    whole, rest = divmod(nanoseconds, 10**9)
    text = dt.datetime.fromtimestamp(whole, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{rest:09d}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"


class FlowPages:
    """The pages of one server.

    Args:
        gate: what they are about.
        open_scopes: where streams are found at shutdown.
    """

    def __init__(self, gate: Gate, open_scopes: set[trio.CancelScope]) -> None:
        self._gate = gate
        self._open_scopes = open_scopes
        self._shown = b""  # what streams send until
        self._shown_until = 0.0

    def answer(self, request: Request) -> AnyResponse:
        """Answer a request for a path below `ROOT`.

        Raises:
            ApiError: 405.
        """
        path = request.info.path
        if not path.startswith(ROOT):
            return page_not_found()
        match path.removeprefix(ROOT):
            case "/dump_priority_levels":
                rows = observe.priority_level_rows(self._gate.snapshot().statistics)
                return text_response(observe.table(observe.PRIORITY_LEVEL_COLUMNS, rows))
            case "/dump_queues":
                queues = observe.queue_rows(self._gate.queues())
                return text_response(observe.table(observe.QUEUE_COLUMNS, queues))
            case "/dump_requests":
                return self._requests(request)
            case "" | "/" | "/state" as page:
                return self._own(page, request)
            case _:
                return page_not_found()

    def _own(self, page: str, request: Request) -> AnyResponse:
        """Answer for one of the paths that kube-apiserver does not have."""
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if page in PAGES:
            return Response(302, b"", b"", ((b"Location", PAGES[page]),))
        if truthy(request.query.get("watch", "0")):
            return StreamResponse(200, self._stream(request), JSON, long_running=True)
        return json_response(self.state())

    def _stream(self, request: Request) -> Callable[[Channel], Awaitable[None]]:
        """Return what sends the state again and again, each time a line of JSON."""

        async def send(channel: Channel) -> None:
            while True:
                await channel.send(channel.frame(self._latest()))
                await trio.sleep(STREAM_PERIOD_S)

        async def run(channel: Channel) -> None:
            # A client that watches flow control takes no part in it.
            self._gate.leave(request, trio.current_time())
            async with trio.open_nursery() as nursery:
                self._open_scopes.add(nursery.cancel_scope)
                try:
                    nursery.start_soon(send, channel, name="flow control state")
                    await channel.wait_closed()
                finally:
                    self._open_scopes.discard(nursery.cancel_scope)
                    nursery.cancel_scope.cancel()

        return run

    def _latest(self) -> bytes:
        """Return the state as JSON, made once for all streams that send at about one time."""
        now = trio.current_time()
        if now >= self._shown_until:
            self._shown = json_bytes(self.state())
            self._shown_until = now + STREAM_PERIOD_S / 2
        return self._shown

    def _requests(self, request: Request) -> Response:
        details = bool(request.query.get("includeRequestDetails"))
        columns: tuple[str, ...] = observe.REQUEST_COLUMNS
        if details:
            columns += observe.REQUEST_DETAIL_COLUMNS
        snapshot = self._gate.snapshot()
        rows = observe.request_rows(
            self._gate.requests(),
            lambda t: stamp(snapshot.now, snapshot.wall, t),
            details=details,
        )
        return text_response(observe.table(columns, rows))

    def state(self) -> dict[str, Any]:
        """Return what the page draws."""
        snapshot = self._gate.snapshot()
        flows = self._gate.flows()
        statistics = snapshot.statistics
        return {
            "time": snapshot.now,
            "wall": stamp(snapshot.now, snapshot.wall, snapshot.now),
            "serverSeats": statistics.server_limit,
            "levels": [_level(snapshot, level, flows[level.name]) for level in statistics.levels],
        }


def _level(snapshot: Snapshot, level: LevelStatistics, flows: FlowStatistics) -> dict[str, Any]:
    numbers = level.queues
    reasons: Counter[str] = Counter()
    for schema in numbers.schemas.values():
        reasons.update(schema.rejected)
    waiting, executing = Counter(flows.waiting), Counter(flows.executing)
    histograms = [one for (_, name), one in snapshot.histograms.items() if name == level.name]
    return {
        "name": level.name,
        "kind": level.kind.value,
        "quiescing": level.quiescing,
        "nominal": level.limits.nominal,
        "minimum": level.limits.minimum,
        "maximum": level.limits.maximum,
        "limit": level.current_limit,
        "demand": round(level.demand.smoothed, 3),
        "seatsInUse": numbers.seats_in_use,
        "seatsWaiting": numbers.seats_waiting,
        "waiting": numbers.waiting,
        "executing": numbers.executing,
        "lingering": numbers.lingering,
        "dispatched": numbers.dispatched,
        "rejected": {reason: count for reason, count in reasons.items() if count},
        # Seats over the limit, summed over nanoseconds: of two states follows the mean between.
        "utilization": {"sum": numbers.seat_ratio.total, "count": numbers.seat_ratio.count},
        "waited": _waited(histograms),
        "oldest": 0.0 if flows.oldest is None else round(snapshot.now - flows.oldest, 6),
        "queues": flows.queues,
        "used": flows.used,  # index, waiting, executing
        "flows": [
            {"schema": key[0], "flow": key[1], "waiting": waiting[key], "executing": executing[key]}
            for key, _ in (waiting + executing).most_common(SHOWN_FLOWS)
        ],
    }


def _waited(histograms: list[SchemaHistograms]) -> dict[str, Any]:
    """Return the waiting times of a level as a histogram: two of them tell what is recent."""
    total = Histogram(observe.SECONDS_BOUNDS)
    for one in histograms:
        for histogram in (one.waited, one.given_up):
            total.total += histogram.total
            total.counts = [a + b for a, b in zip(total.counts, histogram.counts, strict=True)]
    return {"bounds": total.bounds, "counts": total.counts, "sum": round(total.total, 6)}
