"""Many watch connections in one process, counting events.

`python -m benchmarks.watchers`: a spec as JSON in; one line when every watch is open, then, told
how many events to expect, one line when they have all come.

Events are JSON lines inside chunks, and JSON escapes control characters, so the events in a piece
of stream are its newlines without those of the chunk framing, which follow a carriage return: two
counts at the speed of `memchr` and no parsing.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import select
from dataclasses import dataclass

from benchmarks import tools
from benchmarks.clock import perf_counter, process_time
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection

SILENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSpec:
    """What to watch.

    Args:
        endpoint: where to.
        path: collection and query.
        watchers: how many.
        each: what the path of each ends with, `%d` for its number.
    """

    endpoint: Endpoint
    path: str
    watchers: int
    each: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """What came.

    Args:
        events: of all watchers together.
        fewest, most: events of one watcher.
        ended: last event, seconds on the monotonic clock.
        bytes: bytes received.
        cpu_us: CPU time of this process by event, microseconds.
    """

    events: int
    fewest: int
    most: int
    ended: float
    bytes: int
    cpu_us: float


class EventCounter:
    """Counts the events of one watch, fed in any pieces."""

    __slots__ = ("_after_return", "_head", "events")

    def __init__(self) -> None:
        self.events = 0
        self._head = b""
        self._after_return = False

    @property
    def open(self) -> bool:
        """Whether the answer's head has been read."""
        return self._head is _READ

    def feed(self, data: bytes) -> int:
        """Take bytes; how many events they completed.

        Raises:
            BenchError: the watch was refused.
        """
        if self._head is not _READ:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return 0
            if self._head[9:12] != b"200":
                raise BenchError(f"watch: {self._head[:400]!r}")
            data, self._head = self._head[end + 4 :], _READ
            if not data:
                return 0
        count = data.count(b"\n") - data.count(b"\r\n")
        if self._after_return and data[0] == 10:
            count -= 1
        self._after_return = data[-1] == 13
        self.events += count
        return count


_READ = b"head read"


class Watchers:
    """All watches of the process."""

    def __init__(self, spec: WatchSpec) -> None:
        self._poll = select.epoll()
        self._watches: dict[int, tuple[Connection, EventCounter]] = {}
        self._total = 0
        context = spec.endpoint.context()
        headers = "".join(f"{name}: {value}\r\n" for name, value in spec.endpoint.headers().items())
        for number in range(spec.watchers):
            path = spec.path + spec.each.replace("%d", str(number))
            request = f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode("latin-1")
            connection = Connection(spec.endpoint, context)
            self._poll.register(connection.fd, select.EPOLLIN)
            self._watches[connection.fd] = (connection, EventCounter())
            connection.send(request)
        gc.collect()
        gc.disable()

    def turn(self, patience_s: float = SILENCE_S) -> bool:
        """Read once whatever has arrived; False when the parent has something to say.

        Raises:
            BenchError: a watch ended, or nothing came for `patience_s` (negative: forever).
        """
        events = self._poll.poll(patience_s)
        if not events:
            opened = sum(counter.open for _, counter in self._watches.values())
            raise BenchError(
                f"no event for {patience_s:.0f} s after {self._total}, {opened} watches open"
            )
        for fd, _ in events:
            if fd == 0:
                return False
            connection, counter = self._watches[fd]
            data = connection.receive()
            if data is None:
                raise BenchError(f"a watch ended after {counter.events} events")
            if data:
                connection.received += len(data)
                self._total += counter.feed(data)
        return True

    def run(self) -> None:
        """Open, report, count, report.

        Raises:
            BenchError: a watch was refused, ended, or fell silent.
        """
        while not all(counter.open for _, counter in self._watches.values()):
            self.turn()
        tools.report({"watchers": len(self._watches)})
        cpu = process_time()
        self._poll.register(0, select.EPOLLIN)
        # Until the parent says how many events there will be, silence is no error.
        while self.turn(-1):
            pass
        self._poll.unregister(0)
        each = json.loads(os.read(0, 4096) or b"0")
        while self._total < each * len(self._watches):
            self.turn()
        # Regular bookmarks are events too: some watches may be ahead, and others not have all.
        while any(counter.events < each for _, counter in self._watches.values()):
            self.turn()
        ended = perf_counter()
        counts = [counter.events for _, counter in self._watches.values()]
        tools.report(
            dataclasses.asdict(
                WatchResult(
                    events=self._total,
                    fewest=min(counts),
                    most=max(counts),
                    ended=ended,
                    bytes=sum(connection.received for connection, _ in self._watches.values()),
                    cpu_us=(process_time() - cpu) * 1e6 / max(self._total, 1),
                )
            )
        )


def main() -> None:
    """Read a spec, print two lines."""
    read = tools.spec()
    spec = WatchSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        Watchers(spec).run()
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
