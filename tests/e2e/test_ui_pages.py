"""The pages in a real browser: live tables, objects, history, load; seen by eye and by keyboard."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
import trio
from chromium import CHROMIUM
from ui_pages import (
    AXE_SERIOUS,
    SHIFTS,
    Looking,
    allow,
    behind_link,
    configmap,
    configured,
    looking,
    pod,
)

from kubetrio.cli.kept import open_kept
from kubetrio.env import Env
from kubetrio.server import open_server

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
STATE = "document.body.dataset.state"
ROWS = "Number(document.body.dataset.rows)"
LIVE = f"{STATE} === 'live'"
TEXT = "document.querySelector('#main').innerText"
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def many(look: Looking, count: int, prefix: str = "pod") -> None:
    """Create pods."""
    waiting = [f"{prefix}-{number:05}" for number in range(count)]

    async def some() -> None:
        while waiting:
            await look.client.create(pod(waiting.pop()))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(some)


async def test_a_table_follows_the_server(tmp_path: Path) -> None:
    """Without flicker while hundreds of objects change a second: rows keep their elements."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await many(look, 100)
        await look.show("/objects/core/pods", f"{LIVE} && {ROWS} === 100")
        await tab.value(
            "window.seen = new Set(document.querySelectorAll('.grid-row')); window.drawn = 0;"
            "window.blank = 0; new MutationObserver(() => { drawn++;"
            " if (!document.querySelector('.grid-row')) blank++; })"
            ".observe(document.querySelector('.grid-body'), {childList: true, subtree: true}); 0"
        )
        drawn = "Number(document.body.dataset.drawn)"
        before, begun = await tab.value(drawn), trio.current_time()
        await many(look, 400, "other")
        took = trio.current_time() - begun
        await tab.until(f"{ROWS} === 500")
        assert await tab.value(drawn) - before <= 12 * (took + 2)
        assert await tab.value("blank") == 0
        kept = "[...document.querySelectorAll('.grid-row')].filter(r => seen.has(r)).length"
        assert await tab.value(kept) > 10
        assert await tab.value("document.querySelectorAll('.grid-row').length") < 80
        await look.keep("live-table")
        await look.well()


MADE = (
    "window.made = 0; new MutationObserver((all) => { for (const one of all) for (const node of"
    " one.addedNodes) if (node.nodeType === 1) made++; }).observe("
    "document.querySelector('.grid-body'), {childList: true, subtree: true}); 0"
)
SCROLL = (
    "(async () => { const box = document.querySelector('.grid-scroll'); let worst = 0, last = 0;"
    " for (let i = 0; i <= 120; i++) { box.scrollTop = i / 120 * box.scrollHeight;"
    " await new Promise(requestAnimationFrame); const now = performance.now();"
    " if (last) worst = Math.max(worst, now - last); last = now; } return Math.round(worst); })()"
)


@pytest.mark.slow
async def test_ten_thousand_rows(tmp_path: Path) -> None:
    """Few of them are elements, wherever one scrolls to; a name is found among them at once."""
    async with looking(tmp_path) as look:
        tab = look.tab
        async with trio.open_nursery() as nursery:
            for part in range(10):
                nursery.start_soon(_maps, look, part)
        await look.show("/objects/core/configmaps?ns=default", f"{LIVE} && {ROWS} > 10000")
        assert await tab.value("document.querySelectorAll('.grid-row').length") < 80
        await tab.value(MADE)
        print("121 places among 10,000 rows: longest frame", await tab.value(SCROLL), "ms")
        assert await tab.value("made") < 80
        await tab.until("document.querySelector('.grid').innerText.includes('map-9-00999')")
        assert await tab.value("document.querySelectorAll('.grid-row').length") < 80
        found = "document.querySelector('input[type=search]')"
        await tab.value(
            f"{found}.value = 'map-5-00123'; {found}.dispatchEvent(new Event('input')); 0"
        )
        await tab.until(f"{ROWS} === 1")
        await look.keep("ten-thousand")
        await look.well()


async def _maps(look: Looking, part: int) -> None:
    for number in range(1000):
        await look.client.create(configmap(f"map-{part}-{number:05}", {}))


async def test_an_edit_shows_a_dry_run_and_names_who_is_in_conflict(tmp_path: Path) -> None:
    """Nothing is written before it was shown; a conflict names the manager and the field."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await client.apply(configmap("settings", {"k": "one"}), field_manager="helm")
        await look.show("/object/core/configmaps/default/settings", LIVE)
        await tab.click("Edit")
        edit = "document.querySelector('textarea')"
        await tab.value(f"{edit}.value = {edit}.value.replace('k: one', 'k: two'); 0")
        await tab.click("Review changes")
        await tab.until("document.querySelector('dialog').innerText.includes('helm')")
        assert ".data.k" in await tab.value("document.querySelector('dialog').innerText")
        await look.keep("edit-conflict")
        await tab.click("Take these fields over")
        await tab.until("!!document.querySelector('dialog .plus')")
        assert "k: two" in await tab.value("document.querySelector('dialog .plus').textContent")
        kind = client.kind("v1", "ConfigMap")
        assert (await client.get(kind, "settings", "default"))["data"] == {"k": "one"}
        await look.keep("edit-dry-run")
        typing = f"{edit}.dispatchEvent(new Event('input', {{bubbles: true}})); 0"
        await tab.value(f"{edit}.value = {edit}.value.replace('k: two', 'k: three'); {typing}")
        assert "Make these changes" not in await tab.value(
            "document.querySelector('dialog').innerText"
        )
        await tab.value(f"{edit}.value = {edit}.value.replace('k: three', 'k: two'); {typing}")
        await tab.click("Review changes")
        await tab.click("Take these fields over")
        await tab.click("Make these changes")
        await tab.until("!document.querySelector('dialog')")
        assert (await client.get(kind, "settings", "default"))["data"] == {"k": "two"}
        tab.complaints[:] = [one for one in tab.complaints if "409" not in one]
        await look.well()


async def test_a_deletion_shows_what_goes_along(tmp_path: Path) -> None:
    """Dependents as a tree, before anything is deleted."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        owner = await client.create(configmap("owner", {}))
        reference = {
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"],
        }  # fmt: skip
        await client.create(pod("below", ownerReferences=[reference]))
        await look.show("/object/core/configmaps/default/owner", LIVE)
        await tab.until("document.body.dataset.family === 'yes'")
        assert "Pod/below" in await tab.value(TEXT)
        await look.keep("object")
        await tab.click("Delete")
        await tab.until("document.querySelector('dialog').innerText.includes('Pod/below')")
        await look.keep("delete")
        await tab.value("document.querySelector('dialog button.danger').click()")
        await tab.until(f"{STATE} === 'gone'")
        await look.well()


async def test_history_of_an_object_and_of_the_cluster(tmp_path: Path) -> None:
    """Who changed what; a former state is put back; the cluster as it was."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await client.apply(configmap("a", {"k": "old"}), field_manager="one")
        first = await client.get(client.kind("v1", "ConfigMap"), "a", "default")
        await client.apply(configmap("a", {"k": "new"}), field_manager="one")
        await client.create(configmap("later", {}))
        await look.show("/object/core/configmaps/default/a?tab=history", LIVE)
        await tab.until("document.querySelectorAll('tbody tr').length === 2")
        await tab.until("!!document.querySelector('.yaml.diff .plus')")
        assert "k: new" in await tab.value("document.querySelector('.yaml.diff').innerText")
        assert "one" in await tab.value("document.querySelector('tbody tr').innerText")
        await look.keep("history-object")
        await tab.value("document.querySelectorAll('tbody tr button')[1].click()")
        await tab.click(f"Put revision {first['metadata']['resourceVersion']} back")
        await tab.click("Review changes")
        await tab.click("Take these fields over")
        await tab.click("Make these changes")
        await tab.until("!document.querySelector('dialog')")
        kind = client.kind("v1", "ConfigMap")
        assert (await client.get(kind, "a", "default"))["data"] == {"k": "old"}
        at = first["metadata"]["resourceVersion"]
        await look.show("/history?ns=default", "document.body.dataset.changes > 3")
        assert "ConfigMap/later" in await tab.value(TEXT)
        await look.keep("history-namespace")
        shown = "Number(document.body.dataset.changes)"
        newest = "document.querySelector('tbody tr').innerText"
        await tab.value("window.second = document.querySelector('tbody tr'); 0")
        before = await tab.value(shown)
        await client.create(configmap("newest", {}))
        await tab.until(f"{shown} === {before + 1} && {newest}.includes('ConfigMap/newest')")
        assert await tab.value("second.isConnected && second.previousSibling !== null")
        await look.show(f"/objects/core/configmaps?at={at}&ns=default", f"{STATE} === 'kept'")
        shown = await tab.value(TEXT)
        assert "later" not in shown
        assert "Read-only" in shown
        await look.keep("cluster-then")
        tab.complaints[:] = [one for one in tab.complaints if "409" not in one]
        await look.well()


async def test_an_object_page_follows_the_object_and_its_events(tmp_path: Path) -> None:
    """Events come by themselves; an object that is made anew is another one of the name."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        kind = client.kind("v1", "ConfigMap")

        async def happens(reason: str) -> None:
            uid = (await client.get(kind, "a", "default"))["metadata"]["uid"]
            about = {"kind": "ConfigMap", "namespace": "default", "name": "a", "uid": uid}
            meta = {"name": f"{reason.lower()}.1", "namespace": "default"}
            event = {"apiVersion": "v1", "kind": "Event", "metadata": meta, "reason": reason}
            await client.create(event | {"involvedObject": about, "type": "Normal"})

        await client.create(configmap("a", {"k": "1"}))
        await look.show("/object/core/configmaps/default/a", LIVE)
        await tab.until(f"{TEXT}.includes('There are none.')")
        await happens("Noticed")
        await tab.until(f"{TEXT}.includes('Noticed')")
        await client.delete(kind, "a", "default")
        await tab.until(f"{STATE} === 'gone'")
        await client.create(configmap("a", {"k": "2"}))
        await tab.until(f"{LIVE} && {TEXT}.includes('There are none.')")
        await happens("Again")
        await tab.until(f"{TEXT}.includes('Again')")
        await look.well()


async def test_new_kinds_come_without_a_reload(tmp_path: Path) -> None:
    """The list of kinds has them, and keeps its counts and its filter."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await tab.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="const slow = setTimeout;"
            " setTimeout = (work, ms) => slow(work, ms === 30000 ? 300 : ms);",
        )
        await look.show("/objects/core/configmaps?ns=", f"{LIVE} && document.body.dataset.counted")
        field = "document.querySelector('.side input')"
        await tab.value(f"{field}.value = 'e'; {field}.dispatchEvent(new Event('input')); 0")
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
        version = {
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }  # fmt: skip
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "names": names, "scope": "Namespaced",
                "versions": [version],
            },
        }  # fmt: skip
        await look.client.create(definition)
        side = "document.querySelector('.side').innerText"
        await tab.until(f"{side}.includes('Widget')")
        assert await tab.value(f"{field}.value") == "e"
        counts = "[...document.querySelectorAll('.side .count')].filter(c => c.textContent).length"
        assert await tab.value(counts) > 30
        links = "[...document.querySelectorAll('.side a')]"
        await tab.value(f"{links}.find(a => a.textContent.startsWith('Widget')).click()")
        await tab.until(f"{LIVE} && document.querySelector('h1').textContent === 'Widget'")
        await look.well()


async def test_a_user_sees_what_rbac_allows(tmp_path: Path) -> None:
    """Lists that are refused are said, and hidden nowhere."""
    async with looking(tmp_path, "alice") as look:
        tab = look.tab
        rules = [
            {"nonResourceURLs": ["/ui/*"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]},
        ]
        await allow(look.client, "alice", rules)
        await look.client.create(configmap("seen", {}))
        await look.client.create(pod("unseen"))
        await look.show("/objects/core/pods?ns=", f"{STATE} === 'refused'")
        shown = await tab.value(TEXT)
        assert "cannot list resource" in shown
        assert "unseen" not in shown
        await tab.until("document.body.dataset.counted")
        locks = "document.querySelectorAll('.side .count .icon').length"
        assert await tab.value(locks) > 10
        await look.keep("denied")
        await look.show("/objects/core/configmaps?ns=", f"{LIVE} && {TEXT}.includes('seen')")
        await look.show("/history", "document.body.dataset.changes")
        assert "Not allowed to list" in await tab.value(TEXT)
        assert "pods" in await tab.value("document.querySelector('.note').innerText")
        await look.show("/load", "!!document.querySelector('.note.bad')")
        assert "Not allowed to see flow control" in await tab.value(TEXT)
        for view in ("overview", "history"):
            page = f"/object/core/pods/default/unseen?tab={view}"
            await look.show(page, f"{TEXT}.includes('may not get pods')")
        await look.show("/object/core/configmaps/default/seen", f"{LIVE}")
        await tab.until("document.body.dataset.family === 'yes'")
        assert "Not allowed to list" in await tab.value(TEXT)
        assert 'cannot list resource "events"' in await tab.value(TEXT)
        await look.well()  # what is refused is not asked for
        await look.show("/objects/core/namespaces", f"{STATE} === 'unwatched' && {ROWS} > 3")
        await look.show("/object/core/namespaces/-/default", f"{STATE} === 'unwatched'")
        assert "kubernetes.io/metadata.name=default" in await tab.value(TEXT)


async def test_the_server_goes_and_comes_back(tmp_path: Path) -> None:
    """The table keeps its rows, says that it is not connected, and goes on by itself."""
    config = configured(tmp_path)
    async with looking(tmp_path, config=config) as look:
        tab = look.tab
        await look.client.create(configmap("before", {}))
        await look.show("/objects/core/configmaps?ns=default", LIVE)
        port, look.proxy.port = look.proxy.port, 1
        look.proxy.cut()
        await tab.until(f"{STATE} === 'away'")
        assert "before" in await tab.value(TEXT)
        await look.keep("server-away")
        await look.client.create(configmap("meanwhile", {}))
        look.proxy.port = port
        await tab.until(f"{LIVE} && {TEXT}.includes('meanwhile')")


async def test_load_and_who_waits(tmp_path: Path) -> None:
    """Numbers of the last hour as charts, and every priority level."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.show("/load", "document.body.dataset.flow > 1 && document.body.dataset.hour")
        assert await tab.value("document.querySelectorAll('.level').length") == 8
        assert await tab.value("document.querySelectorAll('.level.idle').length") >= 6
        assert await tab.value("document.querySelectorAll('.chart svg[role=img]').length") == 7
        await look.keep("load")
        await look.well()


async def test_what_a_stopped_server_has_left(tmp_path: Path) -> None:
    """Objects as they were, with their dependents; nothing to edit, and no load."""
    async with open_server(configured(tmp_path)) as server:
        await server.client().create(configmap("left", {"k": "v"}))
        revision = server.api.storage.store.revision
    async with (
        open_kept(tmp_path / "data", None, Env()) as handle,
        behind_link(tmp_path, handle) as (tab, _, _, _),
    ):
        kept = f"document.body && {STATE} === 'kept'"
        await tab.until(kept)
        banner = "document.querySelector('.banner').textContent"
        assert "as a server has left it" in await tab.value(banner)
        await tab.value("location.hash = '#/objects/coordination.k8s.io/leases?ns='; 0")
        total = "document.querySelector('.heading .dim').textContent"
        await tab.until(f"{kept} && document.querySelector('h1').textContent === 'Lease'")
        await tab.until(f"{total} === '0'")  # that of the server over the copy is not shown
        await tab.value("location.hash = '#/object/core/configmaps/default/left'; 0")
        await tab.until(f"{kept} && document.body.dataset.family === 'yes'")
        shown = await tab.value(TEXT)
        assert "Nothing depends on it." in shown
        buttons = "[...document.querySelectorAll('button')].map(b => b.textContent)"
        assert not {"Edit", "Delete"} & set(await tab.value(buttons))
        await tab.value("location.hash = '#/history'; 0")
        await tab.until("document.body.dataset.changes > 3")
        newest = await tab.value("document.querySelector('tbody td').textContent")
        assert int(newest) >= revision
        assert "kubetrio-ui" not in await tab.value(TEXT)
        await tab.value("location.hash = '#/load'; 0")
        await tab.until(f"{TEXT}.includes('A stopped server has no load')")
        assert tab.complaints == []


PAGES = {
    "objects": ("/objects/core/configmaps?ns=", f"{LIVE} && document.body.dataset.counted"),
    "object": ("/object/core/configmaps/default/a", "document.body.dataset.family === 'yes'"),
    "yaml": ("/object/core/configmaps/default/a?tab=yaml", "!!document.querySelector('.yaml')"),
    "revisions": (
        "/object/core/configmaps/default/a?tab=history",
        "!!document.querySelector('.diff')",
    ),
    "history": ("/history", "document.body.dataset.changes > 3"),
    "load": ("/load", "document.body.dataset.flow > 1 && document.body.dataset.hour"),
}


@pytest.mark.slow
async def test_axe_finds_nothing_serious(tmp_path: Path) -> None:
    """On each page, light and dark."""
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    async with looking(tmp_path) as look:
        await look.client.apply(configmap("a", {"k": "1"}), field_manager="one")
        await look.client.apply(configmap("a", {"k": "2"}), field_manager="one")
        for scheme in ("light", "dark"):
            await look.tab.prefer(prefers_color_scheme=scheme)
            for name, (page, until) in PAGES.items():
                await look.show(page, until)
                folded = "document.querySelectorAll('.fold').forEach(b => b.click())"
                await look.tab.value(f"{folded}; {axe}; 0")
                assert await look.tab.value(AXE_SERIOUS) == [], (name, scheme)
                await look.keep(f"{name}-{scheme}")


@pytest.mark.slow
async def test_axe_finds_nothing_serious_in_narrow_windows(tmp_path: Path) -> None:
    """Where the words of the frame give way to icons, links keep their names."""
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    async with looking(tmp_path) as look:
        await look.client.create(configmap("a", {"k": "1"}))
        await look.tab.size(400, 850)
        for name in ("history", "object"):
            await look.show(*PAGES[name])
            await look.tab.value(f"{axe}; 0")
            assert await look.tab.value(AXE_SERIOUS) == [], name


@pytest.mark.slow
async def test_pages_fit_any_width_and_move_nothing(tmp_path: Path) -> None:
    """From 400 to 2,500 pixels nothing sticks out; what was drawn stays where it is."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.create(configmap("a", {"k": "مرحبا", "k" * 200: "v" * 2000}))
        for name, (page, until) in PAGES.items():
            if name == "revisions":
                until = "!!document.querySelector('tbody tr')"
            await look.show(page, until)
            assert await tab.value(SHIFTS) < 0.02, name
            for width in (400, 800, 1300, 2500):
                await tab.size(width, 850)
                await tab.until(f"innerWidth === {width}")
                assert await tab.value(OVER) <= 0, (name, width)
                if width in (400, 2500):
                    await look.keep(f"{name}-{width}")
        await look.well()


async def test_tables_by_keyboard(tmp_path: Path) -> None:
    """From the search into the rows, along them, into an object, and through its tabs."""
    async with looking(tmp_path) as look:
        tab = look.tab
        for name in ("a", "b", "c"):
            await look.client.create(configmap(name, {}))
        await look.show("/objects/core/configmaps?ns=default", f"{LIVE} && {ROWS} > 3")
        await tab.press("/", 191)
        await tab.until("document.activeElement.type === 'search'")
        await tab.press("ArrowDown", 40)
        await tab.press("ArrowDown", 40)
        await tab.until("document.activeElement.className === 'grid-row'")
        second = await tab.value("document.activeElement.innerText")
        assert "b" in second
        await tab.press("Enter", 13)
        await tab.until(
            "document.body.dataset.page === 'object' && !!document.querySelector('.cards')"
        )
        await tab.value("document.querySelector('[role=tab]').focus()")
        await tab.press("ArrowRight", 39)
        await tab.until("document.activeElement.textContent === 'YAML'")
        await tab.until("!!document.querySelector('.yaml')")
        await look.well()


async def test_a_page_that_is_left_keeps_no_connection(tmp_path: Path) -> None:
    """Browsers keep pages for "back" with their streams, and have six connections for all."""
    async with looking(tmp_path) as look:
        hub = look.server.api.storage.hub
        await look.show("/objects/core/configmaps?ns=", LIVE)
        one_page = hub.statistics().watchers
        for _ in range(4):
            await look.show("/objects/core/configmaps?ns=", LIVE)
        with trio.fail_after(20):
            while hub.statistics().watchers > one_page + 2:  # it may follow more by and by
                await trio.lowlevel.checkpoint()
        await look.tab.value("history.back()")
        await look.tab.until(LIVE)
