"""The page of flow control: over a real WebSocket, and in a real browser where there is one."""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio_websocket import open_websocket_url

from kubetrio.testing.process import ServerProcess

pytestmark = pytest.mark.e2e

Start = Callable[..., ServerProcess]
PAGE = "/debug/api_priority_and_fairness/"
CHROMIUM = Path("/usr/bin/chromium")
LEVELS = 8


@pytest.fixture
def server(start_server: Start, tmp_path: Path) -> ServerProcess:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('root,root,1,"system:masters"\n')
    return start_server(tmp_path / "data", "--token-auth-file", str(tokens))


def tls(server: ServerProcess) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(server.data_dir / "pki" / "ca.crt"))
    context.set_alpn_protocols(["http/1.1"])
    return context


async def test_updates_come_over_websocket(server: ServerProcess) -> None:
    """Each message is the whole state, and a second one follows the first."""
    url = f"wss://127.0.0.1:{server.port}{PAGE}ws"
    headers = [("Authorization", "Bearer root")]
    with trio.fail_after(10):
        async with open_websocket_url(url, tls(server), extra_headers=headers) as socket:
            first, second = [json.loads(await socket.get_message()) for _ in range(2)]
    assert len(first["levels"]) == LEVELS
    assert second["time"] > first["time"]


async def forward(server: ServerProcess, browser: trio.SocketStream) -> None:
    """One connection of a browser, with credentials added, as ``kubectl proxy`` does."""
    async with browser:
        head = b""
        while b"\r\n\r\n" not in head:
            data = await browser.receive_some()
            if not data:
                return
            head += data
        line, _, rest = head.partition(b"\r\n")
        extra = b"Authorization: Bearer root\r\n"
        if b"upgrade: websocket" not in head.lower():
            rest = rest.replace(b"Connection: keep-alive\r\n", b"")
            extra += b"Connection: close\r\n"
        stream = await trio.open_ssl_over_tcp_stream(
            "127.0.0.1", server.port, ssl_context=tls(server), https_compatible=True
        )
        await stream.send_all(line + b"\r\n" + extra + rest)

        async def copy(source: Any, sink: Any, scope: trio.CancelScope) -> None:
            try:
                while data := await source.receive_some():
                    await sink.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # either side has gone
            scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(copy, stream, browser, nursery.cancel_scope)
            nursery.start_soon(copy, browser, stream, nursery.cancel_scope)
        await trio.aclose_forcefully(stream)


@contextmanager
def chromium(profile: Path) -> Iterator[subprocess.Popen[bytes]]:
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [CHROMIUM, *flags, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Browser:
    """A page of a browser, by its debugging protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._count = 0
        self._session: dict[str, str] = {}

    async def call(self, method: str, **params: Any) -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params, **self._session}
        await self._socket.send_message(json.dumps(message))
        while True:
            answer = json.loads(await self._socket.get_message())
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    async def open(self, url: str) -> None:
        target = await self.call("Target.createTarget", url=url)
        found = await self.call("Target.attachToTarget", flatten=True, **target)
        self._session = {"sessionId": found["sessionId"]}

    async def value(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
async def test_in_chromium(server: ServerProcess, tmp_path: Path) -> None:
    """The page draws every level, is live, and goes on updating."""
    profile = tmp_path / "profile"
    with chromium(profile), trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            proxies = await nursery.start(
                trio.serve_tcp, lambda browser: forward(server, browser), 0
            )
            port = proxies[0].socket.getsockname()[1]
            known = profile / "DevToolsActivePort"
            while not known.exists() or len(known.read_text().split()) < 2:  # noqa: ASYNC110
                await trio.sleep(0.1)
            devtools, path = known.read_text().split()
            async with open_websocket_url(f"ws://127.0.0.1:{devtools}{path}") as socket:
                browser = Browser(socket)
                await browser.open(f"http://127.0.0.1:{port}{PAGE}")
                updates = "Number(document.body?.dataset.updates || 0)"
                while (await browser.value(updates) or 0) < 3:  # noqa: ASYNC110
                    await trio.sleep(0.1)
                assert await browser.value("document.querySelector('#link').className") == "live"
                names = "[...document.querySelectorAll('.level')].map(e => e.dataset.level).join()"
                assert len((await browser.value(names)).split(",")) == LEVELS
                shot = await browser.call("Page.captureScreenshot")
                assert len(base64.b64decode(shot["data"])) > 5_000
            nursery.cancel_scope.cancel()
