"""Hypercorn's server of one connection, with what it does not do itself.

Imports Hypercorn, so it is imported with it, when the first connection needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h2.exceptions
import h11
import hyperframe.exceptions
import trio
from hypercorn.events import Closed, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.trio.tcp_server import TCPServer

from kubetrio.http.h2buffers import Backlog
from kubetrio.http.h2streams import BoundedProtocol, Budget


@dataclass(slots=True)
class Bounds:
    """What an HTTP/2 connection has to keep to.

    Args:
        backlog: what waits for clients, of all connections.
        budget: what requests hold, of all connections.
        whose: name of the connection's user, or empty.
        brief: whether a stranger's connection ends behind one request.
        protocol: the connection, once it has begun.
    """

    backlog: Backlog
    budget: Budget
    whose: Callable[[], str]
    brief: bool = False
    protocol: BoundedProtocol | None = None


MALFORMED = (
    h11.ProtocolError,
    h2.exceptions.H2Error,
    hyperframe.exceptions.HyperframeError,
    RecursionError,
    ValueError,
)
"""What Hypercorn 0.18 lets through of what a client may send: the connection ends, and no more.

Among them a WebSocket handshake that is refused although the client has broken its own half, and
the settings of an upgrade to HTTP/2 that are not base64, or no settings.
"""


class Wrapper(ProtocolWrapper):
    """Hypercorn's choice between HTTP/1.1 and HTTP/2; the latter gets its bounds."""

    def __setattr__(self, name: str, value: Any) -> None:
        # By ALPN, or because a client speaks HTTP/2 although it said HTTP/1.1.
        if name == "protocol" and isinstance(value, H2Protocol):
            bounds: Bounds = vars(self)["bounds"]
            value.__class__ = BoundedProtocol
            bounds.protocol = value  # type: ignore[assignment]
            value.bound(  # type: ignore[attr-defined]
                bounds.backlog, bounds.budget, bounds.whose, brief=bounds.brief
            )
        super().__setattr__(name, value)


class HypercornConnection(TCPServer):
    """One connection.

    Args:
        bounds: of HTTP/2.
        arguments: Hypercorn's.
    """

    def __init__(self, bounds: Bounds, *arguments: Any) -> None:
        self.bounds = bounds
        self.gone = False
        super().__init__(*arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "protocol":
            value.__class__ = Wrapper
            vars(value)["bounds"] = self.bounds
            value.protocol = value.protocol
        super().__setattr__(name, value)

    async def protocol_send(self, event: Any) -> None:
        """Send, or note, what a protocol says."""
        # Cancelled with its request, it would lose frames that are taken and not sent,
        # or the timer of an idle connection; the stream's own deadline bounds it.
        if self.gone and isinstance(event, Updated):
            return  # a stream that ends behind its client would start the idle timer again
        with trio.CancelScope(shield=not isinstance(event, Closed)):
            await super().protocol_send(event)

    async def _read_data(self) -> None:
        try:
            await super()._read_data()
        except MALFORMED:
            await self.protocol.handle(Closed())
        # The client is gone: an idle timer would sleep on for `keep_alive_timeout`.
        self.gone = True
        await self.idle_task.stop()

    async def _idle_timeout(self) -> None:
        """End the connection when nothing was asked for long: soon, if the client took nothing."""
        backlog, protocol = self.bounds.backlog, self.bounds.protocol
        limit = self.config.keep_alive_timeout
        if protocol in backlog.stuck:
            limit = min(limit, backlog.limit_s)
        with trio.move_on_after(limit):
            await self.context.terminated.wait()
        with trio.CancelScope(shield=True):
            await self._initiate_server_close()

    def end(self) -> None:
        """The connection is over; without the cycles, all that it had goes at once."""
        if self.bounds.protocol is not None:
            self.bounds.protocol.end()
        wrapper = vars(self).get("protocol")
        if wrapper is not None:
            vars(wrapper).clear()
        vars(self).clear()
