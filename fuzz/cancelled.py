"""Every await point of a request, a compaction, a start and a stop is cancelled once.

python fuzz/cancelled.py
python fuzz/cancelled.py --only "merge patch" --seed 1

A call is driven step by step; when it waits for the n-th time it is cancelled there, for n from 1
until it ends before that.  Then the server has to be as if the request had been made or had not:
reads, lists and the watch agree, no seat is in use, no request counts as under way, no task was
left, and the next write of the same object is made.  A start or a stop that was cancelled leaves a
data directory that the next start opens, with all that was answered, and no descriptor open.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import tempfile
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import trio
from trio.testing import wait_all_tasks_blocked

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.disk_ops import descriptors_kept
from fuzz.interrupting import (
    ALICE,
    FIRST,
    MAPS,
    MOST,
    OPS,
    Call,
    Outcome,
    interrupt_requests,
    made,
    run,
    serving,
    tasks,
)
from kubetrio.client.calling import Caller
from kubetrio.machinery.status import ApiError
from kubetrio.store.errors import Compacted


@types.coroutine
def _driven(
    call: Coroutine[Any, Any, object], number: int, cancel: Callable[[], None], seen: list[int]
) -> Generator[Any, Any, object]:
    value: Any = None
    while True:
        try:
            waits_for = call.send(value)
        except StopIteration as stop:
            return stop.value
        seen[0] += 1
        if seen[0] == number:
            cancel()
        value = yield waits_for


async def cancel_at(number: int, call: Call) -> bool:
    """Make a call and cancel it when it waits for the n-th time; whether it came to that.

    Args:
        number: from 1.
        call: what is called.
    """
    seen = [0]
    with trio.CancelScope() as scope, contextlib.suppress(ApiError, Compacted):
        await _driven(call(), number, scope.cancel, seen)
    return seen[0] >= number


async def cancel_compactions(
    directory: Path, seed: int, outcome: Outcome, numbers: Sequence[int] = range(1, MOST)
) -> None:
    """Cancel a compaction of some hundred revisions at await points."""
    what = "compaction"
    async with serving(directory, seed) as server:
        store = server.api.storage.store
        caller = Caller(server.api.handle, ALICE, "cancelled", None)
        with contextlib.suppress(ApiError):
            await caller.call("POST", MAPS, {}, FIRST)
        for number in numbers:
            for count in range(150):
                body = orjson.dumps({"data": {"a": f"{number} {count}"}})
                await caller.call(
                    "PATCH", f"{MAPS}/x", {}, body=body, media=b"application/merge-patch+json"
                )
            before = tasks()
            reached = await cancel_at(number, lambda: _as_coroutine(store.compact(store.revision)))
            await wait_all_tasks_blocked()
            problems = []
            if left := tasks() - before:
                problems.append(f"tasks were left: {dict(left)}")
            now = await caller.call("GET", f"{MAPS}/x", {})
            if now["data"]["a"] != f"{number} 149":
                problems.append(f"it reads {now['data']}")
            if not 0 <= store.compacted <= store.revision:
                problems.append(f"compacted to {store.compacted} of {store.revision}")
            with contextlib.suppress(Compacted):
                await store.compact(store.revision)  # whatever it held is free
            if store.compacted != store.revision:
                problems.append("the next compaction does not come to its end")
            outcome.problems += [f"{what}, await point {number}: {each}" for each in problems]
            if not reached:
                return
            outcome.points[what] += 1


async def _as_coroutine(call: Awaitable[None]) -> None:
    await call


def cancel_lives(
    directory: Path, seed: int, outcome: Outcome, numbers: Sequence[int] = range(1, MOST)
) -> None:
    """Cancel a server while it starts and stops, at await points, and start it again after each.

    Args:
        directory: of the servers.
        seed: of their randomness.
        outcome: told.
        numbers: of await points.
    """
    answered: list[str] = []

    async def life(phase: list[str], name: str) -> None:
        async with serving(directory, seed) as server:
            phase[0] = "stop"
            caller = Caller(server.api.handle, ALICE, "cancelled", None)
            await caller.call("POST", MAPS, {}, made(name))
            answered.append(name)

    async def cancelled(number: int, phase: list[str]) -> bool:
        before = tasks()
        reached = await cancel_at(number, lambda: life(phase, f"n{number}"))
        if left := tasks() - before:
            outcome.problems.append(f"{phase[0]}, await point {number}: tasks {dict(left)}")
        return reached

    async def look(number: int, phase: str) -> None:
        async with serving(directory, seed) as server:
            caller = Caller(server.api.handle, ALICE, "cancelled", None)
            listed = await caller.call("GET", MAPS, {})
            names = {item["metadata"]["name"] for item in listed["items"]}
            if lost := [name for name in answered if name not in names]:
                outcome.problems.append(f"{phase}, await point {number}: lost {lost}")

    for number in numbers:
        phase = ["start"]
        try:
            with descriptors_kept():
                reached = run(partial(cancelled, number, phase))
            run(partial(look, number, phase[0]))
        except Exception as error:  # noqa: BLE001  (told)
            outcome.problems.append(f"{phase[0]}, await point {number}: {error!r}")
            return
        if not reached:
            return
        outcome.points[phase[0]] += 1
        outcome.kept[phase[0]] += f"n{number}" in answered


def main(arguments: Sequence[str] | None = None) -> int:
    names = [*OPS, "compaction", "life"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=names, choices=names)
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="kubetrio-cancelled-") as folder:
        ops = [name for name in options.only if name in OPS]
        place = Path(folder) / "requests"
        run(partial(interrupt_requests, place, options.seed, ops, outcome, cancel_at))
        if "compaction" in options.only:
            run(partial(cancel_compactions, Path(folder) / "compacted", options.seed, outcome))
        if "life" in options.only:
            cancel_lives(Path(folder) / "lives", options.seed, outcome)
    logging.disable(logging.NOTSET)
    print(outcome.text())
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
