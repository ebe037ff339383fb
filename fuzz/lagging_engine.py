"""A server whose engine lags behind a second writer: no stale consistent read, no false conflict.

python fuzz/lagging_engine.py --reads 10000 --seed 1

The engine follows a model of a remote one, each revision after a delay of its own; ConfigMaps are
written there behind the server's back.  After each of these writes the server is read: it must show
that write or a later one.  Writes through the server meet those of the other writer: without a
resourceVersion, or with the newest one, they must be done; with an old one they must be refused.
Watches must show every event once, in order.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

import orjson
import trio
from trio.testing import MockClock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubetrio.client import Client, Event
from kubetrio.env import seeded
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import stamp
from kubetrio.server import Parts
from kubetrio.store.errors import LostCompareAndSwap
from kubetrio.store.model import EventType, KeyValue
from kubetrio.testing.lagging import RemoteStore, lagging
from kubetrio.testing.server import open_api

Object = dict[str, Any]

NAMES = tuple(f"x{number}" for number in range(6))
PREFIX = "/registry/configmaps/default/"
WORDS = {EventType.CREATED: "ADDED", EventType.UPDATED: "MODIFIED", EventType.DELETED: "DELETED"}
WATCHES = 3
SETTLE_S = 60.0


@dataclass(kw_only=True)
class Outcome:
    """What was tried, and what was wrong.

    Args:
        tried: by what it was.
        behind: reads and writes that began while the engine was behind.
        problems: what was wrong; empty if nothing was.
    """

    tried: Counter[str] = field(default_factory=Counter)
    behind: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def reads(self) -> int:
        """Number of consistent reads."""
        return sum(count for what, count in self.tried.items() if what.startswith("read"))


class Elsewhere:
    """The second writer: writes ConfigMaps where revisions are made."""

    def __init__(self, remote: RemoteStore, rng: Random) -> None:
        self._remote = remote
        self._rng = rng
        self._count = 0

    def newest(self, name: str) -> KeyValue | None:
        """A ConfigMap as it is now."""
        found = self._remote.live().get(PREFIX + name)
        return None if found is None else found.state

    def _object(self, name: str) -> Object:
        self._count += 1
        return {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"{self._count:08x}-0000-4000-8000-000000000000",
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "data": {"other": str(self._count)},
        }

    async def change(self, name: str, *, deletes: bool = True) -> int:
        """Create, change or delete a ConfigMap; returns the revision."""
        while True:
            try:
                return await self._change(name, deletes=deletes)
            except LostCompareAndSwap:
                continue

    async def _change(self, name: str, *, deletes: bool) -> int:
        before, key = self.newest(name), PREFIX + name
        if before is None:
            return (await self._remote.create(key, stamp(self._object(name)))).revision
        if deletes and self._rng.random() < 0.2:
            return await self._remote.delete(key, expected=before.revision)
        obj = orjson.loads(before.value)
        self._count += 1
        obj["data"] = {**(obj.get("data") or {}), "other": str(self._count)}
        stored = await self._remote.update(key, stamp(obj), expected=before.revision)
        return stored.revision


class Run:
    """One server, one second writer, and what they see of each other."""

    def __init__(self, remote: RemoteStore, client: Client, rng: Random) -> None:
        self.remote = remote
        self.client = client
        self.rng = rng
        self.other = Elsewhere(remote, rng)
        self.kind = client.kind("v1", "ConfigMap")
        self.outcome = Outcome()

    def _wrong(self, problem: str) -> None:
        self.outcome.problems.append(f"at {self.remote.revision}: {problem}")

    # ------------------------------------------------------------------ reads

    async def read(self) -> None:
        """Read after a write behind the server's back."""
        name = self.rng.choice(NAMES)
        made = await self.other.change(name)
        ways: Sequence[Callable[[str, int], Awaitable[None]]] = (
            self._get, self._get, self._list, self._page, self._select, self._begin_watch,
        )  # fmt: skip
        await self.rng.choice(ways)(name, made)

    async def _get(self, name: str, made: int) -> None:
        self.outcome.tried["read: GET"] += 1
        at = self.other.newest(name)
        try:
            shown = await self.client.get(self.kind, name, "default")
            found = int(shown["metadata"]["resourceVersion"])
        except ApiError as error:
            found = None
            if error.code != 404:
                self._wrong(f"GET answered {error}")
        if at is not None and at.revision == made and found is None:
            # It may have been deleted meanwhile, by another task.
            now = self.remote.logged(made)
            gone = [one for one in now if one.key == PREFIX + name]
            if not any(one.type is EventType.DELETED for one in gone):
                self._wrong(f"{name} is not there, which was written at {made}")
        if found is not None and found < (made if at is None else at.revision):
            self._wrong(f"{name} was shown at {found} after it was changed at {made}")

    async def _list(self, name: str, made: int) -> None:
        del name
        self.outcome.tried["read: LIST"] += 1
        self._check_list((await self.client.list(self.kind, "default")).resource_version, made)

    async def _page(self, name: str, made: int) -> None:
        del name
        self.outcome.tried["read: LIST of a page"] += 1
        page = await self.client.list(self.kind, "default", limit=2)
        self._check_list(page.resource_version, made)
        if page.token:
            rest = await self.client.list(self.kind, "default", token=page.token)
            if rest.resource_version != page.resource_version:
                self._wrong("pages of two revisions")

    async def _select(self, name: str, made: int) -> None:
        self.outcome.tried["read: LIST by field"] += 1
        chosen = f"metadata.name={name}"
        found = await self.client.list(self.kind, "default", field_selector=chosen)
        self._check_list(found.resource_version, made)

    def _check_list(self, revision: str, made: int) -> None:
        if int(revision) < made:
            self._wrong(f"a list is of {revision} after {made} was made")

    async def _begin_watch(self, name: str, made: int) -> None:
        """A watch without a version begins with the newest state."""
        self.outcome.tried["read: watch"] += 1
        chosen = f"metadata.name={name}"
        there = self.other.newest(name)
        if there is None or there.revision != made:
            return
        async with self.client.watch(self.kind, "default", field_selector=chosen) as events:
            event = await anext(events, None)
        if event is None:  # the watch came to its end without one: there was nothing to begin with
            later = [one for one in self.remote.logged(made) if one.key == PREFIX + name]
            if not any(one.type is EventType.DELETED for one in later):
                self._wrong(f"a watch began without {name}, which was written at {made}")
            return
        shown = int(event.object["metadata"]["resourceVersion"])
        if shown < made:
            self._wrong(f"a watch began with {shown} after {made} was made")

    # ------------------------------------------------------------------ writes

    async def write(self) -> None:
        """Write through the server what the other writer has just changed."""
        name = self.rng.choice(NAMES)
        await self.other.change(name, deletes=False)
        ways: Sequence[Callable[[str], Awaitable[None]]] = (
            self._patch, self._patch, self._put_newest, self._put_old, self._delete, self._create,
        )  # fmt: skip
        await self.rng.choice(ways)(name)

    async def _patch(self, name: str) -> None:
        """No precondition names a version: done, however often others are faster."""
        self.outcome.tried["write: PATCH"] += 1
        mark = str(self.rng.random())
        try:
            done = await self.client.patch(self.kind, name, {"data": {"mine": mark}}, "default")
        except ApiError as error:
            if error.code != 404:
                self._wrong(f"PATCH answered {error}")
            return
        if done["data"]["mine"] != mark:
            self._wrong("PATCH changed nothing")

    async def _put_newest(self, name: str) -> None:
        """The newest version is current, though it has not come to the server yet."""
        self.outcome.tried["write: PUT of the newest"] += 1
        at = self.other.newest(name)
        if at is None:
            return
        obj = orjson.loads(at.value)
        obj["data"]["mine"] = "put"
        try:
            await self.client.update(obj)
        except ApiError as error:
            after = [item for item in self.remote.logged(at.revision) if item.key == at.key]
            if error.code not in (404, 409) or not after:
                self._wrong(f"PUT of the newest version answered {error}")

    async def _put_old(self, name: str) -> None:
        """An old version is refused, though it is what the server has."""
        self.outcome.tried["write: PUT of an old one"] += 1
        at = self.other.newest(name)
        if at is None:
            return
        await self.other.change(name, deletes=False)
        obj = orjson.loads(at.value)
        obj["data"]["mine"] = "old"
        try:
            await self.client.update(obj)
        except ApiError as error:
            if error.code not in (404, 409):
                self._wrong(f"PUT of an old version answered {error}")
        else:
            self._wrong(f"PUT of {at.revision} was done")

    async def _delete(self, name: str) -> None:
        """A deletion under a precondition that holds is done."""
        self.outcome.tried["write: DELETE"] += 1
        at = self.other.newest(name)
        if at is None:
            return
        version = {"resourceVersion": str(at.revision)}
        try:
            await self.client.delete(self.kind, name, "default", preconditions=version)
        except ApiError as error:
            after = [item for item in self.remote.logged(at.revision) if item.key == at.key]
            if error.code not in (404, 409) or not after:
                self._wrong(f"DELETE under a precondition answered {error}")

    async def _create(self, name: str) -> None:
        """What is there is there, though it has not come to the server yet."""
        self.outcome.tried["write: POST"] += 1
        at = self.other.newest(name)
        metadata = {"name": name, "namespace": "default"}
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
        try:
            await self.client.create(obj)
        except ApiError as error:
            if error.code != 409 or error.reason != "AlreadyExists":
                self._wrong(f"POST answered {error}")
        else:
            gone = [item for item in self.remote.logged(at.revision if at else 0)
                    if item.type is EventType.DELETED and item.key == PREFIX + name]  # fmt: skip
            if at is not None and not gone:
                self._wrong(f"POST created {name}, which was there")

    # ------------------------------------------------------------------ watches

    async def watch(self, seen: list[Event], task_status: trio.TaskStatus[int]) -> None:
        """Note what a watch shows, from the newest revision on; the revision is its status."""
        begin = (await self.client.list(self.kind, "default")).resource_version
        async with self.client.watch(
            self.kind, "default", resource_version=begin, timeout_s=1_000_000
        ) as events:
            task_status.started(int(begin))
            async for event in events:
                seen.append(event)  # noqa: PERF401  (it is read before the watch ends)

    def check_watch(self, begin: int, seen: Sequence[Event]) -> None:
        """Compare what a watch showed with what was done."""
        shown = [(one.type, int(one.object["metadata"]["resourceVersion"])) for one in seen]
        done = [
            (WORDS[item.type], item.revision)
            for item in self.remote.logged(begin)
            if item.key.startswith(PREFIX)
        ]
        self.outcome.tried["watch: events"] += len(shown)
        if shown != done:
            at = next((i for i, (a, b) in enumerate(zip(shown, done, strict=False)) if a != b), -1)
            self._wrong(f"a watch showed {len(shown)} events of {len(done)}; other at {at}")


async def run(seed: int, reads: int, *, tasks: int = 4, longest_s: float = 0.2) -> Outcome:
    """Read and write until so many reads are done.

    Args:
        seed: of everything.
        reads: how many.
        tasks: that read and write at the same time.
        longest_s: how long a revision takes to come to the server, at most.
    """
    rng = seeded(seed).rng
    remote = RemoteStore()
    async with lagging(remote, lambda: rng.uniform(0, longest_s)) as engine:
        parts = Parts(open_store=lambda _config, _env: engine.opened())
        async with open_api(seed=seed, parts=parts) as server:
            made = Run(remote, server.client(), rng)
            outcome = made.outcome
            watched: list[tuple[int, list[Event]]] = []

            async def work() -> None:
                while outcome.reads < reads:
                    outcome.behind += engine.behind > 0
                    await (made.read if rng.random() < 0.75 else made.write)()
                    if rng.random() < 0.1:
                        await trio.sleep(rng.uniform(0, 2 * longest_s))

            async with trio.open_nursery() as watches:
                for _ in range(WATCHES):
                    seen: list[Event] = []
                    watched.append((await watches.start(made.watch, seen), seen))
                async with trio.open_nursery() as workers:
                    for _ in range(tasks):
                        workers.start_soon(work)
                await trio.sleep(SETTLE_S)
                watches.cancel_scope.cancel()
            for begin, seen in watched:
                made.check_watch(begin, seen)
            return outcome


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    clock = MockClock(autojump_threshold=0)

    async def whole() -> Outcome:
        return await run(options.seed, options.reads)

    outcome = trio.run(whole, clock=clock)
    for what, count in sorted(outcome.tried.items()):
        print(f"{count:8} {what}")
    print(f"{outcome.behind:8} begun while the engine was behind")
    for problem in outcome.problems[:20]:
        print(problem)
    if outcome.problems:
        sys.exit(f"{len(outcome.problems)} problems")
    print(f"{outcome.reads} consistent reads, none stale, and no false conflict")


if __name__ == "__main__":
    main()
