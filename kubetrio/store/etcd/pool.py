"""Which member is asked: one connection at a time, and another member when that one fails.

Calls go through one connection, so that what a client sees of a healthy cluster does not depend on
which member is ahead.  When it breaks, or a call through it fails in a way that another member may
not (no leader, no answer in time), the next member is dialled; calls that are under way there go
on.  One task dials, one member at a time, and rests between rounds, twice as long each time and
by a random part, so that many clients do not meet at a member that comes back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NoReturn

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store.etcd.connection import Connection, ConnectionSettings
from kubetrio.store.etcd.dialing import Dial, Endpoint, broken
from kubetrio.store.etcd.errors import Code, EtcdError, Unavailable

LOG = Log("kubetrio.store.etcd")
GOOD_AFTER_S: Final = 5.0
"""How long a connection has to last to count as one that worked."""
DISTRUSTED_AFTER_S: Final = 1.0
"""How long a connection is kept at least, whatever its calls say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """How members are reached.

    Args:
        dial_timeout_s: seconds for a connection, TLS and the first word of the peer included.
        first_pause_s: seconds after the first round in which no member could be reached.
        longest_pause_s: seconds after later ones, at most.
        keepalive_s: see `ConnectionSettings`.
        keepalive_timeout_s: see there.
        max_receive_bytes: see there.
    """

    dial_timeout_s: float = 5.0
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0
    keepalive_s: float = 10.0
    keepalive_timeout_s: float = 5.0
    max_receive_bytes: int = 2**31 - 1


class Pool:
    """The connection to etcd, whichever member it is to.

    Args:
        endpoints: of the members, at least one.
        settings: how they are reached.
        dial: opens a connection.
        env: randomness.
        nursery: of the owner, in which connections live.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        settings: PoolSettings,
        dial: Dial,
        env: Env,
        nursery: trio.Nursery,
    ) -> None:
        self.endpoints = tuple(endpoints)
        self.dials = 0
        self.failed_dials = 0
        self.error: EtcdError = Unavailable("no member was reached yet", Code.UNAVAILABLE)
        """Why the last dial or connection failed."""
        self._settings = settings
        self._dial = dial
        self._env = env
        self._nursery = nursery
        self._at = env.rng.randrange(len(self.endpoints))  # not all clients at the first
        self._failures = 0  # since a connection that worked
        self._current: Connection | None = None
        self._endpoint: Endpoint | None = None  # of the current connection
        self._wanted = trio.Event()
        self._changed = trio.lowlevel.ParkingLot()

    @property
    def endpoint(self) -> Endpoint | None:
        """The member that is asked now."""
        return self._endpoint if self.current is not None else None

    @property
    def current(self) -> Connection | None:
        """The connection, if there is one that can be used."""
        if self._current is not None and not self._current.usable:
            self._current = None  # the peer takes no more calls
        if self._current is None:
            self._wanted.set()
        return self._current

    async def connection(self) -> Connection:
        """Wait for a connection that can be used; the caller brings the deadline."""
        while (current := self.current) is None:
            await self._changed.park()
        return current

    def distrust(self, connection: Connection) -> None:
        """Ask another member from now on, if there is one."""
        fresh = trio.current_time() - connection.since < DISTRUSTED_AFTER_S
        if connection is self._current and len(self.endpoints) > 1 and not fresh:
            self._current = None
            self._next()
            self._wanted.set()
            connection.retire()

    def _next(self) -> None:
        self._at = (self._at + 1) % len(self.endpoints)

    async def run(self) -> NoReturn:
        """Dial when a connection is wanted; until cancelled."""
        while True:
            await self._wanted.wait()
            if self._failures and self._failures % len(self.endpoints) == 0:
                await trio.sleep(self._pause())
            endpoint = self.endpoints[self._at]
            try:
                connection = await self._nursery.start(self._serve, endpoint)
            except EtcdError as error:
                self._failed(endpoint, error)
                continue
            self._wanted = trio.Event()
            self._current, self._endpoint = connection, endpoint
            self._changed.unpark_all()

    def _pause(self) -> float:
        settings = self._settings
        rounds = self._failures // len(self.endpoints)
        pause = min(settings.longest_pause_s, settings.first_pause_s * 2.0 ** min(rounds - 1, 30))
        return pause * self._env.rng.uniform(0.5, 1.5)

    def _failed(self, endpoint: Endpoint, error: EtcdError) -> None:
        self.error = error
        self.failed_dials += 1
        self._failures += 1
        self._next()
        LOG.warning("etcd cannot be reached", endpoint=endpoint.url, error=str(error))

    @asynccontextmanager
    async def to(self, endpoint: Endpoint) -> AsyncIterator[Connection]:
        """A connection to a certain member, as long as the block lasts.

        Raises:
            EtcdError: it cannot be reached.
        """
        if (current := self.current) is not None and self._endpoint == endpoint:
            yield current
            return
        connection = await self._nursery.start(self._serve, endpoint)
        try:
            yield connection
        finally:
            connection.retire()

    async def _serve(self, endpoint: Endpoint, task_status: trio.TaskStatus[Connection]) -> None:
        """Open a connection and move its bytes to its end.

        Raises:
            EtcdError: it cannot be opened.
        """
        self.dials += 1
        settings = self._settings
        settled = False
        with trio.move_on_after(settings.dial_timeout_s) as timeout:
            transport = await self._dial(endpoint)
        if timeout.cancelled_caught:
            raise Unavailable(f"dial {endpoint.url}: i/o timeout", Code.UNAVAILABLE)
        connection = Connection(transport, self._of(endpoint))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            with trio.move_on_at(timeout.deadline):
                settled = await connection.settled()
            if settled:
                task_status.started(connection)
            else:
                nursery.cancel_scope.cancel()
        if not settled:
            raise broken(connection.cause, endpoint)
        self._ended(endpoint, connection)

    def _of(self, endpoint: Endpoint) -> ConnectionSettings:
        settings = self._settings
        return ConnectionSettings(
            authority=endpoint.authority,
            tls=endpoint.tls,
            keepalive_s=settings.keepalive_s,
            keepalive_timeout_s=settings.keepalive_timeout_s,
            max_receive_bytes=settings.max_receive_bytes,
        )

    def _ended(self, endpoint: Endpoint, connection: Connection) -> None:
        worked = trio.current_time() - connection.since >= GOOD_AFTER_S
        if worked:
            self._failures = 0
        if connection is not self._current:
            return
        self._current = None
        self._wanted.set()
        if not worked:
            self._failures += 1
        self._next()
        self.error = broken(connection.cause, endpoint)
        LOG.warning("connection to etcd broke", endpoint=endpoint.url, error=str(self.error))
