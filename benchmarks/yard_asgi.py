"""Yardstick (a): a bare ASGI app on Hypercorn's Trio worker that answers 1 KB of JSON over TLS.

What a server made of these libraries costs before it does anything.
`python -m benchmarks.yard_asgi CERT KEY` prints its port and runs until it is ended.
"""

from __future__ import annotations

import socket
import sys
from functools import partial

import hypercorn.config
import hypercorn.trio
import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

ANSWER = b'{"text":"' + b"x" * (1024 - 11) + b'"}'


async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer any HTTP request with `ANSWER`."""
    if scope["type"] == "lifespan":
        while True:
            if (await receive())["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await send({"type": "lifespan.shutdown.complete"})
                return
    if scope["type"] != "http":
        return
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(ANSWER)),
            ],
        }
    )
    await send({"type": "http.response.body", "body": ANSWER, "more_body": False})


async def wait_for_parent() -> None:
    """Return when stdin ends: the parent is gone or done."""
    await trio.lowlevel.wait_readable(sys.stdin)


def main() -> None:
    """Serve until stdin ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile, config.keyfile = sys.argv[1:3]
    config.keep_alive_max_requests = sys.maxsize
    config.loglevel = "ERROR"
    print(f"port {listener.getsockname()[1]}", flush=True)
    trio.run(partial(hypercorn.trio.serve, app, config, shutdown_trigger=wait_for_parent))


if __name__ == "__main__":
    main()
