"""Thousands of watches that wait, of a user who may watch."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Protocol

from benchmarks.clock import perf_counter
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.overload.aim import PATIENCE_S, Aim, Steps
from benchmarks.overload.streams import WATCH, Client
from benchmarks.watchers import EventCounter

H1_WATCHES = 10_000
H2_WATCHES = 2_000
STREAMS = 100  # watches on one HTTP/2 connection
WINDOW = 65_535


class Waiting(Protocol):
    """A connection with watches."""

    fd: int
    ended: int

    @property
    def answered(self) -> int:
        """Watches whose answer has begun."""
        ...

    def read(self) -> None:
        """Read what is there.

        Raises:
            OSError: the connection is gone.
        """
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Watch:
    """One watch over HTTP/1.1."""

    def __init__(self, aim: Aim, request: bytes) -> None:
        self._connection = Connection(aim.endpoint, aim.context)
        aim.tally["connections"] += 1
        self._events = EventCounter()
        self.fd = self._connection.fd
        self.ended = 0
        self._connection.send(request)

    @property
    def answered(self) -> int:
        """Whether the answer has begun."""
        return int(self._events.open)

    def read(self) -> None:
        """Read what is there.

        Raises:
            OSError: the watch is over.
        """
        data = self._connection.receive()
        if data is None:
            raise ConnectionResetError("a watch ended")
        if data:
            self._events.feed(data)

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def _until(client: Waiting, wanted: int) -> None:
    """Read until so many answers have begun.

    Raises:
        BenchError: they have not in time.
    """
    until = perf_counter() + 2 * PATIENCE_S
    poll = select.poll()  # select() knows no more than 1,024 files
    poll.register(client.fd, select.POLLIN)
    while client.answered < wanted:
        if not poll.poll(1e3 * max(0.0, until - perf_counter())):
            raise BenchError(f"{client.answered} of {wanted} watches on a connection")
        client.read()


def _kept(clients: Iterator[Waiting]) -> Steps:
    """Read what comes on clients that are opened one by one.

    Raises:
        BenchError: a watch ended.
    """
    poll = select.epoll()
    held: dict[int, Waiting] = {}
    try:
        for client in clients:
            held[client.fd] = client
            poll.register(client.fd, select.EPOLLIN)
            yield False
        while True:
            for fd, _ in poll.poll(0.1):
                client = held[fd]
                client.read()
                if client.ended:
                    raise BenchError(f"{client.ended} watches of a connection ended")
            yield True
    except OSError as error:
        raise BenchError(f"a watch ended: {error}") from error
    finally:
        for client in held.values():
            client.close()
        poll.close()


def _h1(aim: Aim) -> Iterator[Waiting]:
    request = aim.head("GET", WATCH, aim.holder)
    # A hundred at a time, so that opening waits for the server and not for each answer.
    left = aim.scaled(H1_WATCHES)
    while left:
        several = [Watch(aim, request) for _ in range(min(100, left))]
        left -= len(several)
        for watch in several:
            _until(watch, 1)
            aim.tally["watches"] += 1
            yield watch


def _h2(aim: Aim) -> Iterator[Waiting]:
    most = aim.scaled(H2_WATCHES)
    for first in range(0, most, STREAMS):
        client = Client(aim, WINDOW)
        wanted = min(STREAMS, most - first)
        for _ in range(wanted):
            client.get(WATCH, aim.holder)
        _until(client, wanted)
        aim.tally["watches"] += wanted
        yield client


def over_h1(aim: Aim) -> Steps:
    """10,000 watches, a connection each."""
    yield from _kept(_h1(aim))


def over_h2(aim: Aim) -> Steps:
    """2,000 watches on twenty connections."""
    yield from _kept(_h2(aim))
