"""The cluster at a moment that is chosen by the clock or by revision, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import CHROMIUM
from ui_pages import configmap, looking, pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
TEXT = "document.querySelector('#main').innerText"
KEPT = "document.body.dataset.state === 'kept'"
BANNER = "document.querySelector('.banner')"


async def test_the_cluster_at_a_time(tmp_path: Path) -> None:
    """Time and revision are both shown, and either chooses; ages are those of then."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        first = await client.create(configmap("first", {}))
        made = first["metadata"]["creationTimestamp"]
        await tab.until(f"Date.now() >= Date.parse('{made}') + 2000")  # the form has whole seconds
        await client.create(configmap("second", {}))
        await look.show("/history?ns=default", "document.body.dataset.changes > 1")
        time, revision = (
            f"document.querySelector('.moment input[type={kind}]')"
            for kind in ("datetime-local", "number")
        )
        await tab.until(f"!!{time}.value && !!{revision}.value")
        local = f"new Date(new Date('{made}') - new Date().getTimezoneOffset() * 60000)"
        await tab.value(
            f"{time}.value = {local}.toISOString().slice(0, 19);"
            f" {time}.dispatchEvent(new Event('input')); 0"
        )
        await tab.value("document.querySelector('.moment').requestSubmit()")
        await tab.until(f"{KEPT} && document.body.dataset.page === 'objects'")
        at = int(first["metadata"]["resourceVersion"])
        assert f"revision {at}" in await tab.value(f"{BANNER}.innerText")
        await tab.until(f"{BANNER}.innerText.includes(':') && {revision}.value === '{at}'")
        await tab.value("location.hash += '&ns=default'; 0")
        await tab.value(f"location.hash = '#/objects/core/configmaps?ns=default&at={at}'; 0")
        await tab.until(f"{KEPT} && {TEXT}.includes('first')")
        assert "second" not in await tab.value(TEXT)
        row = "[...document.querySelectorAll('.grid-row')].find(r => r.innerText.includes('first'))"
        await tab.until(f"/\\b[01]s$/.test({row}.innerText.trim())")
        await look.keep("cluster-at-a-time")
        await tab.value(
            f"{revision}.value = {at - 1}; {revision}.dispatchEvent(new Event('input'));"
            " document.querySelector('.moment').requestSubmit(); 0"
        )
        await tab.until(f"{BANNER}.innerText.includes('revision {at - 1}')")
        await tab.until(f"{KEPT} && !{TEXT}.includes('first')")
        await tab.until("!!document.querySelector('.moment')")
        await tab.value(
            f"{revision}.value = 99999999; {revision}.dispatchEvent(new Event('input'));"
            " document.querySelector('.moment').requestSubmit(); 0"
        )
        await tab.until(f"{BANNER}.innerText.includes('does not exist yet')")
        tab.complaints[:] = [one for one in tab.complaints if "99999999" not in one]
        await look.well()


async def test_ages_go_on_by_themselves(tmp_path: Path) -> None:
    """The server's own column Age is that of the clock of now, not of the list."""
    async with looking(tmp_path) as look:
        await look.client.create(configmap("one", {}))
        await look.show(
            "/objects/core/configmaps?ns=default", "document.body.dataset.state === 'live'"
        )
        age = (
            "[...document.querySelectorAll('.grid-row')].find(r => r.innerText.includes('one'))"
            ".lastChild.innerText"
        )
        before = await look.tab.value(age)
        await look.tab.until(f"{age} !== '{before}'")


async def test_dependents_as_they_were(tmp_path: Path) -> None:
    """At a revision before one was deleted it is there; its link leads to it at that revision."""
    async with looking(tmp_path) as look:
        tab, client = look.tab, look.client
        owner = await client.create(configmap("owner", {}))
        reference = {
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"],
        }  # fmt: skip
        below = await client.create(pod("below", ownerReferences=[reference]))
        at = below["metadata"]["resourceVersion"]
        await client.delete(client.kind("v1", "Pod"), "below", "default")
        family = "document.body.dataset.family === 'yes'"
        await look.show("/object/core/configmaps/default/owner", family)
        assert "Nothing depends on it." in await tab.value(TEXT)
        await look.show(f"/object/core/configmaps/default/owner?at={at}", f"{KEPT} && {family}")
        shown = await tab.value(TEXT)
        assert "Pod/below" in shown
        assert "Not allowed" not in shown
        link = "[...document.querySelectorAll('.tree a')].find(a => a.textContent === 'Pod/below')"
        assert (await tab.value(f"{link}.hash")).endswith(f"?at={at}")
        await look.well()
