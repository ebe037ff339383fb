"""A real browser and the way to it: Chromium by its debugging protocol, and what stands between.

The page needs credentials and a trusted certificate, so between browser and server there is a
proxy that adds a token and speaks TLS, as ``kubectl proxy`` does.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import open_websocket_url

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0",
)  # fmt: skip
POLL_S = 0.05
LARGEST_MESSAGE = 64 * 2**20  # a screenshot


class Tab:
    """One page of a browser."""

    def __init__(self, call: Callable[..., Any], session: str) -> None:
        self._call = call
        self._session = session

    async def call(self, method: str, **params: Any) -> Any:
        """A command of the debugging protocol and its result."""
        return await self._call(method, self._session, **params)

    async def value(self, expression: str) -> Any:
        """What an expression of JavaScript is worth, promises awaited.

        Raises:
            AssertionError: it threw.
        """
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait for an expression to be true; the caller sets the deadline."""
        while not (found := await self.value(expression)):  # noqa: ASYNC110  (it cannot tell us)
            await trio.sleep(POLL_S)
        return found

    async def press(self, key: str, code: int) -> None:
        """Press a key and let it go."""
        for kind in ("rawKeyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
            )

    async def size(self, width: int, height: int) -> None:
        """Give the page a size in CSS pixels."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def prefer(self, **features: str) -> None:
        """Set media features such as ``prefers_color_scheme``."""
        chosen = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        await self.call("Emulation.setEmulatedMedia", features=chosen)

    async def picture(self) -> bytes:
        """The whole page as PNG."""
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])


def _launch(profile: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )


@asynccontextmanager
async def open_tab(profile: Path, url: str) -> AsyncIterator[Tab]:
    """A page in a browser of its own.

    Args:
        profile: an empty directory for it.
        url: what to open.
    """
    process = _launch(profile)
    try:
        known = profile / "DevToolsActivePort"
        while not known.exists() or len(known.read_text().split()) < 2:
            assert process.poll() is None, "the browser ended"
            await trio.sleep(POLL_S)
        port, path = known.read_text().split()
        at = f"ws://127.0.0.1:{port}{path}"
        async with open_websocket_url(at, max_message_size=LARGEST_MESSAGE) as socket:
            count = 0

            async def call(method: str, session: str = "", **params: Any) -> Any:
                nonlocal count
                count += 1
                message = {"id": count, "method": method, "params": params}
                if session:
                    message["sessionId"] = session
                await socket.send_message(json.dumps(message))
                while True:
                    answer = json.loads(await socket.get_message())
                    if answer.get("id") == count:
                        assert "error" not in answer, answer
                        return answer["result"]

            target = await call("Target.createTarget", url=url)
            found = await call("Target.attachToTarget", flatten=True, **target)
            yield Tab(call, found["sessionId"])
    finally:
        process.kill()
        process.wait()


class Proxy:
    """Passes connections on to a server, with a token.

    Args:
        port: where the server listens; may be changed.
        context: trusts it.
        token: is added to each request.

    Attributes:
        paths: what was asked for.
    """

    def __init__(self, port: int, context: ssl.SSLContext, token: str) -> None:
        self.port = port
        self.context = context
        self.paths: list[str] = []
        self._token = token.encode()

    async def serve(self, *, task_status: trio.TaskStatus[int]) -> None:
        """Serve until cancelled; starts with the port."""
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, self._pass_on, 0)
            task_status.started(listeners[0].socket.getsockname()[1])

    async def _pass_on(self, browser: trio.SocketStream) -> None:
        """One connection; each carries one request, or becomes a WebSocket."""
        async with browser:
            head = b""
            while b"\r\n\r\n" not in head:
                data = await browser.receive_some()
                if not data:
                    return
                head += data
            line, _, rest = head.partition(b"\r\n")
            self.paths.append(line.split()[1].decode())
            extra = b"Authorization: Bearer " + self._token + b"\r\n"
            if b"upgrade: websocket" not in head.lower():
                rest = rest.replace(b"Connection: keep-alive\r\n", b"")
                extra += b"Connection: close\r\n"
            try:
                plain = await trio.open_tcp_stream("127.0.0.1", self.port)
            except OSError:
                return  # the server is not there
            stream = trio.SSLStream(
                plain, self.context, server_hostname="127.0.0.1", https_compatible=True
            )
            try:
                await stream.send_all(line + b"\r\n" + extra + rest)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_copy, stream, browser, nursery.cancel_scope)
                    nursery.start_soon(_copy, browser, stream, nursery.cancel_scope)
            except trio.BrokenResourceError:
                pass  # the server has gone
            finally:
                await trio.aclose_forcefully(stream)


async def _copy(source: Any, sink: Any, scope: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some():
            await sink.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # either side has gone
    scope.cancel()
