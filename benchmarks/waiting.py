"""Memory of requests that wait at the gate, counted by tracemalloc.

`python -m benchmarks.waiting`: a spec as JSON in, bytes out.  Each request is a task, as each
connection has one; what such a task takes while it waits for nothing in particular is counted
first, so that what flow control adds is known.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import trio
import trio.testing

from benchmarks import tools
from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    Distinguisher,
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.gate import Gate
from kubetrio.flow.seats import ONE_SEAT

PATIENCE_S = 600.0
FLOWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSpec:
    """How many requests wait, of a hundred flows."""

    requests: int


@dataclass(slots=True, eq=False)
class Asked:
    """What the gate needs of a request."""

    user: str
    started: float
    seat: Any = None  # the gate's own
    gone: Callable[[], bool] | None = None


def describe(asked: Any) -> RequestDigest:
    """A request as flow control sees it."""
    return RequestDigest(asked.user, (), "get", namespace="default", resource="pods")


def gate(requests: int) -> Gate:
    """A gate with one level of one seat, and room for that many requests in its queues."""
    everything = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
    schema = FlowSchema(
        name="all",
        level="all",
        distinguisher=Distinguisher.BY_USER,
        rules=(PolicyRule((Subject("User", "*"),), everything),),
    )
    level = PriorityLevel(
        name="all",
        kind=LevelKind.QUEUE,
        shares=10_000,
        queuing=Queuing(queues=128, hand_size=6, queue_length_limit=requests),
    )
    made = Gate(
        Dispatcher(trio.current_time(), 1, held=True), describe, lambda: 0.0, patience_s=PATIENCE_S
    )
    made.reconfigure([schema], [level])
    return made


async def _measured(requests: int, wait: Callable[[Asked], Awaitable[object]]) -> int:
    """Bytes that appear while so many tasks wait in some way; then they are cancelled."""
    async with trio.open_nursery() as nursery:
        asked = [Asked(f"user-{n % FLOWS}", trio.current_time()) for n in range(requests)]
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for one in asked:
            nursery.start_soon(wait, one)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        nursery.cancel_scope.cancel()
    return after - before


async def measure(requests: int) -> dict[str, int]:
    """Bytes of the tasks alone, and what the gate adds.

    Raises:
        RuntimeError: not all of them wait at the gate.
    """
    tracemalloc.start()
    never = trio.Event()

    async def idle(_asked: Asked) -> None:
        await never.wait()

    bare = await _measured(requests, idle)
    async with trio.open_nursery() as nursery:
        made = gate(requests)
        await nursery.start(made.run)
        # The one seat there is.
        first = Asked("user-0", trio.current_time())
        await made.admit(
            first, made.entries.remember(("first",), describe(first)), ONE_SEAT, PATIENCE_S
        )

        async def wait(asked: Asked) -> None:
            key = (asked.user,)
            entry = made.entries.get(key) or made.entries.remember(key, describe(asked))
            await made.admit(asked, entry, ONE_SEAT, PATIENCE_S)
            raise RuntimeError("a request did not wait")

        together = await _measured(requests, wait)
        nursery.cancel_scope.cancel()
    return {"task_bytes": bare, "gate_bytes": together - bare}


def main() -> None:
    """Read a spec, print a result."""
    spec = WaitingSpec(**tools.spec())
    tools.report(trio.run(measure, spec.requests))


if __name__ == "__main__":
    main()
