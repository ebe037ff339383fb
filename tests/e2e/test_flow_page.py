"""Flow control on the page ``Load``, in a real browser: levels, seats, queues, who waits."""

from __future__ import annotations

import copy
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from chromium import CHROMIUM, Proxy, Tab, open_tab
from ui_pages import TOKENS, Looking, configmap, configured, looking, tls

from kubetrio.auth import authorize
from kubetrio.config import FlowControl
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.testing.process import ServerProcess
from kubetrio.ui.assets import modules
from kubetrio.ui.bundle import bundled

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]

Start = Callable[..., ServerProcess]
State = dict[str, Any]
PAGE = "/debug/api_priority_and_fairness/"
STREAM = f"{PAGE}state?watch=1"
LEVELS = 8
READERS = 9
NONE = "\u2013"
UPDATES = "Number(document.body.dataset.flow || 0)"
STATE = "document.body.dataset.state"
DRAWN = f"document.body && {UPDATES} > 2"
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    made = tmp_path / "tokens.csv"
    made.write_text(TOKENS)
    return made


@asynccontextmanager
async def opened(server: ServerProcess, profile: Path) -> AsyncIterator[tuple[Tab, Proxy]]:
    """Open the address of flow control in a browser, and wait until the page is live."""
    proxy = Proxy(server.port, tls(server.data_dir), "root")
    with trio.fail_after(90):
        async with trio.open_nursery() as nursery:
            port = await nursery.start(proxy.serve)
            async with open_tab(profile, f"http://127.0.0.1:{port}{PAGE}") as tab:
                await tab.until(DRAWN)
                yield tab, proxy
            nursery.cancel_scope.cancel()


async def test_the_address_of_flow_control_leads_to_the_load_page(
    start_server: Start, tmp_path: Path, tokens: Path
) -> None:
    """It draws every level by one stream, and finds the server again after a restart."""
    server = start_server(tmp_path / "data", "--token-auth-file", str(tokens))
    async with opened(server, tmp_path / "profile") as (tab, proxy):
        assert await tab.value("location.pathname + location.hash") == "/ui/#/load"
        assert await tab.value(STATE) == "live"
        found = await tab.value(
            "[...document.querySelectorAll('.level')].map(e => e.dataset.level)"
        )
        assert len(found) == LEVELS
        assert found == sorted(found)
        seen = await tab.value(UPDATES)
        await tab.until(f"{UPDATES} > {seen} + 2")
        assert [path for path in proxy.paths if path.startswith(PAGE)] == [PAGE, STREAM]
        await tab.value(
            "window.problems = []; addEventListener('error', e => problems.push(e.message)); 0"
        )
        server.kill()
        trouble = "document.querySelector('.stale .note')"
        await tab.until(f"{STATE} === 'away' && !!{trouble}")
        assert "UTC" in await tab.value(f"{trouble}.textContent")
        seen = await tab.value(UPDATES)
        proxy.port = start_server(server.data_dir, "--token-auth-file", str(tokens)).port
        await tab.until(f"{STATE} === 'live' && {UPDATES} > {seen} + 2")
        assert await tab.value("!!document.querySelector('.stale')") is False
        assert await tab.value("problems") == []


async def test_a_tab_that_is_not_seen_asks_for_nothing(tmp_path: Path) -> None:
    """The stream ends with the page that showed it, and while its tab is hidden."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.show("/load", DRAWN)
        scopes = look.server.api.edge.streams
        assert len(scopes) == 1
        await tab.value(
            "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
            "document.dispatchEvent(new Event('visibilitychange')); 0"
        )
        while scopes:  # noqa: ASYNC110  (the server tells no event of it)
            await trio.sleep(0.02)
        seen = await tab.value(UPDATES)
        await tab.value("delete document.hidden; dispatchEvent(new Event('visibilitychange')); 0")
        await tab.value("document.dispatchEvent(new Event('visibilitychange')); 0")
        await tab.until(f"{UPDATES} > {seen} + 1")
        assert len(scopes) == 1
        await tab.value("location.hash = '#/history'; 0")
        while scopes:  # noqa: ASYNC110  (as above)
            await trio.sleep(0.02)
        await look.well()


async def test_a_server_without_levels_says_so(tmp_path: Path) -> None:
    """The numbers of the last hour are there, and the flag is named."""
    flow = FlowControl(priority_and_fairness=False)
    async with looking(tmp_path, config=configured(tmp_path, flowcontrol=flow)) as look:
        await look.show("/load", f"{STATE} === 'refused' && document.body.dataset.hour")
        text = await look.tab.value("document.querySelector('#main').innerText")
        assert "--enable-priority-and-fairness=false" in text
        assert "404" not in text


async def test_levels_fit_and_follow_the_scheme(tmp_path: Path) -> None:
    """With all levels open nothing sticks out at any width, and dark is dark."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.show("/load", DRAWN)
        await tab.value("document.querySelectorAll('.level .fold').forEach(b => b.click())")
        assert (
            await tab.value("document.querySelectorAll('.level .more:not([hidden])').length") == 8
        )
        for width in (320, 700, 1100, 1600):
            await tab.size(width, 800)
            await tab.until(f"innerWidth === {width}")
            assert await tab.value(OVER) <= 0, width
            inside = (
                "[...document.querySelectorAll('.level')].filter(l => [...l.querySelectorAll('*')]"
                ".some(e => e.getBoundingClientRect().right > l.getBoundingClientRect().right + 1))"
                ".map(l => l.dataset.level)"
            )
            assert await tab.value(inside) == [], width
        brightness = (
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
            ".reduce((a, n) => a + Number(n), 0)"
        )
        await tab.prefer(prefers_color_scheme="light")
        await tab.until(f"{brightness} > 600")
        await tab.prefer(prefers_color_scheme="dark")
        await tab.until(f"{brightness} < 150")
        await look.keep("load-open-dark")


async def test_levels_by_keyboard(tmp_path: Path) -> None:
    """Levels open and close by keyboard, and say so; the numbers can be held still."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.show("/load", DRAWN)
        await tab.value(
            "[...document.querySelectorAll('button')].find(b => b.title.includes('(p)')).focus()"
        )
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
        await tab.until(f"{STATE} === 'kept'")
        held = await tab.value(f"new Promise(r => setTimeout(() => r({UPDATES}), 1200))")
        assert await tab.value(UPDATES) == held
        await tab.press("p", 80)
        await tab.until(f"{STATE} === 'live' && {UPDATES} > {held}")


# ---------------------------------------------------------------- what states look like


DRAWING = """\
import { Flow } from "./flow.js";
export function start() {
  window.flow = new Flow({ told() {}, title(words) { window.named = words; } });
  document.querySelector("#main").replaceChildren(flow.element);
}
"""


async def drawing(look: Looking) -> State:
    """Put a drawing of its own into the page, for states that the test makes up."""
    await look.show("/objects/core/configmaps", f"{STATE} === 'live'")
    await look.tab.value(f"{{ {bundled({**modules(), 'drawing': DRAWING}, 'drawing')} }} 0")
    pages = look.server.api.edge.documents._flow_pages
    assert pages is not None
    made: State = pages.state()
    return made


def later(state: State, seconds: float, name: str, **changes: Any) -> State:
    """Return what comes so many seconds after a state, with changes of one level."""
    after = copy.deepcopy(state)
    after["time"] += seconds
    level = next(one for one in after["levels"] if one["name"] == name)
    level.update(changes)
    return after


def of(name: str, part: str) -> str:
    """Return an expression for a part of a level's drawing."""
    return f"document.querySelector('[data-level={name}] {part}')"


def cells(name: str) -> str:
    """Return an expression for the numbers of a level."""
    return f"[...document.querySelectorAll('[data-level={name}] dd')].map(e => e.textContent)"


async def test_what_levels_say(tmp_path: Path) -> None:
    """Idle, refusing with the advice, borrowed and lent seats, quiescing, and without a limit."""
    async with looking(tmp_path) as look:
        tab = look.tab
        first = await drawing(look)
        await tab.value(f"flow.show({json.dumps(first)})")
        assert await tab.value("document.querySelectorAll('.level.idle').length") == LEVELS
        assert "system:masters" in await tab.value("flow.element.innerText")
        assert await tab.value(of("exempt", ".own") + ".offsetWidth") == 0
        assert await tab.value(of("global-default", ".own") + ".offsetWidth") > 0
        assert "never waits" in await tab.value(
            of("exempt", ".bar") + ".getAttribute('aria-label')"
        )

        level = next(one for one in first["levels"] if one["name"] == "workload-low")
        flows = [{"schema": "service-accounts", "flow": "ci", "waiting": 7, "executing": 2}]
        second = later(
            first, 2, "workload-low", waiting=7, executing=2, oldest=1.5, dispatched=40,
            rejected={"queue-full": 6}, used=[[0, 0, 1], [5, 7, 1]], flows=flows,
            seatsInUse=level["nominal"], limit=level["nominal"] + 100, quiescing=True,
        )  # fmt: skip
        await tab.value(f"flow.show({json.dumps(second)})")
        words = await tab.value(of("workload-low", ".state-words") + ".textContent")
        assert words == "waiting for the event loop, refusing, quiescing"
        refusing = "document.querySelectorAll('.level.refusing.quiescing').length"
        assert await tab.value(refusing) == 1
        advised = await tab.value(of("workload-low", ".advice") + ".textContent")
        assert "Refusing" in advised
        assert "ci (7)" in advised
        numbers = cells("workload-low")
        assert await tab.value(numbers) == ["7", "1.5 s", NONE, NONE, "20", "3"]
        assert "borrows 100" in await tab.value(
            of("workload-low", ".bar") + ".getAttribute('aria-label')"
        )
        assert await tab.value(of("workload-low", ".borrowed") + ".offsetWidth") > 0
        shown = await tab.value(of("workload-low", ".more") + ".innerText")
        assert "2 of 128 queues in use" in shown
        assert "6 queue-full" in shown
        assert "service-accounts / ci" in shown
        queue = "document.querySelectorAll('[data-level=workload-low] .queues i')[5]"
        assert await tab.value(f"{queue}.className") == "run"
        assert "7 waiting, 1 executing" in await tab.value(f"{queue}.title")
        frame = f"getComputedStyle({queue}, '::after').boxShadow"
        assert await tab.value(frame) != "none"
        assert await tab.value("named") == f"7 waiting {NONE} "
        await look.keep("flow-refusing")

        full = later(second, 2, "workload-low", rejected={}, seatsInUse=1, nominal=3, limit=1)
        await tab.value(f"flow.show({json.dumps(full)})")
        assert (await tab.value(of("workload-low", ".state-words") + ".textContent")).startswith(
            "waiting for seats"
        )
        assert "lends 2" in await tab.value(of("workload-low", ".seats-words") + ".textContent")
        assert "nominalConcurrencyShares" in await tab.value(
            of("workload-low", ".advice") + ".textContent"
        )


async def test_waits_and_mean_seats_are_of_the_last_seconds(tmp_path: Path) -> None:
    """They follow from two states; a server that began anew is compared with itself alone."""
    async with looking(tmp_path) as look:
        tab = look.tab
        first = await drawing(look)
        level = next(one for one in first["levels"] if one["name"] == "system")
        bounds = level["waited"]["bounds"]
        counts = [0] * (len(bounds) + 1)
        counts[2], counts[4] = 60, 40
        spent = {
            "sum": level["utilization"]["sum"] + 10e9 / level["limit"],
            "count": level["utilization"]["count"] + 1e9,
        }
        second = later(
            first, 1, "system", dispatched=100, utilization=spent,
            waited={"bounds": bounds, "counts": counts, "sum": 0},
        )  # fmt: skip
        for state in (first, second):
            await tab.value(f"flow.show({json.dumps(state)})")
        numbers = cells("system")
        _, _, p50, p99, rate, _ = await tab.value(numbers)
        assert p50.startswith("≤ ")
        assert p99.startswith("≤ ")
        assert p50 != p99
        assert rate == "100"
        mean = await tab.value(of("system", ".seats-words") + ".textContent")
        assert mean.startswith(f"10 of {level['limit']} seats")
        anew = later(first, 2, "system", dispatched=10)
        await tab.value(f"flow.show({json.dumps(anew)})")
        assert (await tab.value(numbers))[2:] == [NONE, NONE, NONE, NONE]


# ---------------------------------------------------------------- requests that wait


class AllMayDoAll:
    """Allows every request."""

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
            f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n".encode()
        )
        await trio.sleep_forever()
    finally:
        await trio.aclose_forcefully(stream)


async def test_page_shows_who_waits(tmp_path: Path) -> None:
    """Requests that wait for seats: how many, for how long, whose; the level opens by itself."""
    config = configured(
        tmp_path,
        flowcontrol=FlowControl(max_requests_inflight=20, max_mutating_requests_inflight=4),
    )
    async with looking(tmp_path, config=config) as look:
        tab, server = look.tab, look.server
        server.api.security.authorizer.authorizers = (AllMayDoAll(),)
        for number in range(14):
            await look.client.create(configmap(f"large-{number}", {"a": "x" * 900_000}))
        await look.show("/load", DRAWN)
        async with trio.open_nursery() as readers:
            context = tls(config.data_dir)
            path = "/api/v1/namespaces/default/configmaps"
            for _ in range(READERS):
                readers.start_soon(slow_list, look.proxy.port, context, path)
            words = of("global-default", ".state-words")
            await tab.until(f"{words}.textContent === 'waiting for seats'")
            numbers = cells("global-default")
            waiting, oldest = (await tab.value(numbers))[:2]
            assert 1 <= int(waiting) < READERS
            assert oldest.endswith(("s", "ms"))
            assert await tab.value(of("global-default", ".more") + ".hidden") is False
            flows = await tab.value(of("global-default", "tbody") + ".textContent")
            assert "global-default / alice" in flows
            assert f"waiting {NONE} Load" in await tab.value("document.title")
            await look.keep("load-waiting")
            readers.cancel_scope.cancel()
