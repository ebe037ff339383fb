"""Clients at once on a server in this process, with faults and restarts: linearizable histories.

Target of ``python -m fuzz``: ``python -m fuzz histories --seconds 60``.  A round is a server on
SQLite whose order of tasks comes from the seed, clients that create, compare and swap, read, list
and delete a few ConfigMaps, watches that begin again where they ended, fault rules that come and
go, and restarts between.  `fuzz.histories` checks what was answered.  `fuzz.linearizable` does the
same with real processes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

import trio

from fuzz.histories import GONE, INFINITE, History, Listed, Read, Watched, Write, problems
from fuzz.rounds import Round, Target
from kubetrio.env import seeded
from kubetrio.faults import Rule
from kubetrio.harness import Harness, Setup, run
from kubetrio.harness.connecting import Connected
from kubetrio.harness.exchange import BadAnswer

CLIENTS, KEYS, STEPS = 5, 4, 30  # of one round
WATCHES, RESTARTS = 2, 2
PATH = "/api/v1/namespaces/default/configmaps"
STREAM_S = 4
LONGEST_S = 0.02  # between two requests of a client
DISTURBED_S = 0.1  # between two faults
LAST_TRIES = 30
FAULTS = ("429", "500", "503", "409", "watch-drop", "watch-close", "latency")
LOST = (OSError, BadAnswer, RuntimeError, trio.TooSlowError, ValueError)


@dataclass
class Played:
    """A round as it is played.

    Args:
        server: the server.
        moments: counts; what began after another thing ended has a larger number.
        history: what was asked and answered.
        told: where what is found goes.
        until: version that watches have to come to, 0 while that is not known.
    """

    server: Harness
    moments: Iterator[int] = field(default_factory=itertools.count)
    history: History = field(default_factory=History)
    told: Round = field(default_factory=Round)
    until: int = 0


class Client:
    """One client.

    Args:
        played: the round.
        number: of it.
        rng: draws.
    """

    def __init__(self, played: Played, number: int, rng: Random) -> None:
        self._played, self._number, self._rng = played, number, rng
        self._known: dict[str, int] = {}
        self._count = 0
        self._open: Connected | None = None

    async def run(self) -> None:
        """Ask at random."""
        async with AsyncExitStack() as stack:
            for _ in range(STEPS):
                await trio.sleep(self._rng.uniform(0, LONGEST_S))
                try:
                    if self._open is None:
                        self._open = await stack.enter_async_context(self._played.server.connect())
                    await self._step(f"k{self._rng.randrange(KEYS)}")
                except LOST:
                    self._open = None

    async def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert self._open is not None
        answer = await self._open.request(method, path, json=body)
        return answer.status, answer.json()

    async def _step(self, key: str) -> None:
        match self._rng.randrange(10):
            case 0 | 1 | 2:
                await self._read(key)
            case 3:
                await self.listed()
            case 4 if self._known.get(key):
                named = str(self._known[key])
                body = {"preconditions": {"resourceVersion": named}}
                await self._change("DELETE", f"{PATH}/{key}", body, key, GONE)
            case _:
                await self._write(key)

    async def _read(self, key: str) -> None:
        begun = next(self._played.moments)
        status, found = await self._ask("GET", f"{PATH}/{key}")
        if status not in (200, 404):
            return
        value, version = (found["data"]["v"], _version(found)) if status == 200 else (GONE, 0)
        self._known[key] = version
        ended = next(self._played.moments)
        self._played.history.reads.append(
            Read(begun=begun, ended=ended, key=key, value=value, version=version)
        )

    async def listed(self) -> int:
        """Read all objects; return the version of the list, or 0."""
        begun = next(self._played.moments)
        status, found = await self._ask("GET", f"{PATH}?labelSelector=history=1")
        if status != 200:
            return 0
        items = {
            item["metadata"]["name"]: (item["data"]["v"], _version(item)) for item in found["items"]
        }
        ended, version = next(self._played.moments), _version(found)
        self._played.history.lists.append(
            Listed(begun=begun, ended=ended, version=version, items=items)
        )
        return version

    async def last(self) -> int:
        """Read all objects on a connection of its own, until that is answered."""
        for _ in range(LAST_TRIES):
            try:
                async with self._played.server.connect() as self._open:
                    if version := await self.listed():
                        return version
            except LOST:
                pass
            await trio.sleep(1)
        return 0

    async def _write(self, key: str) -> None:
        self._count += 1
        named = self._known.get(key, 0)
        value = f"{self._number}-{self._count}"
        meta: dict[str, Any] = {"name": key, "labels": {"history": "1"}}
        if named:
            meta["resourceVersion"] = str(named)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"v": value}}
        method, path = ("PUT", f"{PATH}/{key}") if named else ("POST", PATH)
        await self._change(method, path, body, key, value)

    async def _change(self, method: str, path: str, body: Any, key: str, value: str) -> None:
        named = self._known.pop(key, 0)
        begun, writes = next(self._played.moments), self._played.history.writes
        made = partial(Write, begun=begun, key=key, value=value, named=named)
        try:
            status, found = await self._ask(method, path, body)
        except LOST:
            writes.append(made(ended=INFINITE))
            raise
        if status >= 500 or status == 429:  # it may have been written
            writes.append(made(ended=INFINITE))
        elif status in (200, 201):
            # The answer of a deletion has no version of its own; watches tell it.
            version = 0 if value == GONE else _version(found)
            if version:
                self._known[key] = version
            writes.append(made(ended=next(self._played.moments), version=version))


def _version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Watcher:
    """A watch, begun again where a stream ends, each time from where it came.

    Args:
        played: the round.
        after: version to begin after.
    """

    def __init__(self, played: Played, after: int) -> None:
        self._played = played
        self._after = self.at = after
        self._events: list[tuple[str, str, int]] = []
        self._refused = False

    async def run(self) -> None:
        """Watch until the last version has come."""
        tries = 0
        while tries < LAST_TRIES and not self._refused and not self._done():
            tries += self._played.until > 0
            try:
                async with self._played.server.connect() as connected:
                    await self._stream(connected)
            except LOST:
                await trio.sleep(0.05)
        if not self._refused and not self._done():
            self._refuse(f"a watch has come to {self.at}, not to {self._played.until}")
        self._played.history.watches.append(
            Watched(after=self._after, events=self._events, until=self.at)
        )

    def _done(self) -> bool:
        return 0 < self._played.until <= self.at

    async def _stream(self, connected: Connected) -> None:
        target = f"{PATH}?watch=1&labelSelector=history=1&allowWatchBookmarks=true"
        target += f"&resourceVersion={self.at}&timeoutSeconds={STREAM_S}"
        await connected.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        head = await connected.head()
        if head.status >= 500 or head.status == 429:
            await trio.sleep(0.2)
            raise BadAnswer(f"status {head.status}")
        if head.status != 200:
            self._refuse(f"a watch after {self.at} was refused: {head.status}")
            return
        kept = b""
        async for chunk in connected.chunks():
            *lines, kept = (kept + chunk).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _refuse(self, text: str) -> None:
        self._refused = True
        self._played.told.problems.append(text)

    def _take(self, event: Any) -> None:
        obj, kind = event["object"], event["type"]
        if kind == "ERROR":
            if obj.get("code", 0) < 500:
                self._refuse(f"a watch after {self.at} ended: {obj}")
            return
        version = _version(obj)
        if kind != "BOOKMARK":
            value = GONE if kind == "DELETED" else obj["data"]["v"]
            self._events.append((obj["metadata"]["name"], value, version))
        self.at = max(self.at, version)


async def _disturb(played: Played, rng: Random) -> None:
    """Have faults, and restart the server between them."""
    for number in range(3 * RESTARTS):
        await trio.sleep(rng.uniform(0, DISTURBED_S))
        if number % 3 == 2:
            await played.server.restart()
            continue
        fault = rng.choice(FAULTS)
        delay_s = 0.05 if fault == "latency" else 0.0
        rule = Rule(fault=fault, probability=0.3, count=rng.randint(1, 6), delay_s=delay_s)
        played.server.faults.clear()
        played.server.faults.add(rule)


async def _all(tasks: list[Callable[[], Any]]) -> None:
    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(task)


async def play(rng: Random, server: Harness) -> Played:
    """Play a round."""
    played = Played(server)
    clients = [Client(played, number, Random(rng.random())) for number in range(CLIENTS)]
    begun = await clients[0].last()
    watchers = [Watcher(played, begun) for _ in range(WATCHES)]
    async with trio.open_nursery() as nursery:
        for watcher in watchers:
            nursery.start_soon(watcher.run)
        await _all([*(client.run for client in clients), partial(_disturb, played, rng)])
        server.faults.clear()
        last = await clients[0].last()
        played.told.require(last, "the server does not list in the end")
        played.until = last or begun
    return played


def round_of(seed: int) -> Round:
    """The round of a seed."""
    setup = Setup(seed=seed, storage="disk", flags=("--controllers=-*",))
    played = run(partial(play, seeded(seed).rng), setup)
    told = played.told
    told.executions = played.history.operations()
    told.problems += problems(played.history)
    return told


TARGET = Target(
    "histories",
    "What clients at once are answered is the history of one object store, in which no answered "
    "write is lost and no watch has a gap, across faults and restarts.",
    round_of,
)
