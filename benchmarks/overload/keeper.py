"""A writer and a watcher who must lose nothing: `python -m benchmarks.overload.keeper`.

A spec as JSON in, one line when the watch is open.  A second line of input ends the writing; the
watcher has half a minute to catch up, and one line tells what was lost, `ledger.py` decides.
"""

from __future__ import annotations

import dataclasses
import json
import select
from dataclasses import dataclass

from benchmarks import requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.overload.events import EventReader
from benchmarks.overload.ledger import Ledger, Write

ANSWER_S = 30.0
CATCH_UP_S = 30.0
PAUSE_S = 0.2  # behind what the server refused
LIFE = (("POST", "ADDED"), ("PUT", "MODIFIED"), ("PUT", "MODIFIED"), ("DELETE", "DELETED"))
"""What happens to each object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperSpec:
    """What to write.

    Args:
        endpoint: the server and the user.
        namespace: where no other client writes.
        a_second: writes.
    """

    endpoint: Endpoint
    namespace: str
    a_second: float = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperResult:
    """What came of it.

    Args:
        seen: acknowledged writes that the watcher saw.
        unsure: writes without an answer.
        refused: writes that the server refused, and that were tried again.
        resumed: watches that ended and were gone on with.
        problems: what was lost, doubled or out of order.
    """

    seen: int
    unsure: int
    refused: int
    resumed: int
    problems: tuple[str, ...]


class Keeper:
    """Writer and watcher in one loop."""

    def __init__(self, spec: KeeperSpec) -> None:
        self._endpoint = spec.endpoint
        self._context = spec.endpoint.context()
        self._path = requests.collection(spec.namespace)
        self._every_s = 1 / spec.a_second
        self._ledger = Ledger()
        self._number = self._step = 0
        self._writer: Connection | None = None
        self._watch: Connection | None = None
        self._reader = EventReader()
        self._unsure = self._refused = 0
        self._watches = 0

    def run(self) -> KeeperResult:
        """Write until told to end, then wait for the watcher.

        Raises:
            BenchError: a request was refused that must not be.
        """
        listed = self._endpoint.call("GET", f"{self._path}?limit=1")
        self._ledger.revision = int(listed["metadata"]["resourceVersion"])
        until = perf_counter() + ANSWER_S
        while not self._reader.status and perf_counter() < until:
            self._look(PAUSE_S)
        tools.report({"ready": True})
        stdin = select.poll()
        stdin.register(0, select.POLLIN | select.POLLHUP)
        due = perf_counter()
        while not stdin.poll(0):
            self._look(due - perf_counter())
            if perf_counter() >= due:
                self._write()
                due = max(due + self._every_s, perf_counter() - 1.0)
        until = perf_counter() + CATCH_UP_S
        while self._ledger.unseen and perf_counter() < until:
            self._look(PAUSE_S)
        self._look(PAUSE_S)  # what is seen twice may still come
        self._ledger.close()
        return KeeperResult(
            seen=self._ledger.matched,
            unsure=self._unsure,
            refused=self._refused,
            resumed=self._watches - 1,
            problems=tuple(self._ledger.problems),
        )

    def _write(self) -> None:
        """Send the next write and wait for its answer.

        Raises:
            BenchError: it was refused for another reason than too many requests.
        """
        method, kind = LIFE[self._step]
        name = requests.NAME % self._number
        try:
            if self._writer is None:
                self._writer = Connection(self._endpoint, self._context, keep=True)
        except OSError:
            self._refused += 1
            sleep(PAUSE_S)
            return  # nothing was sent
        try:
            status = self._writer.exchange(self._request(method, name), timeout_s=ANSWER_S)
        except (OSError, BenchError):
            self._writer.close()
            self._writer = None
            status = 0
        if status in (200, 201):
            told = kind != "DELETED" and json.loads(self._writer.body if self._writer else b"{}")
            revision = int(told["metadata"]["resourceVersion"]) if told else 0
            self._ledger.wrote(Write(kind, name, revision))
            self._step = (self._step + 1) % len(LIFE)
            self._number += not self._step
        elif status == 429:
            self._refused += 1
            sleep(PAUSE_S)
        elif not status or status >= 500:
            self._unsure += 1
            self._ledger.wrote(Write(kind, name, sure=False))
            # What became of the object is not known: go on with another one.
            self._step, self._number = 0, self._number + 1
        else:
            raise BenchError(f"{method} of {name}: {status}")

    def _request(self, method: str, name: str) -> bytes:
        body = b"" if method == "DELETE" else _body(name, self._step)
        path = self._path if method == "POST" else f"{self._path}/{name}"
        fields = {
            **self._endpoint.headers(),
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        lines = "".join(f"{field}: {value}\r\n" for field, value in fields.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body

    def _look(self, wait_s: float) -> None:
        """Read what comes within a time, and at least what is there."""
        until = perf_counter() + wait_s
        while True:
            if self._watch is None and not self._open_watch():
                return
            if self._watch is not None and not self._read(self._watch):
                self._watch.close()
                self._watch = None
                continue
            left = until - perf_counter()
            if left <= 0 or self._watch is None:
                return
            select.select([self._watch.fd], [], [], left)

    def _open_watch(self) -> bool:
        """Watch from the last event on; False when the server does not let us."""
        path = f"{self._path}?watch=1&resourceVersion={self._ledger.revision}"
        fields = self._endpoint.headers().items()
        lines = "".join(f"{field}: {value}\r\n" for field, value in fields)
        try:
            self._watch = Connection(self._endpoint, self._context)
            self._watch.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
        except OSError:
            sleep(PAUSE_S)
            return False
        self._reader = EventReader()
        self._watches += 1
        return True

    def _read(self, watch: Connection) -> bool:
        """Read what is there; False when the watch is over."""
        while True:
            data = watch.receive()
            if not data:
                return data is not None
            for event in self._reader.feed(data):
                if event["type"] == "ERROR":
                    self._ledger.problem(f"the watch ended: {event['object'].get('message')}")
                    return False
                meta = event["object"]["metadata"]
                self._ledger.saw(Write(event["type"], meta["name"], int(meta["resourceVersion"])))
            if self._reader.status not in (0, 200):
                sleep(PAUSE_S)
                return False
            if self._reader.ended:
                return False


def _body(name: str, step: int) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"n": str(step)},
        }
    ).encode()


def main() -> None:
    """Read a spec, write and watch, print two lines."""
    read = tools.spec()
    spec = KeeperSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report(dataclasses.asdict(Keeper(spec).run()))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
