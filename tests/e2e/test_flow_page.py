"""The page of flow control: over a real WebSocket, and in a real browser where there is one."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from chromium import CHROMIUM, Proxy, Tab, open_tab
from trio_websocket import open_websocket_url

from kubetrio.auth import authorize
from kubetrio.config import Authentication, Config, FlowControl, Serving
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.server import open_server
from kubetrio.testing.process import ServerProcess

pytestmark = pytest.mark.e2e
needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")

Start = Callable[..., ServerProcess]
PAGE = "/debug/api_priority_and_fairness/"
LEVELS = 8
READERS = 9
UPDATES = "Number(document.body.dataset.updates || 0)"
LINK = "document.getElementById('link').className"
TOKENS = 'root,root,1,"system:masters"\nreader,reader,2\n'


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    made = tmp_path / "tokens.csv"
    made.write_text(TOKENS)
    return made


@pytest.fixture
def server(start_server: Start, tmp_path: Path, tokens: Path) -> ServerProcess:
    return start_server(tmp_path / "data", "--token-auth-file", str(tokens))


def tls(data_dir: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(data_dir / "pki" / "ca.crt"))
    context.set_alpn_protocols(["http/1.1"])
    return context


async def test_updates_come_over_websocket(server: ServerProcess) -> None:
    """Each message is the whole state, and a second one follows the first."""
    url = f"wss://127.0.0.1:{server.port}{PAGE}ws"
    headers = [("Authorization", "Bearer root")]
    with trio.fail_after(10):
        async with open_websocket_url(url, tls(server.data_dir), extra_headers=headers) as channel:
            first, second = [json.loads(await channel.get_message()) for _ in range(2)]
    assert len(first["levels"]) == LEVELS
    assert second["time"] > first["time"]


@asynccontextmanager
async def looking(data_dir: Path, port: int, profile: Path) -> AsyncIterator[tuple[Tab, Proxy]]:
    """The page in a browser, once it is live."""
    proxy = Proxy(port, tls(data_dir), "root")
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            at = await nursery.start(proxy.serve)
            async with open_tab(profile, f"http://127.0.0.1:{at}{PAGE}") as tab:
                await tab.until(f"document.body && {UPDATES} > 2")
                yield tab, proxy
            nursery.cancel_scope.cancel()


@needs_chromium
async def test_page_draws_every_level(server: ServerProcess, tmp_path: Path) -> None:
    """It is live, goes on updating, and asks nobody but its server for two things."""
    async with looking(server.data_dir, server.port, tmp_path / "profile") as (tab, proxy):
        assert await tab.value(LINK) == "live"
        names = "[...document.querySelectorAll('.level')].map(e => e.dataset.level)"
        found = await tab.value(names)
        assert len(found) == LEVELS
        assert found == sorted(found)
        seen = await tab.value(UPDATES)
        await tab.until(f"{UPDATES} > {seen}")
        requested = await tab.value("performance.getEntriesByType('resource').map(e => e.name)")
        assert requested == []
        assert set(proxy.paths) - {"/favicon.ico"} == {PAGE, f"{PAGE}ws"}


@needs_chromium
async def test_what_has_no_limit_has_no_full_bar(server: ServerProcess, tmp_path: Path) -> None:
    """The bar of ``exempt`` is what it uses; others show their own seats."""
    async with looking(server.data_dir, server.port, tmp_path / "profile") as (tab, _):
        width = "document.querySelector('[data-level=\"{}\"] .limit').offsetWidth"
        assert await tab.value(width.format("exempt")) == 0
        assert await tab.value(width.format("global-default")) > 0
        assert "system:masters" in await tab.value("document.getElementById('note').innerText")


@needs_chromium
async def test_page_fits_and_follows_the_scheme(server: ServerProcess, tmp_path: Path) -> None:
    """Nothing sticks out at any width, and dark is dark."""
    async with looking(server.data_dir, server.port, tmp_path / "profile") as (tab, _):
        await tab.value("document.querySelectorAll('h2 button').forEach(b => b.click())")
        for width in (320, 700, 1100, 1600):
            await tab.size(width, 800)
            await tab.until(f"innerWidth === {width}")
            over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await tab.value(over) <= 0, width
        brightness = (
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
            ".reduce((a, n) => a + Number(n), 0)"
        )
        await tab.prefer(prefers_color_scheme="light")
        assert await tab.value(brightness) > 600
        await tab.prefer(prefers_color_scheme="dark")
        assert await tab.value(brightness) < 150


@needs_chromium
async def test_page_by_keyboard(server: ServerProcess, tmp_path: Path) -> None:
    """Levels open and close by keyboard, and say so; the numbers can be held still."""
    async with looking(server.data_dir, server.port, tmp_path / "profile") as (tab, _):
        await tab.press("Tab", 9)
        await tab.press("Tab", 9)
        focused = "document.activeElement"
        assert await tab.value(f"{focused}.textContent") == "catch-all"
        details = f"document.getElementById({focused}.getAttribute('aria-controls'))"
        assert await tab.value(f"{focused}.getAttribute('aria-expanded')") == "false"
        await tab.press(" ", 32)
        await tab.until(f"{focused}.getAttribute('aria-expanded') === 'true'")
        assert await tab.value(f"{details}.hidden") is False
        label = "document.querySelector('.level').getAttribute('aria-labelledby')"
        assert await tab.value(f"document.getElementById({label}).textContent") == "catch-all"
        await tab.press("p", 80)
        await tab.until(f"{LINK} === 'paused'")
        held = await tab.value(f"new Promise(r => setTimeout(() => r({UPDATES}), 1200))")
        assert await tab.value(UPDATES) == held
        await tab.press("p", 80)
        await tab.until(f"{LINK} === 'live' && {UPDATES} > {held}")


@needs_chromium
async def test_page_finds_the_server_again(
    start_server: Start, server: ServerProcess, tmp_path: Path, tokens: Path
) -> None:
    """While the server is away the page says so; when it is back the page goes on by itself."""
    async with looking(server.data_dir, server.port, tmp_path / "profile") as (tab, proxy):
        trouble = "document.getElementById('trouble').textContent"
        await tab.value(
            "window.problems = []; addEventListener('error', e => problems.push(e.message)); 0"
        )
        server.kill()
        await tab.until(f"{LINK} === '' && document.body.classList.contains('stale')")
        assert "does not answer" in await tab.value(trouble)
        seen = await tab.value(UPDATES)
        proxy.port = start_server(server.data_dir, "--token-auth-file", str(tokens)).port
        await tab.until(f"{LINK} === 'live' && {UPDATES} > {seen} + 2")
        assert await tab.value(trouble) == ""
        assert await tab.value("document.body.classList.contains('stale')") is False
        assert await tab.value("problems") == []


class Everybody:
    """Everybody may do everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        del attributes
        return authorize.ALLOWED


async def slow_list(port: int, context: ssl.SSLContext, path: str) -> None:
    """Ask for a large list and do not read the answer."""
    raw = trio.socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await raw.connect(("127.0.0.1", port))
    stream = trio.SSLStream(
        trio.SocketStream(raw), context, server_hostname="127.0.0.1", https_compatible=True
    )
    try:
        await stream.send_all(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n".encode()
        )
        await trio.sleep_forever()
    finally:
        await trio.aclose_forcefully(stream)


@needs_chromium
async def test_page_shows_who_waits(tmp_path: Path, tokens: Path) -> None:
    """Requests that wait for seats: how many, for how long, whose; the level opens by itself."""
    config = Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=0),
        auth=Authentication(token_auth_file=tokens),
        flowcontrol=FlowControl(max_requests_inflight=20, max_mutating_requests_inflight=4),
    )
    path = "/api/v1/namespaces/default/configmaps"
    async with open_server(config) as server:
        server.api.security.authorizer.authorizers = (Everybody(),)
        port = int(server.url.rpartition(":")[2])
        context = tls(config.data_dir)
        for number in range(14):
            body = json.dumps(
                {"metadata": {"name": f"large-{number}"}, "data": {"a": "x" * 900_000}}
            )
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            secure = trio.SSLStream(stream, context, server_hostname="127.0.0.1")
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            await secure.send_all(head.encode() + body.encode())
            assert (await secure.receive_some(12))[9:] == b"201"
            await trio.aclose_forcefully(secure)
        async with (
            looking(config.data_dir, port, tmp_path / "profile") as (tab, _),
            trio.open_nursery() as readers,
        ):
            for _ in range(READERS):
                readers.start_soon(slow_list, port, context, path)
            level = "document.querySelector('[data-level=global-default]')"
            numbers = f"[...{level}.querySelectorAll('dd')].map(e => e.textContent)"
            await tab.until(f"{level}.querySelector('.state').textContent === 'waiting for seats'")
            waiting, oldest = (await tab.value(numbers))[:2]
            assert 1 <= int(waiting) < READERS
            assert oldest.endswith(("s", "ms"))
            assert await tab.value(f"{level}.querySelector('.more').hidden") is False
            flows = await tab.value(f"{level}.querySelector('tbody').textContent")
            assert "global-default / reader" in flows
            assert "waiting" in await tab.value("document.title")
            readers.cancel_scope.cancel()
