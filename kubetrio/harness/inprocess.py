"""Scripts played against a server in this process, over connections in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio
import trio.testing

from kubetrio.faults import Rule
from kubetrio.harness.connecting import Connected
from kubetrio.harness.exchange import Answer, BadAnswer, Head, encode_request
from kubetrio.harness.opening import Harness
from kubetrio.harness.player import Prepared, streamed
from kubetrio.harness.reply import Reply

LIMIT_S = 600.0
"""Seconds of the server's clock after which a request counts as one without an answer."""


def _headers(head: Head) -> dict[str, str]:
    names = dict.fromkeys(name for name, _ in head.headers)
    return {name.decode("latin-1"): head.get(name).decode("latin-1") for name in names}


@dataclass(slots=True)
class _Watching:
    """A watch in memory.

    Attributes:
        head: of the answer, None where there is none.
        data: bytes after it.
        error: why it ended early.
    """

    head: Head | None = None
    data: bytearray = field(default_factory=bytearray)
    error: str = ""

    def reply(self) -> Reply:
        """See `Stream`."""
        if self.head is None:
            return Reply(error=self.error or "no answer yet")
        reply = Reply(status=self.head.status, headers=_headers(self.head), error=self.error)
        return streamed(reply, bytes(self.data))


class _Link:
    """A connection that a task of its own keeps open, made anew when it has ended.

    Args:
        server: where to.
        nursery: where the task runs.
    """

    def __init__(self, server: Harness, nursery: trio.Nursery) -> None:
        self._server = server
        self._nursery = nursery
        self._connected: Connected | None = None
        self._done = trio.Event()

    async def connected(self) -> Connected:
        """Return the connection, a new one where it has ended."""
        if self._connected is None or self._connected.ended.is_set():
            self.close()
            self._done = trio.Event()
            self._connected = await self._nursery.start(self._keep, self._done)
        return self._connected

    def close(self) -> None:
        """Close the connection."""
        self._connected = None
        self._done.set()

    async def _keep(
        self, done: trio.Event, task_status: trio.TaskStatus[Connected] = trio.TASK_STATUS_IGNORED
    ) -> None:
        async with self._server.connect() as connected:
            task_status.started(connected)
            await done.wait()


class InProcess:
    """Plays scripts against a harness; made by `playing`.

    Args:
        server: the harness.
        nursery: where connections and watches are kept.
    """

    def __init__(self, server: Harness, nursery: trio.Nursery) -> None:
        self._server = server
        self._nursery = nursery
        self._link = _Link(server, nursery)

    async def request(self, request: Prepared) -> Reply:
        """See `Player`."""
        answer: Answer | None = None
        error = f"no answer within {LIMIT_S:g} seconds"
        with trio.move_on_after(LIMIT_S):
            try:
                connected = await self._link.connected()
                await connected.send(_encoded(request))
                answer = await connected.receive(request.method)
            except BadAnswer as problem:
                error = f"no answer: {problem}"
            except OSError:
                error = "no answer: the connection was closed"
        if answer is None:
            self._link.close()
            return Reply(error=error)
        if answer.head.get(b"connection") == b"close":
            self._link.close()
        return Reply(status=answer.status, headers=_headers(answer.head), body=answer.body)

    async def watch(self, request: Prepared) -> _Watching:
        """See `Player`."""
        watching = _Watching()
        await self._nursery.start(self._follow, request, watching)
        return watching

    async def _follow(
        self,
        request: Prepared,
        watching: _Watching,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        async with self._server.connect() as connected:
            try:
                await connected.send(_encoded(request))
                watching.head = head = await connected.head()
                if head.get(b"transfer-encoding") == b"chunked":
                    task_status.started()
                    async for chunk in connected.chunks():
                        watching.data += chunk
                else:
                    watching.data += await connected.body(head)
                    task_status.started()
            except (BadAnswer, OSError):
                watching.error = "the connection was closed"
                if watching.head is None:
                    task_status.started()

    async def move(self, seconds: float) -> str:
        """See `Player`."""
        await self._server.clock.move(seconds=seconds)
        await trio.testing.wait_all_tasks_blocked()
        return ""

    async def inject(self, rule: Rule | None) -> str:
        """See `Player`."""
        if rule is None:
            self._server.faults.clear()
            return ""
        try:
            self._server.faults.add(rule)
        except ValueError as error:
            return str(error)
        return ""

    async def settle(self) -> str:
        """See `Player`."""
        await self._server.settled()
        await trio.testing.wait_all_tasks_blocked()
        return ""

    async def restart(self) -> str:
        """See `Player`."""
        self._link.close()
        await self._server.restart()
        return ""


def _encoded(request: Prepared) -> bytes:
    return encode_request(request.method, request.target, request.headers, request.body)


@asynccontextmanager
async def playing(server: Harness) -> AsyncIterator[InProcess]:
    """Play scripts against a harness for as long as a block lasts; then all connections end.

    Args:
        server: the harness.
    """
    async with trio.open_nursery() as nursery:
        yield InProcess(server, nursery)
        nursery.cancel_scope.cancel()
