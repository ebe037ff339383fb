"""Scripts played against a server that runs elsewhere, as a kubeconfig names it.

Its clock cannot be moved, and it cannot be started again; its rules of faults are changed where it
runs with ``--fault-injection``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import trio

from kubetrio.env import Env
from kubetrio.faults import Rule
from kubetrio.harness.player import Prepared, streamed
from kubetrio.harness.reply import Reply
from kubetrio.outgoing.client import CallError, Outgoing
from kubetrio.outgoing.target import Target, from_kubeconfig

if TYPE_CHECKING:
    import httpx2

LIMIT_S = 60.0
MOST_BYTES = 64 << 20
SETTLE_S = 1.0
"""Seconds for the controllers of a live server, which does not say when they are at rest."""
FAULTS = "/debug/faults"


@dataclass(slots=True)
class _Watching:
    """A watch at a live server.

    Attributes:
        head: its answer without the stream.
        data: bytes of the stream.
    """

    head: Reply = field(default_factory=Reply)
    data: bytearray = field(default_factory=bytearray)

    def reply(self) -> Reply:
        """See `Stream`."""
        return streamed(self.head, bytes(self.data))


class Live:
    """Plays scripts against a live server; made by `live`.

    Args:
        outgoing: calls it.
        target: where it is, and the client's credentials.
        nursery: where watches are kept.
    """

    def __init__(self, outgoing: Outgoing, target: Target, nursery: trio.Nursery) -> None:
        self._outgoing = outgoing
        self._target = target
        self._nursery = nursery

    async def request(self, request: Prepared) -> Reply:
        """See `Player`."""
        try:
            answer = await self._outgoing.call(
                self._target,
                method=request.method,
                url=self._url(request.target),
                body=request.body or b"",
                headers=request.headers,
                timeout_s=LIMIT_S,
                most_bytes=MOST_BYTES,
            )
        except CallError as error:
            return Reply(error=f"no answer: {error}")
        return Reply(status=answer.status, headers=answer.headers, body=answer.body)

    async def watch(self, request: Prepared) -> _Watching:
        """See `Player`."""
        watching = _Watching()
        try:
            with trio.fail_after(LIMIT_S):
                response = await self._outgoing.open(
                    self._target,
                    method=request.method,
                    url=self._url(request.target),
                    body=b"",
                    headers=request.headers,
                )
        except (CallError, trio.TooSlowError) as error:
            watching.head = Reply(error=f"no answer: {error}")
            return watching
        watching.head = Reply(status=response.status_code, headers=dict(response.headers))
        self._nursery.start_soon(self._follow, response, watching, name="watch")
        return watching

    @staticmethod
    async def _follow(response: httpx2.Response, watching: _Watching) -> None:
        import httpx2

        try:
            async for part in response.aiter_raw():
                watching.data += part
        except (httpx2.HTTPError, OSError) as error:
            watching.head = replace(watching.head, error=str(error))
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1.0):
                await response.aclose()

    async def move(self, seconds: float) -> str:
        """See `Player`."""
        return f"not done: the clock of a live server is not moved by {seconds:g} seconds"

    async def inject(self, rule: Rule | None) -> str:
        """See `Player`."""
        method, body = ("DELETE", None) if rule is None else ("POST", orjson.dumps(rule.as_dict()))
        headers = [("Content-Type", "application/json")]
        reply = await self.request(Prepared(method, FAULTS, headers, body))
        if reply.error or reply.status >= 300:
            return f"not done: {reply.error or f'{FAULTS} answers {reply.status}'}"
        return ""

    async def settle(self) -> str:
        """See `Player`."""
        await trio.sleep(SETTLE_S)
        return ""

    async def restart(self) -> str:
        """See `Player`."""
        return "not done: a live server is not started again"

    def _url(self, target: str) -> str:
        return self._target.url.rstrip("/") + target


@asynccontextmanager
async def live(kubeconfig: Path) -> AsyncIterator[Live]:
    """Play scripts against the server of a kubeconfig for as long as a block lasts.

    Args:
        kubeconfig: the file; its current context counts.

    Raises:
        TargetError: it names no server.
    """
    outgoing = Outgoing(Env())
    try:
        async with trio.open_nursery() as nursery:
            yield Live(outgoing, from_kubeconfig(kubeconfig), nursery)
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 1.0):
            await outgoing.close()
