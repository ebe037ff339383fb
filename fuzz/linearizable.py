"""Concurrent histories of a server that is killed and paused are linearizable, and lose nothing.

python fuzz/linearizable.py --seconds 60 --seed 1
python fuzz/linearizable.py --servers 3 --members 3 --operations 200000 --faults 50

Clients in threads create, compare and swap, read, list, delete and watch a few ConfigMaps through
TLS, while the process of the server is killed (SIGKILL) and started again on its data, or paused
for a moment.  With ``--members`` the servers are replicas on an etcd, whose members are killed and
paused too; each request goes to any of them, and each has a watch.  What was asked and answered is
checked by `fuzz.histories`.  A watch that ends with an error ends the run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random  # noqa: TID251 -- a driver with a seed
import sys
import tempfile
import threading  # noqa: TID251 -- clients beside the server's process
import time  # noqa: TID251 -- histories are of real time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.connecting import Connection
from fuzz.histories import GONE, INFINITE, History, Listed, Read, Watched, Write, problems
from fuzz.killing import TOKEN, KilledServer, Processes, running

CLIENTS = 6
KEYS = 8
PATH = "/api/v1/namespaces/default/configmaps"
STREAM_S = 4
"""How long a stream of a watch lasts: it has a bookmark 2 seconds before its end."""
LAST_TRIES = 30  # streams of a watch, until it has come to the last version
TOLD_EVERY_S = 30.0
SHORT_S, LONGEST_S = 60.0, 6 * 3600.0
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
LOST = (OSError, http.client.HTTPException, ValueError)


@dataclass(slots=True)
class Client:
    """One client and its part of the history."""

    servers: Sequence[KilledServer]
    number: int
    rng: random.Random
    history: History = field(default_factory=History)
    known: dict[str, int] = field(default_factory=dict)
    connections: dict[int, Connection] = field(default_factory=dict)
    count: int = 0
    answered: int = 0  # operations of the history that have an answer; conflicts are not in it
    answers: Counter[str] = field(default_factory=Counter)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request, and read its answer.

        Raises:
            OSError, HTTPException, ValueError: what came of it is not known.
        """
        number = self.rng.randrange(len(self.servers))
        connection = self.connections.pop(number, None)
        try:
            connection = connection or self.servers[number].dial()
            data = b"" if body is None else orjson.dumps(body)
            status, answer = connection.request(method, path, data, HEADERS)
            found = orjson.loads(answer)
        except LOST as error:
            self.answers[f"no answer: {type(error).__name__}"] += 1
            if connection is not None:
                connection.close()
            raise
        self.connections[number] = connection
        self.answers[str(status)] += 1
        if status >= 500:
            self.answers[f"said: {found.get('message')}"[:100]] += 1
        return status, found

    def step(self) -> None:
        """Do one thing at random."""
        key = f"k{self.rng.randrange(KEYS)}"
        match self.rng.randrange(10):
            case 0 | 1 | 2:
                self.read(key)
            case 3:
                self.listed()
            case 4:
                self.delete(key)
            case _:
                self.write(key)

    def read(self, key: str) -> None:
        """Read an object."""
        begun = time.monotonic()
        status, found = self.ask("GET", f"{PATH}/{key}")
        value, version = (found["data"]["v"], _version(found)) if status == 200 else (GONE, 0)
        if status not in (200, 404):
            return
        self.known[key] = version
        self.answered += 1
        self.history.reads.append(
            Read(begun=begun, ended=time.monotonic(), key=key, value=value, version=version)
        )

    def listed(self) -> Listed | None:
        """Read all objects."""
        begun = time.monotonic()
        status, found = self.ask("GET", f"{PATH}?labelSelector=history=1")
        if status != 200:
            return None
        items = {
            item["metadata"]["name"]: (item["data"]["v"], _version(item)) for item in found["items"]
        }
        made = Listed(begun=begun, ended=time.monotonic(), version=_version(found), items=items)
        self.history.lists.append(made)
        self.answered += 1
        return made

    def write(self, key: str) -> None:
        """Create an object, or replace the version that is known."""
        self.count += 1
        named = self.known.get(key, 0)
        value = f"{self.number}-{self.count}"
        meta: dict[str, Any] = {"name": key, "labels": {"history": "1"}}
        if named:
            meta["resourceVersion"] = str(named)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"v": value}}
        method, path = ("PUT", f"{PATH}/{key}") if named else ("POST", PATH)
        self._changed(method, path, body, key, value, named)

    def delete(self, key: str) -> None:
        """Delete the version of an object that is known."""
        named = self.known.get(key, 0)
        if named:
            body = {"preconditions": {"resourceVersion": str(named)}}
            self._changed("DELETE", f"{PATH}/{key}", body, key, GONE, named)

    def _changed(self, method: str, path: str, body: Any, key: str, value: str, named: int) -> None:
        begun = time.monotonic()
        try:
            status, found = self.ask(method, path, body)
        except LOST:
            self.known.pop(key, None)
            self.history.writes.append(
                Write(begun=begun, ended=INFINITE, key=key, value=value, named=named)
            )
            raise
        self.known.pop(key, None)
        if status >= 500 or status == 429:  # it may have been written
            self.history.writes.append(
                Write(begun=begun, ended=INFINITE, key=key, value=value, named=named)
            )
        elif status in (200, 201) and value != GONE:
            version = self.known[key] = _version(found)
            self.answered += 1
            self.history.writes.append(
                Write(
                    begun=begun, ended=time.monotonic(), key=key, value=value, named=named,
                    version=version,
                )
            )  # fmt: skip
        elif status == 200:
            # The answer of a deletion has no version of its own; watches tell it.
            self.answered += 1
            self.history.writes.append(
                Write(begun=begun, ended=time.monotonic(), key=key, value=value, named=named)
            )

    def run(self, over: threading.Event) -> None:
        """Do things until it is over."""
        while not over.is_set():
            try:
                self.step()
            except LOST:
                time.sleep(0.05)


def _version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Watcher:
    """A watch of one server, begun again where a stream ends, each time from where it came.

    Args:
        server: whose objects.
        after: version to begin after.

    Attributes:
        until: version that it has to come to, 0 while that is not known.
        errors: ERROR events that end the run.
        interrupted: ERROR events of a server that cannot go on for now (5xx), after which the
            watch goes on where it was.
    """

    def __init__(self, server: KilledServer, after: int) -> None:
        self.until = 0
        self.errors: list[str] = []
        self.interrupted = 0
        self._server = server
        self._after = self._at = after
        self._events: list[tuple[str, str, int]] = []

    @property
    def told(self) -> Watched:
        """What it was told."""
        return Watched(after=self._after, events=self._events, until=self._at)

    def run(self, over: threading.Event) -> None:
        """Watch until the last version has come, or an error; which ends the others too."""
        tries = 0
        while not self.errors and tries < LAST_TRIES:
            if self.until:
                tries += 1
                if self._at >= self.until:
                    return
            try:
                self._stream()
            except LOST:
                time.sleep(0.05)
        if not self.errors:
            self.errors.append(f"a watch has come to {self._at}, not to {self.until}")
        over.set()

    def _stream(self) -> None:
        connection = self._server.connect()
        try:
            connection.request(
                "GET",
                f"{PATH}?watch=1&labelSelector=history=1&allowWatchBookmarks=true"
                f"&resourceVersion={self._at}&timeoutSeconds={STREAM_S}",
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            answer = connection.getresponse()
            if answer.status >= 500 or answer.status == 429:
                time.sleep(0.2)
            elif answer.status != 200:
                self.errors.append(f"a watch after {self._at} was refused: {answer.read()!r}")
            else:
                for line in answer:
                    self._take(json.loads(line))
        finally:
            connection.close()

    def _take(self, event: Any) -> None:
        obj, kind = event["object"], event["type"]
        if kind == "ERROR":
            if obj.get("code", 0) >= 500:
                self.interrupted += 1
            else:
                self.errors.append(f"a watch after {self._at} ended: {obj}")
            return
        version = _version(obj)
        if kind != "BOOKMARK":
            value = GONE if kind == "DELETED" else obj["data"]["v"]
            self._events.append((obj["metadata"]["name"], value, version))
        self._at = max(self._at, version)


def whole(clients: Sequence[Client], watches: Sequence[Watched]) -> History:
    """The history of all clients; versions of deletions are what watches told of them."""
    history = History(watches=list(watches))
    for client in clients:
        history.writes += client.history.writes
        history.reads += client.history.reads
        history.lists += client.history.lists
    return history


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long a run lasts, and what happens in it.

    Args:
        seconds: at most.
        operations: answered requests after which it ends, 0 for no such end.
        faults: faults that are spread over the operations, 0 for some at random times.
        clients: clients at once.
        servers: servers.
        members: members of their etcd, 0 for none.
        flags: further flags of servers.
        seed: of clients and faults.
    """

    seconds: float
    operations: int
    faults: int
    clients: int
    servers: int
    members: int
    flags: Sequence[str]
    seed: int


@dataclass(slots=True)
class Played:
    """What came of a run.

    Args:
        history: what was asked and answered.
        faults: by kind.
        seconds: how long it took.
        interrupted: streams of watches that servers ended with a 5xx.
        errors: what ended the run before its time.
        answers: by status, and what was said of failures.
    """

    history: History
    faults: Counter[str]
    seconds: float
    interrupted: int
    errors: list[str]
    answers: Counter[str]


def play(plan: Plan) -> Played:
    """Run clients beside processes that are killed and paused."""
    rng = random.Random(plan.seed)
    with (
        tempfile.TemporaryDirectory(prefix="kubetrio-history-") as folder,
        running(
            Path(folder), servers=plan.servers, members=plan.members, flags=plan.flags,
            rng=random.Random(rng.random()),
        ) as processes,
    ):  # fmt: skip
        clients = [
            Client(processes.servers, number, random.Random(rng.random()))
            for number in range(plan.clients)
        ]
        first = clients[0].listed()
        if first is None:
            raise SystemExit("the server does not list")
        watchers = [Watcher(server, first.version) for server in processes.servers]
        over, begun = threading.Event(), time.monotonic()
        threads = [threading.Thread(target=one.run, args=(over,)) for one in clients]
        watching = [threading.Thread(target=one.run, args=(over,)) for one in watchers]
        for thread in (*threads, *watching):
            thread.start()
        errors: list[str] = []
        try:
            _disturb(plan, processes, clients, over, rng)
        except RuntimeError as error:  # a process does not come back
            errors.append(str(error))
        over.set()
        for thread in threads:
            thread.join()
        last = _last(clients[0])
        for one in watchers:
            one.until = last or first.version
        for thread in watching:
            thread.join()
        if not last:
            errors.append("the servers do not list in the end")
        errors += [error for one in watchers for error in one.errors]
        errors += [f"server {number} has ended by itself" for number in processes.ended()]
        return Played(
            whole(clients, [one.told for one in watchers]), processes.faults,
            time.monotonic() - begun, sum(one.interrupted for one in watchers), errors,
            sum((one.answers for one in clients), Counter()),
        )  # fmt: skip


def _last(client: Client) -> int:
    """The version of a last list; 0 where none is answered."""
    for _ in range(LAST_TRIES):
        try:
            if (listed := client.listed()) is not None:
                return listed.version
        except LOST:
            pass
        time.sleep(0.5)
    return 0


def _disturb(
    plan: Plan,
    processes: Processes,
    clients: Sequence[Client],
    over: threading.Event,
    rng: random.Random,
) -> None:
    """Make faults until enough has been answered, or the time is up.

    Raises:
        RuntimeError: a server does not come back.
    """
    begun = told = time.monotonic()
    while not over.is_set() and (now := time.monotonic()) < begun + plan.seconds - 1:
        done, faults = sum(one.answered for one in clients), processes.faults.total()
        if plan.operations and done >= plan.operations and faults >= plan.faults:
            return
        if now - told > TOLD_EVERY_S:
            told = now
            print(f"{now - begun:.0f} s: {done} operations, {faults} faults", file=sys.stderr)
        if plan.faults:
            time.sleep(0.2)
            if faults < plan.faults and done * plan.faults >= faults * plan.operations:
                processes.fault()
        else:
            time.sleep(0.3 + rng.random() * 2)
            processes.fault()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and check; 1 when something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="at most (60; with --operations 6 hours)"
    )
    parser.add_argument("--operations", type=int, default=0, help="answered ones, then it ends")
    parser.add_argument("--faults", type=int, default=0, help="spread over the operations")
    parser.add_argument("--clients", type=int, default=CLIENTS, help=f"at once ({CLIENTS})")
    parser.add_argument("--servers", type=int, default=1, help="servers; several need --members")
    parser.add_argument("--members", type=int, default=0, help="of the etcd that they share (0)")
    parser.add_argument("--seed", type=int, default=1, help="of clients and faults (1)")
    parser.add_argument("--server-flag", action="append", default=[], metavar="FLAG")
    options = parser.parse_args(arguments)
    if options.servers > 1 and not options.members:
        parser.error("several servers need --members")
    if options.faults and not options.operations:
        parser.error("--faults are spread over --operations")
    longest = LONGEST_S if options.operations else SHORT_S
    plan = Plan(
        seconds=options.seconds or longest, operations=options.operations, faults=options.faults,
        clients=options.clients, servers=options.servers, members=options.members,
        flags=options.server_flag, seed=options.seed,
    )  # fmt: skip
    played = play(plan)
    history = played.history
    found = [*played.errors, *problems(history)]
    unsure = sum(1 for write in history.writes if write.ended == INFINITE)
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(played.faults.items()))
    print(
        f"{history.operations()} answered operations ({len(history.writes) - unsure} writes, "
        f"{len(history.reads)} reads, {len(history.lists)} lists) in {played.seconds:.0f} s, "
        f"{unsure} writes without an answer, {played.faults.total()} faults ({faults}), "
        f"{sum(len(one.events) for one in history.watches)} watched events, "
        f"{played.interrupted} streams interrupted: {len(found)} problems"
    )
    for what, count in sorted(played.answers.items()):
        print(f"    {count} {what}")
    for problem in found[:20]:
        print(problem)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
