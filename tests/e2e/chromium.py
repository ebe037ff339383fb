"""A real browser and the way to it: Chromium by its debugging protocol, and what stands between.

The page needs credentials and a trusted certificate, so between browser and server there is a
proxy that adds a token and speaks TLS, as ``kubectl proxy`` does.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
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
Answer = Callable[[trio.SocketStream], Awaitable[None]]
LARGEST_MESSAGE = 64 * 2**20  # a screenshot


class NoDocumentError(Exception):
    """The page is between two documents, neither of which can run a script."""


class Tab:
    """One page of a browser.

    Attributes:
        complaints: errors that the console has had, and requests that failed, since `listen`.
    """

    def __init__(self, call: Callable[..., Any], session: str, complaints: list[str]) -> None:
        self._call = call
        self._session = session
        self.complaints = complaints

    async def listen(self) -> None:
        """Note what goes wrong from now on."""
        for domain in ("Log", "Runtime", "Page"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **params: Any) -> Any:
        """A command of the debugging protocol and its result."""
        return await self._call(method, self._session, **params)

    async def value(self, expression: str) -> Any:
        """What an expression of JavaScript is worth, promises awaited.

        Raises:
            AssertionError: it threw.
            NoDocumentError: the page is on its way to another address.
        """
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait for an expression to be true; the caller sets the deadline."""
        while True:
            with contextlib.suppress(NoDocumentError):
                if found := await self.value(f"document.body && ({expression})"):
                    return found
            await trio.sleep(POLL_S)

    async def press(self, key: str, code: int) -> None:
        """Press a key and let it go."""
        text = {"Enter": "\r"}.get(key, "")  # by which a button is pressed
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                text=text if kind == "keyDown" else "",
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

    async def go(self, url: str) -> None:
        """Open another page."""
        await self.call("Page.navigate", url=url)

    async def click(self, label: str) -> None:
        """Press the button with a label, as a script does, when it is there and may be pressed."""
        found = f"[...document.querySelectorAll('button')].find(b => b.textContent === {label!r})"
        await self.until(f"(() => {{ const b = {found}; return b && !b.disabled }})()")
        await self.value(f"{found}.click()")


def complaint_of(message: dict[str, Any]) -> str:
    """What a message of the browser says that went wrong, or nothing."""
    params = message.get("params") or {}
    match message.get("method"):
        case "Log.entryAdded" if params["entry"]["level"] == "error":
            return f"{params['entry']['text']} {params['entry'].get('url', '')}"
        case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
            return json.dumps(params["args"])
        case "Runtime.exceptionThrown":
            return json.dumps(params["exceptionDetails"])
    return ""


def _launch(profile: Path, flags: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [CHROMIUM, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )


@asynccontextmanager
async def open_tab(profile: Path, url: str, *flags: str) -> AsyncIterator[Tab]:
    """A page in a browser of its own.

    Args:
        profile: an empty directory for it.
        url: what to open.
        flags: of the browser, beside the usual ones.
    """
    process = _launch(profile, flags)
    complaints: list[str] = []
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
                    if complaint := complaint_of(answer):
                        complaints.append(complaint)
                    if answer.get("id") == count:
                        if "execution context" in (answer.get("error") or {}).get("message", ""):
                            raise NoDocumentError
                        assert "error" not in answer, answer
                        return answer["result"]

            target = await call("Target.createTarget", url=url)
            found = await call("Target.attachToTarget", flatten=True, **target)
            yield Tab(call, found["sessionId"], complaints)
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
        instead: returns what answers a request for a path in the server's place, or None.
    """

    def __init__(self, port: int, context: ssl.SSLContext, token: str) -> None:
        self.port = port
        self.context = context
        self.paths: list[str] = []
        self.instead: Callable[[str], Answer | None] = lambda _path: None
        self._open: set[trio.CancelScope] = set()
        self._token = token.encode()

    async def serve(self, *, task_status: trio.TaskStatus[int]) -> None:
        """Serve until cancelled; starts with the port."""
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, self._pass_on, 0)
            task_status.started(listeners[0].socket.getsockname()[1])

    def cut(self) -> None:
        """Break all connections off."""
        for scope in self._open:
            scope.cancel()

    async def _pass_on(self, browser: trio.SocketStream) -> None:
        """Carry a connection, which is one request."""
        with trio.CancelScope() as scope:
            self._open.add(scope)
            try:
                await self._carry(browser)
            finally:
                self._open.discard(scope)

    async def _carry(self, browser: trio.SocketStream) -> None:
        async with browser:
            head = b""
            while b"\r\n\r\n" not in head:
                data = await browser.receive_some()
                if not data:
                    return
                head += data
            line, _, rest = head.partition(b"\r\n")
            path = line.split()[1].decode()
            self.paths.append(path)
            answer = self.instead(path)
            if answer is not None:
                await answer(browser)
                return
            rest = rest.replace(b"Connection: keep-alive\r\n", b"")
            extra = b"Authorization: Bearer " + self._token + b"\r\nConnection: close\r\n"
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
