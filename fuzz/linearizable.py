"""Concurrent histories of a server that is killed and paused are linearizable, and lose nothing.

python fuzz/linearizable.py --seconds 60 --seed 1

Clients in threads create, compare and swap, read, list, delete and watch a few ConfigMaps through
TLS, while the process of the server is killed (SIGKILL) and started again on its data, or paused
for a moment.  What was asked and answered is checked by `fuzz.histories`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random  # noqa: TID251 -- a driver with a seed
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading  # noqa: TID251 -- clients beside the server's process
import time  # noqa: TID251 -- histories are of real time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.histories import GONE, History, Listed, Read, Watched, Write, problems

CLIENTS = 6
KEYS = 8
PATH = "/api/v1/namespaces/default/configmaps"
PATIENCE_S = 10.0
TOKEN = "history"
INFINITE = float("inf")
LOST = (OSError, http.client.HTTPException, ValueError)


class KilledServer:
    """A process that serves one data directory, and may be killed."""

    def __init__(self, folder: Path, flags: Sequence[str]) -> None:
        self._folder, self._flags = folder, flags
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},history,history-uid,"system:masters"\n')
        tokens.chmod(0o600)
        self._port = 0
        self.kills = self.pauses = 0
        self.start()

    def start(self) -> None:
        """Start it, on the port that it had."""
        command = [
            sys.executable, "-m", "kubetrio", "serve", "--data-dir", str(self._folder / "data"),
            "--secure-port", str(self._port), "--token-auth-file",
            str(self._folder / "tokens.csv"), *self._flags,
        ]  # fmt: skip
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self._process.stdout.readline() if self._process.stdout else ""
        found = re.search(r"https://\S+", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}")
        self._port = urlsplit(found[0]).port or 0

    def connect(self) -> http.client.HTTPSConnection:
        """Make a connection."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=PATIENCE_S, context=context
        )

    def kill(self) -> None:
        """End it without a word, and start it again."""
        self.kills += 1
        self._process.kill()
        self._process.wait()
        self.start()

    def pause(self, seconds: float) -> None:
        """Stop it for a moment."""
        self.pauses += 1
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        self._process.wait(timeout=30)


@dataclass(slots=True)
class Client:
    """One client and its part of the history."""

    server: KilledServer
    number: int
    rng: random.Random
    history: History = field(default_factory=History)
    known: dict[str, int] = field(default_factory=dict)
    connection: http.client.HTTPSConnection | None = None
    count: int = 0

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request, and read its answer.

        Raises:
            OSError, HTTPException, ValueError: what came of it is not known.
        """
        if self.connection is None:
            self.connection = self.server.connect()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            data = None if body is None else json.dumps(body)
            self.connection.request(method, path, data, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except LOST:
            self.connection.close()
            self.connection = None
            raise

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
            self.history.writes.append(
                Write(
                    begun=begun, ended=time.monotonic(), key=key, value=value, named=named,
                    version=version,
                )
            )  # fmt: skip
        elif status == 200:
            # The answer of a deletion has no version of its own; watches tell it.
            self.history.writes.append(
                Write(begun=begun, ended=INFINITE, key=key, value=value, named=named)
            )

    def run(self, until: float) -> None:
        """Do things until a time."""
        while time.monotonic() < until:
            try:
                self.step()
            except LOST:
                time.sleep(0.05)


def _version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


def watched(
    server: KilledServer, after: int, until: threading.Event, seconds: int
) -> list[Watched]:
    """Watch from a version on, again and again where a stream ends, each time from where it came.

    Args:
        server: whose objects.
        after: version to begin after.
        until: set when everything has been written.
        seconds: how long a stream may be without a word.
    """
    told: list[Watched] = []
    events: list[tuple[str, str, int]] = []
    at = after
    while True:
        ended = until.is_set()
        try:
            connection = server.connect()
            connection.request(
                "GET",
                f"{PATH}?watch=1&labelSelector=history=1&allowWatchBookmarks=true"
                f"&resourceVersion={at}&timeoutSeconds={seconds}",
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            answer = connection.getresponse()
            for line in answer:
                event = json.loads(line)
                obj, kind = event["object"], event["type"]
                if kind == "ERROR":
                    raise SystemExit(f"a watch ended: {obj}")
                version = _version(obj)
                if kind != "BOOKMARK":
                    value = GONE if kind == "DELETED" else obj["data"]["v"]
                    events.append((obj["metadata"]["name"], value, version))
                at = max(at, version)
        except LOST:
            time.sleep(0.05)
            continue
        if ended:
            told.append(Watched(after=after, events=events, until=at))
            return told


def whole(clients: Sequence[Client], watches: Sequence[Watched]) -> History:
    """The history of all clients; versions of deletions are what watches told of them."""
    history = History(watches=list(watches))
    for client in clients:
        history.writes += client.history.writes
        history.reads += client.history.reads
        history.lists += client.history.lists
    return history


def play(seconds: float, seed: int, flags: Sequence[str]) -> tuple[History, KilledServer]:
    """Run clients beside a server that is killed and paused."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kubetrio-history-") as folder:
        server = KilledServer(Path(folder), flags)
        try:
            clients = [
                Client(server, number, random.Random(rng.random())) for number in range(CLIENTS)
            ]
            first = clients[0].listed()
            if first is None:
                raise SystemExit("the server does not list")
            over, watches = threading.Event(), list[Watched]()
            until = time.monotonic() + seconds
            threads = [threading.Thread(target=one.run, args=(until,)) for one in clients]
            watcher = threading.Thread(
                target=lambda: watches.extend(watched(server, first.version, over, 2))
            )
            for thread in (*threads, watcher):
                thread.start()
            while time.monotonic() < until - 1:
                time.sleep(0.3 + rng.random() * 2)
                if rng.random() < 0.7:
                    server.kill()
                else:
                    server.pause(0.1 + rng.random())
            for thread in threads:
                thread.join()
            over.set()
            watcher.join()
            clients[0].listed()
            return whole(clients, watches), server
        finally:
            server.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and check; 1 when something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--seed", type=int, default=1, help="of clients and kills (1)")
    parser.add_argument("--server-flag", action="append", default=[], metavar="FLAG")
    options = parser.parse_args(arguments)
    history, server = play(options.seconds, options.seed, options.server_flag)
    found = problems(history)
    unsure = sum(1 for write in history.writes if not write.version)
    print(
        f"{history.operations()} answered operations ({len(history.writes) - unsure} writes, "
        f"{len(history.reads)} reads, {len(history.lists)} lists), {unsure} writes without a "
        f"version, {server.kills} kills, {server.pauses} pauses, "
        f"{sum(len(one.events) for one in history.watches)} watched events: "
        f"{len(found)} problems"
    )
    for problem in found[:20]:
        print(problem)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
