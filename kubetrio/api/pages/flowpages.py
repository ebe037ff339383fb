"""Pages about flow control, below ``/debug/api_priority_and_fairness/``.

The dumps are kube-apiserver's, column by column; the page and the document it draws are our own.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

import trio

from kubetrio.api.request import Request
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
from kubetrio.flow.report import FlowStatistics, LevelStatistics, QueueStatistics
from kubetrio.machinery.status import method_not_allowed

ROOT = "/debug/api_priority_and_fairness"
HTML = b"text/html; charset=utf-8"
# The page brings all it needs and asks no other host.
_SOURCES = "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'"
POLICY = (b"Content-Security-Policy", f"{_SOURCES}; style-src 'unsafe-inline'".encode())
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
        self._page = b""
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
            case "" | "/" | "/state" | "/ws" as page:
                return self._own(page, request)
            case _:
                return page_not_found()

    def _own(self, page: str, request: Request) -> AnyResponse:
        """One of the pages that kube-apiserver does not have."""
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        match page:
            case "":
                return Response(301, b"", b"", ((b"Location", f"{ROOT}/".encode()),))
            case "/":
                return self._html()
            case "/state":
                return json_response(self.state())
            case _:
                return StreamResponse(200, self._stream(request), JSON, long_running=True)

    def _html(self) -> Response:
        if not self._page:
            self._page = resources.files(__package__).joinpath("flowpage.html").read_bytes()
        return Response(200, self._page, HTML, (POLICY,))

    def _stream(self, request: Request) -> Callable[[Channel], Awaitable[None]]:
        """The state, again and again; over WebSocket each time is a message."""

        async def send(channel: Channel) -> None:
            while True:
                await channel.send(channel.frame(self._latest()))
                await trio.sleep(STREAM_PERIOD_S)

        async def run(channel: Channel) -> None:
            # A page that shows flow control must not take part in it.
            self._gate.leave(request, trio.current_time())
            async with trio.open_nursery() as nursery:
                self._open_scopes.add(nursery.cancel_scope)
                try:
                    nursery.start_soon(send, channel, name="flow control page")
                    await channel.wait_closed()
                finally:
                    self._open_scopes.discard(nursery.cancel_scope)
                    nursery.cancel_scope.cancel()

        return run

    def _latest(self) -> bytes:
        """The state as JSON, worked out once for all who look at about the same time."""
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
        """What the page draws."""
        snapshot = self._gate.snapshot()
        queues, flows = self._gate.queues(), self._gate.flows()
        statistics = snapshot.statistics
        return {
            "time": snapshot.now,
            "wall": stamp(snapshot.now, snapshot.wall, snapshot.now),
            "serverSeats": statistics.server_limit,
            "levels": [
                _level(snapshot, level, queues[level.name], flows[level.name])
                for level in statistics.levels
            ],
        }


def _level(
    snapshot: Snapshot,
    level: LevelStatistics,
    queues: tuple[QueueStatistics, ...],
    flows: FlowStatistics,
) -> dict[str, Any]:
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
        "queues": [[one.index, one.waiting, one.executing] for one in queues],
        "flows": [
            {"schema": key[0], "flow": key[1], "waiting": waiting[key], "executing": executing[key]}
            for key, _ in (waiting + executing).most_common(SHOWN_FLOWS)
        ],
    }


def _waited(histograms: list[SchemaHistograms]) -> dict[str, Any]:
    """Waiting times of a level as a histogram, so that the page can show what is recent."""
    total = Histogram(observe.SECONDS_BOUNDS)
    for one in histograms:
        for histogram in (one.waited, one.given_up):
            total.total += histogram.total
            total.counts = [a + b for a, b in zip(total.counts, histogram.counts, strict=True)]
    return {"bounds": total.bounds, "counts": total.counts, "sum": round(total.total, 6)}
