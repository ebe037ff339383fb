"""One who uses the server honestly: `python -m benchmarks.overload.bystander`, a spec as JSON in.

A GET that is due at a steady pace, on a connection that is kept or on a new one each time, as
kubelets and load balancers probe.  Latency counts from when it was due.  Each further line of input
ends a phase and is answered with its latencies.  A GET that is not answered with 200 counts as one
that took as long as this client waits at all.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import select
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import tools
from benchmarks.clock import perf_counter_ns, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.load import quantile_ms

PATIENCE_S = 10.0
WARMUP_REQUESTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BystanderSpec:
    """What to ask for.

    Args:
        endpoint: the server and the user.
        path: what to GET.
        every_ms: time between requests.
        fresh: whether each has a connection of its own, with its handshake.
    """

    endpoint: Endpoint
    path: str
    every_ms: float
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Latencies in milliseconds of the requests of a phase, and how many were not answered.

    Args:
        requests: how many.
        failed: how many were not answered with 200.
        p50_ms, p99_ms, max_ms: latencies.
        course: seconds since the beginning of the phase, and the longest request that was due in
            that second.
    """

    requests: int
    failed: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    course: Sequence[tuple[float, float]] = ()


class Bystander:
    """The client."""

    def __init__(self, spec: BystanderSpec) -> None:
        self._spec = spec
        self._context = spec.endpoint.context()
        fields = spec.endpoint.headers().items()
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        self._request = f"GET {spec.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
        self._connection: Connection | None = None
        self._taken: list[int] = []
        self._failed = 0
        self._begun = 0
        self._course: dict[int, int] = {}

    def ask(self, due: int) -> int:
        """One request that was due at a time, which is when it counts from; the time now."""
        good = False
        try:
            if self._connection is None:
                self._connection = Connection(self._spec.endpoint, self._context)
            status = self._connection.exchange(self._request, timeout_s=PATIENCE_S)
            good = status == 200
        except (BenchError, OSError):
            pass  # counted below
        now = perf_counter_ns()
        taken = now - due
        if not good:
            self._failed += 1
            taken = max(taken, int(PATIENCE_S * 1e9))
        if self._connection is not None and (self._spec.fresh or not good):
            self._connection.close()
            self._connection = None
        self._taken.append(taken)
        second = (due - self._begun) // 10**9
        self._course[second] = max(taken, self._course.get(second, 0))
        return now

    def phase(self) -> Phase:
        """What came since the last one."""
        taken, failed = sorted(self._taken), self._failed
        course = [(float(second), longest / 1e6) for second, longest in self._course.items()]
        self._taken, self._failed, self._course = [], 0, {}
        self._begun = perf_counter_ns()
        return Phase(
            requests=len(taken),
            failed=failed,
            p50_ms=quantile_ms(taken, 0.5),
            p99_ms=quantile_ms(taken, 0.99),
            max_ms=quantile_ms(taken, 1.0),
            course=course,
        )

    def run(self) -> None:
        """Ask until the end of the input."""
        for _ in range(WARMUP_REQUESTS):
            self.ask(perf_counter_ns())
        if self._failed:
            raise BenchError(f"GET {self._spec.path}: {self._failed} not answered in calm")
        self.phase()
        gc.collect()
        gc.disable()
        tools.report({"ready": True})
        stdin = select.poll()
        stdin.register(0, select.POLLIN | select.POLLHUP)
        due = perf_counter_ns()
        while True:
            left = due - perf_counter_ns()
            if left > 0:
                sleep(left / 1e9)
            now = self.ask(due)
            due = max(due + int(self._spec.every_ms * 1e6), now)
            if stdin.poll(0):
                if not os.read(0, 4096):
                    return
                tools.report(dataclasses.asdict(self.phase()))


def main() -> None:
    """Read a spec, answer lines."""
    read = tools.spec()
    try:
        Bystander(BystanderSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})).run()
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
