"""Objects of odd shapes and sizes in a real browser, and links that lead nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, Tab
from ui_pages import RBAC, configmap, looking

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
STATE = "document.body.dataset.state"
LIVE = f"{STATE} === 'live'"
TEXT = "document.querySelector('#main').innerText"
ELEMENTS = "document.querySelectorAll('#main *').length"
LONG_TASKS = (
    "window.tasks = []; new PerformanceObserver((all) => { for (const one of all.getEntries())"
    " tasks.push(Math.round(one.duration)); }).observe({type: 'longtask'}); 0"
)
MANY = 40_000
LINES = 300_000
WIDGETS = "widgets.example.com"


def definition() -> dict[str, Any]:
    """A custom kind whose status may be anything."""
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGETS},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def widget(name: str, **more: Any) -> dict[str, Any]:
    """One of that kind."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, **more}


ODD: dict[str, tuple[Any, str]] = {
    "text": ("ready", "is no list"),
    "object": ({"type": "Ready"}, "is no list"),
    "number": (7, "is no list"),
    "mixed": (["x", None, 3, [1], {"type": "Ready", "status": "True"}], "4 of 5"),
    "nested": ([{"type": {"a": 1}, "status": ["x"], "message": {"b": None}}], '{"a":1}'),
    "none": (None, "It has none"),
}


async def test_conditions_of_any_shape_are_shown(tmp_path: Path) -> None:
    """What there is of them, and that the rest is in the YAML; the connection is live."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await client.create(definition())
        await look.server.settled()
        await tab.call("Network.enable")
        for name, (conditions, _) in ODD.items():
            made = widget(name, status={"conditions": conditions}, spec={"a": [[], {}, None]})
            await client.create(made)
        await client.create(widget("bare", status="text"))
        for name, (_, said) in [*ODD.items(), ("bare", (None, "It has none"))]:
            page = f"/object/example.com/widgets/default/{name}"
            await look.show(page, f"{LIVE} && document.body.dataset.family === 'yes'")
            shown = await tab.value(TEXT)
            assert said in shown, name
            assert "cannot be drawn" not in shown
            assert "Nothing depends on it." in shown
        await look.well()


def sized(name: str) -> dict[str, Any]:
    """An object of many keys, of a long list, of a text of many lines, or of a long line."""
    match name:
        case "keys":
            return widget(name, spec={f"key-{n}": f"value {n}" for n in range(MANY)})
        case "items":
            return widget(name, spec=[{"number": n} for n in range(MANY)])
        case "conditions":
            return widget(name, status={"conditions": [{"type": f"t{n}"} for n in range(MANY)]})
        case "line":
            return widget(name, spec="x" * 1_000_000)
    return widget(name, spec="\n".join(f"l{n}" for n in range(LINES)))


LAST = {"keys": f"key-{MANY - 1}", "items": f"number: {MANY - 1}", "lines": f"l{LINES - 1}"}


@pytest.mark.slow
async def test_large_objects_are_drawn_where_they_are_seen(tmp_path: Path) -> None:
    """Few elements, whatever the size; the whole text is there for the search of the browser."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await client.create(definition())
        await look.server.settled()
        for name in ("keys", "items", "conditions", "line", "lines"):
            await client.create(sized(name))
            for view in ("overview", "yaml"):
                page = f"/object/example.com/widgets/default/{name}?tab={view}"
                await tab.go("about:blank")
                await look.show("/objects/core/nodes", LIVE)
                await tab.value(LONG_TASKS)
                await tab.value(f"location.hash = {json.dumps('#' + page)}; 0")
                drawn = "!!document.querySelector('#panel .yaml')"
                until = drawn if view == "yaml" else "document.body.dataset.family === 'yes'"
                await tab.until(f"document.body.dataset.page === 'object' && {LIVE} && {until}")
                assert await tab.value(ELEMENTS) < 8000, (name, view)
                assert "cannot be drawn" not in await tab.value(TEXT)
                await tab.value("new Promise(r => setTimeout(r, 300))")
                print(name, view, "long tasks, ms:", await tab.value("tasks"))
            if name in LAST:
                last = "document.querySelector('#panel .yaml').textContent.includes"
                assert await tab.value(f"{last}({json.dumps(LAST[name])})")
                await _scrolled(tab, LAST[name])
        await look.keep("large-object")
        await look.well()


async def _scrolled(tab: Tab, text: str) -> None:
    """What is scrolled to becomes lines, and nothing moves by it."""
    height = "document.querySelector('.page.scrolls').scrollHeight"
    before = await tab.value(height)
    await tab.value(
        "(() => { const box = document.querySelector('.page.scrolls');"
        " box.scrollTop = box.scrollHeight; })()"
    )
    await tab.until(
        "[...document.querySelectorAll('#panel .yaml .part:not(.plain) .l')]"
        f".some(l => l.textContent.includes({json.dumps(text)}))"
    )
    assert abs(await tab.value(height) - before) < 100
    assert await tab.value(ELEMENTS) < 8000


async def test_names_with_what_selectors_escape(tmp_path: Path) -> None:
    """Roles may have any name; each is followed, shown as it was, and deleted."""
    names = ("a=b", "c,d", "e\\f", "g=h,i\\j==k")
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        kind = client.kind(RBAC, "ClusterRole")
        for name in names:
            role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}}
            made = await client.create({**role, "rules": []})
            quoted = f"encodeURIComponent({json.dumps(name)})"
            page = "/object/rbac.authorization.k8s.io/clusterroles/-/"
            await look.show("/objects/core/nodes", LIVE)
            await tab.value(f"location.hash = '#{page}' + {quoted}; 0")
            await tab.until(f"document.body.dataset.page === 'object' && {LIVE}")
            await client.patch(kind, name, {"metadata": {"labels": {"seen": "now"}}})
            await tab.until(f"{TEXT}.includes('seen=now')")
            at = made["metadata"]["resourceVersion"]
            await tab.value(f"location.hash = '#{page}' + {quoted} + '?at={at}'; 0")
            await tab.until(f"{STATE} === 'kept'")
            assert "seen=now" not in await tab.value(TEXT)
            await tab.value(f"location.hash = '#{page}' + {quoted}; 0")
            await tab.until(LIVE)
            await tab.click("Delete")
            box = "document.querySelector('dialog')"
            await tab.until(f"{box}.innerText.includes('Nothing depends on it')")
            await tab.value(f"{box}.querySelector('.actions .danger').click()")
            await tab.until(f"{box}.innerText.includes('It is gone')")
            await tab.value(f"{box}.close()")
        await look.well()


WRONG = {
    "/nothing": "There is no page nothing",
    "/script": "There is no page script",
    "/objects/core/nothings": "no kind nothings in the group core",
    "/objects/example.org/pods": "no kind pods in the group example.org",
    "/object": "names no object",
    "/object/core/pods": "names no object of the kind Pod",
    "/object/core/pods/default": "names no object of the kind Pod",
    "/object/core/nothings/default/a": "no kind nothings",
    "/object/core/pods/-/a": "the link names none",
    "/object/core/nodes/default/a": "Node is a kind without namespaces",
    "/objects/core/pods?at=999999999": "does not exist yet",
    "/objects/core/pods?at=soon": "must be a whole number",
    "/object/core/configmaps/default/a?at=999999999": "does not exist yet",
    "/object/core/configmaps/default/a?tab=history&at=soon": "must be a whole number",
}


async def test_links_that_lead_nowhere_say_why(tmp_path: Path) -> None:
    """Each in its own words, and no page stays at *loading*."""
    async with looking(tmp_path) as look:
        for page, said in WRONG.items():
            await look.show(page, f"{TEXT}.includes({json.dumps(said)})")
            await look.tab.until(f"!{TEXT}.includes('loading')")
        look.tab.complaints[:] = [one for one in look.tab.complaints if "/ui/moment" not in one]
        await look.well()


async def test_what_cannot_be_drawn_is_no_fault_of_the_connection(tmp_path: Path) -> None:
    """The error is told in the place of what it is about; the rest is drawn."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.create(configmap("a", {"k": "v"}))
        await look.show("/objects/core/configmaps?ns=default", LIVE)
        broken = "Date.prototype.toLocaleString = () => { throw new Error('broken clock'); }; 0"
        await tab.value(broken)
        await tab.value("location.hash = '#/object/core/configmaps/default/a'; 0")
        await tab.until(f"{TEXT}.includes('This cannot be drawn: broken clock')")
        await tab.until("document.body.dataset.family === 'yes'")
        shown = await tab.value(TEXT)
        assert "not connected" not in shown
        assert "Nothing depends on it." in shown
        assert await tab.value(LIVE)
