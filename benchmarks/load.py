"""The load generator: `python -m benchmarks.load`, a `LoadSpec` as JSON in, a `LoadResult` out.

One process, N keep-alive TLS connections, one request under way on each, epoll.  It must stay
clearly cheaper per request than any server measured, since both share the machine; every result
says how busy the generator was, so that a number bound by it is seen (`README.md`).
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import select
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import tools
from benchmarks.clock import perf_counter_ns, process_time
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.requests import Op

SILENCE_S = 60.0
STRIDE = 7919  # prime, so that every object is visited before one is visited again


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """What to send.

    Args:
        endpoint: where to.
        ops: requests, mixed by weight.
        connections: how many, each with one request under way.
        seconds: how long to measure; 0 to go by `count`.
        warmup: seconds before measuring.
        count: how many requests to send at most; 0 for no limit.
        announce: answer `{"connected": N}` first, once all connections are open.
    """

    endpoint: Endpoint
    ops: tuple[Op, ...]
    connections: int
    seconds: float = 0.0
    warmup: float = 0.0
    count: int = 0
    announce: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What came of it.

    Args:
        rate: requests a second inside the measured time.
        requests: answers inside the measured time.
        answered: right answers in all, warm-up included.
        bytes_per_s: bytes received a second, heads included.
        p50_ms, p99_ms, max_ms: latency.
        by_op: requests, p50 and p99 of each op.
        started, ended: first request sent and last answer, seconds on the monotonic clock.
        cpu_share: CPU time of the generator by measured time, 1.0 is one whole core.
        cpu_us: CPU time of the generator by request, microseconds.
        reconnects: connections the server closed.
    """

    rate: float
    requests: int
    answered: int
    bytes_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    by_op: dict[str, dict[str, float]]
    started: float
    ended: float
    cpu_share: float
    cpu_us: float
    reconnects: int


def run(spec: LoadSpec) -> LoadResult:
    """Run a load in a process of its own.

    Raises:
        BenchError: any answer had an unexpected status, or the server stopped answering.
    """
    return result(tools.run("load", dataclasses.asdict(spec)))


def result(answer: dict[str, Any]) -> LoadResult:
    """The result in a tool's answer."""
    return LoadResult(**answer)


def source(op: Op, serial: int) -> Callable[[], bytes]:
    """Maker of the next request of an op; serials count up from `serial`."""
    template = op.template.encode("latin-1")
    if not op.slots:
        rendered = template % ()
        return lambda: rendered
    keys: Iterator[int] = (
        itertools.count(op.first)
        if op.endless
        else (op.first + number * STRIDE % op.span for number in itertools.count())
    )
    if op.slots == ("key",):
        return lambda: template % next(keys)
    serials = itertools.count(serial)
    slots = op.slots

    def render() -> bytes:
        values = {"key": next(keys), "serial": next(serials)}
        return template % tuple(values[slot] for slot in slots)

    return render


def schedule(weights: Sequence[int]) -> list[int]:
    """Indices in proportion to their weights, spread evenly (smooth weighted round robin)."""
    credit = [0] * len(weights)
    order = []
    for _ in range(sum(weights)):
        credit = [have + weight for have, weight in zip(credit, weights, strict=True)]
        best = credit.index(max(credit))
        credit[best] -= sum(weights)
        order.append(best)
    return order


def quantile_ms(ordered: Sequence[int], share: float) -> float:
    """A quantile of sorted nanoseconds, in milliseconds; 0 for none."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


class Generator:
    """One load, from connecting to the result."""

    def __init__(self, spec: LoadSpec) -> None:
        self._spec = spec
        self._context = spec.endpoint.context()
        self._poll = select.epoll()
        self._sources = [source(op, perf_counter_ns()) for op in spec.ops]
        self._order = itertools.cycle(schedule([op.weight for op in spec.ops]))
        self._issued = 0
        self._reconnects = 0

    def run(self) -> LoadResult:
        """Connect, send, measure.

        Raises:
            BenchError: a wrong status, silence, or no answer inside the measured time.
        """
        spec = self._spec
        connections: dict[int, Connection] = {}
        for _ in range(spec.connections):
            connection = Connection(spec.endpoint, self._context)
            connections[connection.fd] = connection
            self._poll.register(connection.fd, select.EPOLLIN)
        if spec.announce:
            tools.report({"connected": len(connections)})
        # Collections would show as latency of the server.
        gc.collect()
        gc.disable()
        begin = perf_counter_ns()
        since = begin + int(spec.warmup * 1e9)
        until = since + int(spec.seconds * 1e9) if spec.seconds else sys.maxsize
        latencies = [array("q") for _ in spec.ops]
        expect = [frozenset(op.expect) for op in spec.ops]
        live = sum(self._issue(connection) for connection in connections.values())
        answered = measured = received = 0
        cpu_since = process_time()
        warming = spec.warmup > 0
        now = begin
        while live:
            events = self._poll.poll(SILENCE_S)
            if not events:
                raise BenchError(f"no answer within {SILENCE_S:.0f} s")
            for fd, _ in events:
                connection = connections[fd]
                data = connection.receive()
                if data is None:
                    self._reconnect(connections, connection)
                    continue
                status = connection.feed(data) if data else 0
                if not status:
                    continue
                now = perf_counter_ns()
                if status not in expect[connection.op]:
                    raise BenchError(f"{spec.ops[connection.op].label}: {status} {data[:400]!r}")
                answered += 1
                if warming and now >= since:
                    warming = False
                    cpu_since = process_time()
                    received = -sum(other.received for other in connections.values())
                if since <= now < until:
                    latencies[connection.op].append(now - connection.sent_ns)
                    measured = now
                if now >= until or not self._issue(connection):
                    live -= 1
        cpu = process_time() - cpu_since
        received += sum(connection.received for connection in connections.values())
        for connection in connections.values():
            connection.close()
        if not measured:
            raise BenchError("no answer inside the measured time")
        seconds = spec.seconds or max((measured - since) / 1e9, 1e-9)
        together = sorted(itertools.chain.from_iterable(latencies))
        return LoadResult(
            rate=len(together) / seconds,
            requests=len(together),
            answered=answered,
            bytes_per_s=received / max((now - since) / 1e9, 1e-9),
            p50_ms=quantile_ms(together, 0.5),
            p99_ms=quantile_ms(together, 0.99),
            max_ms=quantile_ms(together, 1.0),
            by_op={
                op.label: _summary(taken) for op, taken in zip(spec.ops, latencies, strict=True)
            },
            started=begin / 1e9,
            ended=now / 1e9,
            cpu_share=cpu / max((now - since) / 1e9, 1e-9),
            cpu_us=cpu * 1e6 / max(len(together), 1),
            reconnects=self._reconnects,
        )

    def _issue(self, connection: Connection) -> bool:
        """Send the next request; False when all are sent."""
        if self._issued == self._spec.count and self._spec.count:
            return False
        self._issued += 1
        op = next(self._order)
        request = self._sources[op]()
        connection.op = op
        connection.sent_ns = perf_counter_ns()
        try:
            connection.send(request)
        except OSError:
            pass  # the poll reports the closed connection, which sends the request again
        return True

    def _reconnect(self, connections: dict[int, Connection], connection: Connection) -> None:
        """A server may close a kept connection at any time; the request is sent again."""
        self._reconnects += 1
        if self._reconnects > 100 + 10 * self._spec.connections:
            raise BenchError("the server keeps closing connections")
        self._poll.unregister(connection.fd)
        del connections[connection.fd]
        connection.close()
        connection.connect()
        connections[connection.fd] = connection
        self._poll.register(connection.fd, select.EPOLLIN)
        connection.send(connection.request)


def _summary(latencies: Sequence[int]) -> dict[str, float]:
    ordered = sorted(latencies)
    return {
        "requests": len(ordered),
        "p50_ms": quantile_ms(ordered, 0.5),
        "p99_ms": quantile_ms(ordered, 0.99),
    }


def main() -> None:
    """Read a spec, print a result."""
    read = tools.spec()
    spec = LoadSpec(
        **{
            **read,
            "endpoint": Endpoint(**read["endpoint"]),
            "ops": tuple(Op(**{**op, "slots": tuple(op["slots"])}) for op in read["ops"]),
        }
    )
    try:
        tools.report(dataclasses.asdict(Generator(spec).run()))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
