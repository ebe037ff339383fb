"""Leader election: one client that reads its Lease and renews it, over and over.

`python -m benchmarks.leases`: a spec as JSON in, latencies out.  As in `probe`, latency counts from
the moment a round was due.  Clients renew every two seconds; here it is more often, for numbers.
"""

from __future__ import annotations

import dataclasses
import gc
import json
from dataclasses import dataclass

from benchmarks import tools
from benchmarks.clock import perf_counter_ns, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.load import quantile_ms

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAME = "bench-controller"
WARMUP_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSpec:
    """What to renew.

    Args:
        endpoint: the server and the user.
        seconds: how long.
        every_ms: time between rounds of one GET and one PUT.
    """

    endpoint: Endpoint
    seconds: float
    every_ms: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResult:
    """Rounds made, and latencies in milliseconds: of rounds, of GETs, of PUTs.

    Args:
        started, ended: on the monotonic clock, in seconds.
    """

    rounds: int
    started: float
    ended: float
    p50_ms: float
    p99_ms: float
    get_p99_ms: float
    put_p50_ms: float
    put_p99_ms: float


def run(spec: LeaseSpec) -> LeaseResult:
    """Renew for a while, in a process of its own.

    Raises:
        BenchError: an answer was not right, so 429 neither.
    """
    return LeaseResult(**tools.run("leases", dataclasses.asdict(spec)))


def body(serial: int, version: str = "") -> dict[str, object]:
    """A Lease, held by a new holder each time."""
    metadata = {"name": NAME, "namespace": "kube-system"}
    if version:
        metadata["resourceVersion"] = version
    spec = {
        "holderIdentity": f"bench-{serial}",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }


class Elector:
    """A candidate with one connection.

    Args:
        endpoint: the server and the user.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        endpoint.call("POST", LEASES, body(0), accept=(201, 409))
        self._head = "".join(f"{k}: {v}\r\n" for k, v in endpoint.headers().items())
        self._connection = Connection(endpoint, endpoint.context(), keep=True)
        self._serial = 0

    def get(self) -> str:
        """Read the Lease; its resourceVersion."""
        self._ask(f"GET {LEASES}/{NAME} HTTP/1.1\r\n{self._head}\r\n")
        version: str = json.loads(bytes(self._connection.body))["metadata"]["resourceVersion"]
        return version

    def put(self, version: str) -> None:
        """Renew the Lease that was read."""
        self._serial += 1
        content = json.dumps(body(self._serial, version))
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        self._ask(f"PUT {LEASES}/{NAME} HTTP/1.1\r\n{self._head}{kind}\r\n{content}")

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ask(self, request: str) -> None:
        status = self._connection.exchange(request.encode("latin-1"))
        if status != 200:
            raise BenchError(f"lease: {status} {bytes(self._connection.body)[:300]!r}")


def renew(spec: LeaseSpec) -> LeaseResult:
    """Read, renew, sleep, until the time is over.

    Raises:
        BenchError: an answer was not 200.
    """
    elector = Elector(spec.endpoint)
    for _ in range(WARMUP_ROUNDS):
        elector.put(elector.get())
    gc.collect()
    gc.disable()
    gets, puts, rounds = [], [], []
    started = due = now = perf_counter_ns()
    until = started + int(spec.seconds * 1e9)
    while due < until:
        wait = due - perf_counter_ns()
        if wait > 0:
            sleep(wait / 1e9)
        version = elector.get()
        read = perf_counter_ns()
        elector.put(version)
        now = perf_counter_ns()
        gets.append(read - due)
        puts.append(now - read)
        rounds.append(now - due)
        due = max(due + int(spec.every_ms * 1e6), now)
    elector.close()
    for taken in (gets, puts, rounds):
        taken.sort()
    return LeaseResult(
        rounds=len(rounds),
        started=started / 1e9,
        ended=now / 1e9,
        p50_ms=quantile_ms(rounds, 0.5),
        p99_ms=quantile_ms(rounds, 0.99),
        get_p99_ms=quantile_ms(gets, 0.99),
        put_p50_ms=quantile_ms(puts, 0.5),
        put_p99_ms=quantile_ms(puts, 0.99),
    )


def main() -> None:
    """Read a spec, print a result."""
    read = tools.spec()
    spec = LeaseSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report(dataclasses.asdict(renew(spec)))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
