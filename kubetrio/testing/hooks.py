"""A webhook to be called: HTTP/1.1 over TLS, connections that stay open, as bad as a test likes."""

from __future__ import annotations

import contextlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from kubetrio.testing.backend import FakeBackend, ReceivedRequest, tls_of
from kubetrio.tls.pki import Pki

Object = dict[str, Any]


@dataclass(slots=True)
class Called:
    """One call of a webhook.

    Args:
        asked: the request, and the way to answer it.
        review: its body, decoded.
    """

    asked: ReceivedRequest
    review: Object

    @property
    def request(self) -> Object:
        """What is to be admitted."""
        asked: Object = self.review["request"]
        return asked

    async def reply(self, response: Object | None = None, **members: Any) -> None:
        """Answer with a review.

        Args:
            response: its response; the uid is added.
            **members: other members of the review.
        """
        review = {name: self.review[name] for name in ("kind", "apiVersion")}
        review["response"] = {"uid": self.request["uid"], "allowed": True, **(response or {})}
        await self.send(json.dumps({**review, **members}).encode())

    async def send(
        self, body: bytes, status: int = 200, content_type: str = "application/json", **headers: str
    ) -> None:
        """Answer with any body; underscores in names of headers are dashes."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.asked.reply(status, body, {"Content-Type": content_type, **more})

    async def patch(self, *operations: Object, **members: Any) -> None:
        """Allow with a JSON patch."""
        patch = b64encode(json.dumps(operations).encode()).decode()
        await self.reply({"patchType": "JSONPatch", "patch": patch, **members})


Hook = Callable[[Called], Awaitable[None]]


async def allow(called: Called) -> None:
    """Allow whatever comes."""
    await called.reply()


@dataclass(slots=True)
class HookServer:
    """A listening webhook; made by `open_hook`.

    Args:
        port: where it listens.
        ca: authority of its certificate, PEM.
        hooks: what answers a path; may be changed at any time.
        calls: every call so far.
        connections: connections made so far.
    """

    port: int
    ca: bytes
    hooks: dict[str, Hook]
    calls: list[Called] = field(default_factory=list)
    connections: int = 0

    def client(self, path: str = "/allow", host: str = "127.0.0.1") -> Object:
        """A ``clientConfig`` that leads here."""
        url = f"https://{host}:{self.port}{path}"
        return {"url": url, "caBundle": b64encode(self.ca).decode()}

    async def serve(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        """Answer requests of a connection until it ends."""
        self.connections += 1
        try:
            await stream.do_handshake()
            subject = (stream.getpeercert() or {}).get("subject", ())
            names = dict(pair for part in subject for pair in part)
            while (
                asked := await FakeBackend.read(stream, names.get("commonName", ""))
            ) is not None:
                body = await asked.body()
                called = Called(asked, json.loads(body) if body else {})
                self.calls.append(called)
                if not called.review:
                    await called.send(b"not a review\n", 400, "text/plain")
                    continue
                await self.hooks.get(asked.path, allow)(called)
        except (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            pass  # the server left
        finally:
            with trio.move_on_after(1) as cleanup:
                cleanup.shield = True
                with contextlib.suppress(trio.BrokenResourceError):
                    await stream.aclose()


@asynccontextmanager
async def open_hook(
    made: Pki, hooks: dict[str, Hook] | None = None, *, ask: bool = False, port: int = 0
) -> AsyncIterator[HookServer]:
    """Run a webhook for as long as the block lasts.

    Args:
        made: its certificate and authority.
        hooks: what answers a path; others are answered with `allow`.
        ask: whether clients must show a certificate.
        port: where to listen; 0 for any.
    """
    tls = tls_of(made, ask=ask)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
        number = listeners[0].socket.getsockname()[1]
        server = HookServer(number, made.ca.cert.read_bytes(), dict(hooks or {}))

        async def serve(plain: trio.SocketStream) -> None:
            await server.serve(trio.SSLStream(plain, tls, server_side=True, https_compatible=True))

        nursery.start_soon(trio.serve_listeners, serve, listeners)
        yield server
        nursery.cancel_scope.cancel()
