"""A webhook over TLS that answers SubjectAccessReviews, for tests."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h11
import trio

from kubetrio.tls import pki

Object = dict[str, Any]
Said = tuple[int, bytes]
Answer = Callable[[Object], Awaitable[Said]]


def review(version: str = "v1", **status: Any) -> Said:
    """A review as a webhook answers it."""
    of = f"authorization.k8s.io/{version}"
    return 200, json.dumps(
        {"apiVersion": of, "kind": "SubjectAccessReview", "status": status}
    ).encode()


@asynccontextmanager
async def webhook(made: pki.Pki, answer: Answer) -> AsyncIterator[str]:
    """The URL of a server that answers reviews with what a function says."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.serving.cert, made.serving.key)
    context.set_alpn_protocols(["http/1.1"])

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        connection = h11.Connection(h11.SERVER)
        body = b""
        try:
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(bytes(await stream.receive_some(65536)))
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    status, text = await answer(json.loads(body))
                    headers = [
                        ("Content-Length", str(len(text))), ("Content-Type", "application/json"),
                    ]  # fmt: skip
                    head = h11.Response(status_code=status, headers=headers)
                    for part in (head, h11.Data(data=text), h11.EndOfMessage()):
                        await stream.send_all(connection.send(part) or b"")
                    connection.start_next_cycle()
                    body = b""
                elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                    return
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            return

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, serve, 0, context, host="127.0.0.1")
        )
        port = listeners[0].transport_listener.socket.getsockname()[1]
        yield f"https://127.0.0.1:{port}/authorize"
        nursery.cancel_scope.cancel()


def kubeconfig(path: Path, url: str, made: pki.Pki) -> Path:
    """A file that says where a webhook is."""
    path.write_text(
        json.dumps(
            {
                "clusters": [
                    {
                        "name": "a",
                        "cluster": {"server": url, "certificate-authority": str(made.ca.cert)},
                    }
                ],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "a", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    return path
