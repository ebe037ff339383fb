"""A paced GET on one connection: how long a server keeps a small request waiting.

`python -m benchmarks.probe`: a spec as JSON in, latencies out.  Latency counts from the moment the
request was due, so a pause is seen in full even though only one request is under way.  A second
line on stdin ends the probe early.
"""

from __future__ import annotations

import dataclasses
import gc
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks import tools
from benchmarks.clock import perf_counter_ns, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.load import quantile_ms

T = TypeVar("T")

WARMUP_REQUESTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """What to probe.

    Args:
        endpoint: where to.
        path: what to GET.
        seconds: how long at most.
        every_ms: time between requests.
    """

    endpoint: Endpoint
    path: str
    seconds: float
    every_ms: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Latencies in milliseconds."""

    requests: int
    p50_ms: float
    p99_ms: float
    max_ms: float


def run(spec: ProbeSpec) -> ProbeResult:
    """Probe to the end of `seconds`."""
    return during(spec, lambda: None, wait=True)[0]


def during(spec: ProbeSpec, work: Callable[[], T], *, wait: bool = False) -> tuple[ProbeResult, T]:
    """Probe while `work` runs; with `wait`, on to the end of `seconds`.

    Raises:
        BenchError: a probe was not answered with 200.
    """
    with tools.running("probe", dataclasses.asdict(spec)) as running:
        running.answer()
        done = work()
        if not wait:
            running.tell("enough")
        return ProbeResult(**running.answer()), done


def probe(spec: ProbeSpec) -> ProbeResult:
    """Send, wait, sleep, until the time is over.

    Raises:
        BenchError: an answer was not 200.
    """
    headers = "".join(f"{name}: {value}\r\n" for name, value in spec.endpoint.headers().items())
    request = f"GET {spec.path} HTTP/1.1\r\n{headers}\r\n".encode("latin-1")
    connection = Connection(spec.endpoint, spec.endpoint.context())
    for _ in range(WARMUP_REQUESTS):
        connection.exchange(request)
    gc.collect()
    gc.disable()
    tools.report({"ready": True})
    taken = []
    due = perf_counter_ns()
    until = due + int(spec.seconds * 1e9)
    stdin = select.poll()
    stdin.register(0, select.POLLIN | select.POLLHUP)
    while due < until and not stdin.poll(0):
        wait = due - perf_counter_ns()
        if wait > 0:
            sleep(wait / 1e9)
        status = connection.exchange(request)
        now = perf_counter_ns()
        if status != 200:
            raise BenchError(f"probe: {status}")
        taken.append(now - due)
        due = max(due + int(spec.every_ms * 1e6), now)
    connection.close()
    taken.sort()
    return ProbeResult(
        requests=len(taken),
        p50_ms=quantile_ms(taken, 0.5),
        p99_ms=quantile_ms(taken, 0.99),
        max_ms=quantile_ms(taken, 1.0),
    )


def main() -> None:
    """Read a spec, print a result."""
    read = tools.spec()
    spec = ProbeSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report(dataclasses.asdict(probe(spec)))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
