"""Objects made from pasted YAML, and deletions that are followed, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from chromium import CHROMIUM
from ui_pages import Looking, allow, configmap, looking, pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
LIVE = "document.body.dataset.state === 'live'"
AREA = "document.querySelector('dialog textarea')"
DIALOG = "document.querySelector('dialog').innerText"
GOOD = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
# quoted, with a comment, and with what looks like a marker
apiVersion: v1
kind: ConfigMap
metadata:
  labels: {name: other}
  annotations:
    name: another
  name: "settings"   # this one
  namespace: 'shop'
data:
  k: |
    --- no marker
--- {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: example.com/v1
kind: Widget
metadata:
  generateName: w-
"""
BAD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: UPPER
---
kind: Nope
apiVersion: v7
---
<img src=x onerror=window.hit=1>
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: fine
"""


async def review(look: Looking, text: str) -> list[str]:
    """Enter a text and have it reviewed; what is said of each document."""
    tab = look.tab
    typed = f"{AREA}.value = {json.dumps(text)}; {AREA}.dispatchEvent(new Event('input'))"
    await tab.value(f"{typed}; delete document.body.dataset.reviewed; 0")
    await tab.click("Review")
    await tab.until("document.body.dataset.reviewed")
    sections = "[...document.querySelectorAll('.document')].map(d => d.innerText)"
    said: list[str] = await tab.value(sections)
    return said


async def test_objects_are_created_from_several_documents(tmp_path: Path) -> None:
    """Nothing is written before each was reviewed; what needs an earlier one waits for it."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await look.show("/objects/core/configmaps?ns=default", LIVE)
        await tab.click("Create")
        upper, nope, markup, fine = await review(look, BAD)
        assert "Invalid value" in upper
        assert "no kind Nope" in nope
        assert "apiVersion and kind" in markup
        assert "This would be made" in fine
        assert fine.startswith("Document 4, line 11: ConfigMap/fine in default")
        button = (
            "[...document.querySelectorAll('button')].find(b => b.textContent === 'Create all 4')"
        )
        assert await tab.value(f"{button}.disabled")
        await look.keep("create-errors")
        namespace, settings, secret, definition, widget = await review(look, GOOD)
        assert "This would be made" in namespace
        assert "ConfigMap/settings in shop" in settings
        assert "when document 1 is there" in settings
        assert "Secret/s in default" in secret
        assert "widgets.example.com" in definition
        assert "when document 4 is there" in widget
        assert await tab.value("window.hit || 0") == 0
        kind = client.kind("v1", "Secret")
        assert (await client.list(kind, "default")).items == []
        await tab.click("Create all 5")
        await tab.until("document.body.dataset.created === '5'")
        await look.keep("create-done")
        made = await client.get(client.kind("v1", "ConfigMap"), "settings", "shop")
        assert made["data"] == {"k": "--- no marker\n"}
        assert made["metadata"]["managedFields"][0]["manager"] == "kubetrio-ui"
        widgets = await client.list(client.kind("example.com/v1", "Widget"), "default")
        assert [one["metadata"]["name"][:2] for one in widgets.items] == ["w-"]
        link = "[...document.querySelectorAll('dialog a')].find(a => a.textContent === 'Secret/s')"
        await tab.value(f"{link}.click()")
        await tab.until(
            "document.body.dataset.page === 'object' && !document.querySelector('dialog')"
        )
        tab.complaints[:] = [one for one in tab.complaints if "dryRun=All" not in one]
        await look.well()


async def test_documents_are_applied_and_the_first_failure_ends(tmp_path: Path) -> None:
    """What is there is shown as a difference; later documents are not written."""
    async with looking(tmp_path, "alice") as look:
        tab, client = look.tab, look.client
        rules = [
            {"nonResourceURLs": ["/ui/*"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
        ]
        await allow(client, "alice", rules)
        await client.apply(configmap("there", {"k": "old"}), field_manager="kubetrio-ui")
        text = (
            json.dumps(configmap("there", {"k": "new"}))
            + "\n---\n"
            + json.dumps(configmap("new", {}))
        )
        await look.show("/objects/core/configmaps?ns=default", LIVE)
        await tab.click("Create")
        way = "document.querySelector('dialog select')"
        await tab.value(f"{way}.value = 'apply'; {way}.dispatchEvent(new Event('input')); 0")
        there, new = await review(look, text)
        assert "k: new" in there
        assert "It is not there yet" in new
        await client.apply(configmap("there", {"k": "theirs"}), field_manager="helm", force=True)
        await tab.click("Apply all 2")
        await tab.until(f"{DIALOG}.includes('0 of 2 done')")
        assert "helm" in await tab.value(DIALOG)
        kind = client.kind("v1", "ConfigMap")
        names = {one["metadata"]["name"] for one in (await client.list(kind, "default")).items}
        assert "new" not in names
        secret = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        (refused,) = await review(look, secret)
        assert 'secrets "s" is forbidden' in refused
        await look.keep("create-denied")


async def test_a_deletion_is_followed_until_all_is_gone(tmp_path: Path) -> None:
    """Of each dependent, and of what is in a namespace; finalizers that hold one are named."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        kind = client.kind("v1", "ConfigMap")
        owner = await client.create(configmap("owner", {}))
        reference = {
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"],
        }  # fmt: skip
        await client.create(pod("below", ownerReferences=[reference]))
        held = configmap("held", {})
        held["metadata"] |= {"ownerReferences": [reference], "finalizers": ["example.com/wait"]}
        await client.create(held)
        await look.show("/object/core/configmaps/default/owner", LIVE)
        await tab.until("document.body.dataset.family === 'yes'")
        await tab.click("Delete")
        await tab.until(f"{DIALOG}.includes('ConfigMap/held')")
        await tab.value("document.querySelector('dialog button.danger').click()")
        await tab.until("document.body.dataset.left === '1'")
        assert "waits for example.com/wait" in await tab.value(DIALOG)
        assert "2 of 3 are gone" in await tab.value(DIALOG)
        await look.keep("delete-followed")
        patch = {"metadata": {"finalizers": None}}
        await client.patch(kind, "held", patch, namespace="default")
        await tab.until(f"{DIALOG}.includes('All 3 are gone')")
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        await client.create(configmap("inside", {}, "n"))
        await look.show("/object/core/namespaces/-/n", LIVE)
        await tab.click("Delete")
        await tab.until(f"/\\d . ConfigMap/.test({DIALOG})")
        await tab.value("document.querySelector('dialog button.danger').click()")
        await tab.until("document.body.dataset.left === '0'")
        names = {
            one["metadata"]["name"]
            for one in (await client.list(client.kind("v1", "Namespace"))).items
        }
        assert "n" not in names
        with trio.fail_after(5):
            await tab.click("Close")
        await look.well()


FOCUS = "document.activeElement.textContent"


async def test_the_focus_stays_in_the_dialog(tmp_path: Path) -> None:
    """After a review that ends in a conflict, an error, or in what would change."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.apply(configmap("a", {"k": "one"}), field_manager="helm")
        await look.show("/object/core/configmaps/default/a", LIVE)
        await tab.click("Edit")
        before = f"{AREA}.value"
        for old, new, said in (
            ("k: one", "k: two", "Other managers own"),
            ("apiVersion: v1", "apiVersion: v9", "v9"),
        ):
            await tab.value(f"{AREA}.value = {before}.replace('{old}', '{new}'); 0")
            button = "[...document.querySelectorAll('dialog button')].find"
            await tab.value(f"{button}(b => b.textContent === 'Review changes').focus(); 0")
            await tab.press("Enter", 13)
            await tab.until(f"{DIALOG}.includes('{said}')")
            assert await tab.value(FOCUS) == "Review changes"
            await tab.until(f"{FOCUS} === 'Review changes'")
        await tab.value(f"{AREA}.value = {before}.replace('v9', 'v1'); 0")
        await tab.press("Enter", 13)
        await tab.click("Take these fields over")
        await tab.until(f"{FOCUS} === 'Make these changes'")
        tab.complaints[:] = [one for one in tab.complaints if "409" not in one and "400" not in one]
        await look.well()


async def test_what_an_apply_leaves_to_other_managers_is_said(tmp_path: Path) -> None:
    """Putting an old revision back names the members that stay, and who owns them."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        await client.create(configmap("a", {"k": "1"}), field_manager="kubetrio-ui")
        more = configmap("a", {"more": "1", "a.b": "2"})
        more["metadata"]["labels"] = {"team": "red"}
        await client.apply(more, field_manager="helm")
        await look.show(
            "/object/core/configmaps/default/a?tab=history", "!!document.querySelector('tbody tr')"
        )
        rows = "document.querySelectorAll('tbody tr')"
        await tab.until(f"{rows}.length === 2")
        await tab.until("!!document.body.dataset.compared")
        first = await tab.value(f"{rows}[1].dataset.revision")
        await tab.value(f"{rows}[1].querySelector('button').click()")
        await tab.until(f"document.body.dataset.compared === '0-{first}'")
        await tab.click(f"Put revision {first} back")
        await tab.click("Review changes")
        await tab.until("!!document.querySelector('dialog .stays')")
        stays = await tab.value(
            "[...document.querySelectorAll('dialog .stays li')].map(l => l.textContent)"
        )
        assert stays == [
            ".data.more \u2013 owned by helm", '.data["a.b"] \u2013 owned by helm',
            ".metadata.labels \u2013 owned by helm",
        ]  # fmt: skip
        await look.keep("put-back-stays")
        await look.well()


async def test_a_namespace_has_no_policy_of_deletion(tmp_path: Path) -> None:
    """What is in it goes with it under each, so none is offered."""
    async with looking(tmp_path) as look:
        tab = look.tab
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        await look.client.create(space)
        await look.client.create(configmap("a", {}, "shop"))
        await look.show("/object/core/namespaces/-/shop", LIVE)
        await tab.click("Delete")
        await tab.until(f"{DIALOG}.includes('Everything in the namespace goes with it')")
        assert "Orphan" not in await tab.value(DIALOG)
        await tab.value("document.querySelector('dialog .actions .danger').click()")
        await tab.until(f"{DIALOG}.includes('are gone.') && document.body.dataset.left === '0'")
        await look.well()
