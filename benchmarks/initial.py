"""Reads a collection as a streaming list: a watch with `sendInitialEvents`, up to its end mark.

`python -m benchmarks.initial`: a spec as JSON in, the time of each whole list out.  A watch does
not end with its state, so each has a connection of its own, opened before the time is taken.
"""

from __future__ import annotations

import dataclasses
import select
from dataclasses import dataclass

from benchmarks import tools
from benchmarks.clock import perf_counter, perf_counter_ns
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.load import quantile_ms
from benchmarks.watchers import EventCounter

QUERY = (
    "watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    "&resourceVersionMatch=NotOlderThan&resourceVersion="
)
MARK = b'"k8s.io/initial-events-end"'
SILENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialSpec:
    """What to list.

    Args:
        endpoint: where to.
        path: the collection.
        seconds: go on until then, two lists at least behind one to warm up.
    """

    endpoint: Endpoint
    path: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialResult:
    """What came of it.

    Args:
        lists: whole lists read, without the first.
        events: events of one list, its bookmark included.
        bytes: bytes of one list.
        p50_ms, p99_ms: time of a whole list.
    """

    lists: int
    events: int
    bytes: int
    p50_ms: float
    p99_ms: float


def run(spec: InitialSpec) -> InitialResult:
    """Read lists in a process of its own.

    Raises:
        BenchError: a watch was refused, ended or fell silent before the mark.
    """
    return InitialResult(**tools.run("initial", dataclasses.asdict(spec)))


def read_all(spec: InitialSpec) -> InitialResult:
    """One list after the other.

    Raises:
        BenchError: see `run`.
    """
    context = spec.endpoint.context()
    headers = "".join(f"{name}: {value}\r\n" for name, value in spec.endpoint.headers().items())
    request = f"GET {spec.path}?{QUERY} HTTP/1.1\r\n{headers}\r\n".encode("latin-1")
    taken: list[int] = []
    events = size = 0
    until = perf_counter() + spec.seconds
    while len(taken) < 3 or perf_counter() < until:
        connection = Connection(spec.endpoint, context)
        begin = perf_counter_ns()
        connection.send(request)
        events, size = _read_one(connection)
        taken.append(perf_counter_ns() - begin)
        connection.close()
    ordered = sorted(taken[1:])
    return InitialResult(
        lists=len(ordered),
        events=events,
        bytes=size,
        p50_ms=quantile_ms(ordered, 0.5),
        p99_ms=quantile_ms(ordered, 0.99),
    )


def _read_one(connection: Connection) -> tuple[int, int]:
    """Read up to the mark; events and bytes."""
    counter = EventCounter()
    size = 0
    tail = b""
    while True:
        data = connection.receive()
        if data is None:
            raise BenchError(f"the watch ended after {counter.events} events")
        if not data:
            if not select.select([connection.fd], [], [], SILENCE_S)[0]:
                raise BenchError(f"no mark within {SILENCE_S:.0f} s, {counter.events} events")
            continue
        size += len(data)
        counter.feed(data)
        seen = tail + data
        at = seen.find(MARK)
        if at >= 0 and b"\n" in seen[at:]:  # the mark's event is the last one
            return counter.events, size
        tail = seen[at:] if at >= 0 else seen[1 - len(MARK) :]


def main() -> None:
    """Read a spec, print a result."""
    read = tools.spec()
    spec = InitialSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report(dataclasses.asdict(read_all(spec)))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
