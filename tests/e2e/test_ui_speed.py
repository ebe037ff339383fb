"""What the pages cost a browser: times are printed, counts are asserted.

The rows of one Pod are told as those of many by a list and a watch in the server's place, which
sends as many events a second as are asked for, whatever the machine.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
import trio
from chromium import CHROMIUM, Tab
from ui_pages import by_link, looking, pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
Row = dict[str, Any]
LIVE = "document.body.dataset.state === 'live'"
ROWS = "Number(document.body.dataset.rows)"
DRAWN = "Number(document.body.dataset.drawn)"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PODS = "/api/v1/pods"
SECONDS, A_SECOND, PIECES = 5, 1000, 50
RESTARTS, LAST = 3, 777
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
LOOK = """
window.cost = {tasks: 0, longest: 0, added: 0, texts: 0, attributes: 0};
new PerformanceObserver((list) => { for (const e of list.getEntries()) {
  cost.tasks++; cost.longest = Math.max(cost.longest, e.duration); } }).observe({type: 'longtask'});
new MutationObserver((records) => { for (const r of records) {
  if (r.type === 'characterData') cost.texts++;
  else if (r.type === 'attributes') cost.attributes++;
  else for (const n of r.addedNodes) if (n.nodeType === 1) cost.added++; else cost.texts++;
} }).observe(document.querySelector('.grid-body'),
  {childList: true, subtree: true, characterData: true, attributes: true}); 0
"""


def named(row: Row, number: int) -> Row:
    """Return a row as that of another Pod."""
    name = f"pod-{number:05}"
    meta = {**row["object"]["metadata"], "name": name, "uid": name}
    return {"cells": [name, *row["cells"][1:]], "object": {**row["object"], "metadata": meta}}


def modified(row: Row, revision: int, restarts: int) -> bytes:
    """Return the line of a watch that tells of a change of a Pod."""
    meta = {**row["object"]["metadata"], "resourceVersion": str(revision)}
    cells = [*row["cells"]]
    cells[RESTARTS] = restarts
    changed = {"cells": cells, "object": {**row["object"], "metadata": meta}}
    table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "rows": [changed]}
    return orjson.dumps({"type": "MODIFIED", "object": table}) + b"\n"


class Many:
    """A list of many Pods and a watch of them, in the server's place.

    Args:
        table: what the server answers to a list of one Pod.
        count: of Pods.

    Attributes:
        begin: set to have events sent.
        done: set when all are sent.
    """

    def __init__(self, table: dict[str, Any], count: int) -> None:
        self.rows = [named(table["rows"][0], number) for number in range(count)]
        self.begin, self.done = trio.Event(), trio.Event()
        self._list = orjson.dumps({**table, "rows": self.rows})

    def instead(self, path: str) -> Callable[[trio.SocketStream], Awaitable[None]] | None:
        """Return what answers a request for a path."""
        if urlsplit(path).path != PODS or "limit=1&" in f"{path}&":
            return None
        return self._burst if "watch=1" in path else self._listed

    async def _listed(self, stream: trio.SocketStream) -> None:
        await stream.send_all(b"%bContent-Length: %d\r\n\r\n" % (HEAD, len(self._list)))
        await stream.send_all(self._list)

    async def _burst(self, stream: trio.SocketStream) -> None:
        await stream.send_all(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        await self.begin.wait()
        events = 0
        for piece in range(SECONDS * PIECES):
            lines = b""
            for _ in range(A_SECOND // PIECES):
                events += 1
                lines += modified(self.rows[events * 7 % len(self.rows)], 10**6 + events, piece)
            await _send(stream, lines)
            await trio.sleep(1 / PIECES)
        await _send(stream, modified(self.rows[0], 10**7, LAST))
        self.done.set()
        await trio.sleep_forever()


async def _send(stream: trio.SocketStream, data: bytes) -> None:
    await stream.send_all(b"%x\r\n%b\r\n" % (len(data), data))


async def busy(tab: Tab) -> float:
    """Return the seconds of its main thread that a page has used."""
    metrics = (await tab.call("Performance.getMetrics"))["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


@pytest.mark.parametrize("count", [1000, 10_000])
async def test_a_thousand_events_a_second(tmp_path: Path, count: int) -> None:
    """Pods that change keep their elements, and only texts that differ are written."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.create(pod("pod-00000"))
        await look.show("/objects/core/pods?ns=", f"{LIVE} && {ROWS} === 1")
        script = f"fetch('{PODS}', {{headers: {{Accept: '{TABLE}'}}}}).then(r => r.json())"
        many = Many(await tab.value(script), count)
        look.proxy.instead = many.instead
        await look.show("/objects/core/pods?ns=", f"{LIVE} && {ROWS} === {count}")
        # By restarts, so that events move rows too.
        await tab.click("Restarts")
        await tab.value(LOOK)
        await tab.call("Performance.enable")
        drawn, used, begun = await tab.value(DRAWN), await busy(tab), trio.current_time()
        many.begin.set()
        await many.done.wait()
        took = trio.current_time() - begun
        await tab.click("Restarts")
        await tab.until(f"document.querySelector('.grid').innerText.includes('{LAST}')")
        cost = await tab.value("cost")
        drawn = await tab.value(DRAWN) - drawn
        used = (await busy(tab) - used) / took
        print(f"{SECONDS * A_SECOND} events for {count} rows in {took:.1f} s: drawn {drawn} times,")
        print(f"{used:.0%} of the main thread, {cost}")
        cells = await tab.value("document.querySelectorAll('.grid-row [role=gridcell]').length")
        assert drawn <= 10 * (took + 1)
        assert cost["added"] == 0
        assert cost["texts"] <= cells * drawn
        await look.well()


# ---------------------------------------------------------------- until the first table


PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
DONE = "performance.getEntriesByName('kubetrio-table')[0].startTime"
BLOCKING = (
    "performance.getEntriesByType('resource').filter(e => e.renderBlockingStatus === 'blocking')"
    ".map(e => e.name.replace(/.*\\//, ''))"
)


FIRST = [
    "/ui/", "/ui/style.css", "/ui/all.js", "/ui/about", "/api", "/apis",
    "/api/v1/namespaces?limit=1000", f"{PODS}?limit=1000",
]  # fmt: skip
"""What is asked until there is a table; also `benchmarks/rows_ui.py` asks it."""


async def test_requests_until_the_first_table(tmp_path: Path) -> None:
    """The style alone holds the first paint up; the table waits for one answer, counts for it."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await tab.call("Performance.enable", timeDomain="threadTicks")
        for number in range(1000):
            await look.client.create(pod(f"pod-{number:05}"))
        await look.show("/objects/core/pods?ns=", f"{LIVE} && {ROWS} === 1000")
        await tab.until("document.body.dataset.counted")
        look.proxy.paths.clear()
        await look.show("/objects/core/pods?ns=", f"{LIVE} && {ROWS} === 1000")
        print(f"first paint {await tab.value(PAINT):.0f} ms, table {await tab.value(DONE):.0f} ms")
        print(f"{await busy(tab):.3f} s of CPU of the main thread")
        await tab.until("document.body.dataset.counted")
        assert await tab.value(BLOCKING) == ["style.css"]
        asked = [re.sub(r"^/ui/\?[^#]*", "/ui/", path) for path in look.proxy.paths]
        first = asked[: next(n for n, path in enumerate(asked) if path.endswith("?limit=1"))]
        first = [path for path in first if path != "/ui/icon.svg" and "watch=1" not in path]
        assert sorted(first) == sorted(FIRST)
        assert sum(path.endswith("?limit=1") for path in asked) > 30
        await look.well()


async def test_requests_behind_the_link_of_the_command(tmp_path: Path) -> None:
    """All files come in one answer, for each would be a way to the server and back."""
    async with by_link(tmp_path) as (tab, _, _, paths):
        await tab.until(f"document.body && {LIVE}")
        await tab.until("document.body.dataset.counted")
        print(f"first paint {await tab.value(PAINT):.0f} ms, table {await tab.value(DONE):.0f} ms")
        assert [path for path in paths if path.startswith("/ui/")] == [
            "/ui/", "/ui/once", "/ui/all.json", "/ui/about",
        ]  # fmt: skip
        assert tab.complaints == []
