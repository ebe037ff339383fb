"""The steps of a script in a real browser: seen, by keyboard, and with markup in every place."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from chromium import CHROMIUM, Tab
from ui_pages import AXE_SERIOUS, SHIFTS, behind_link, picture

from kubetrio.cli.played import Played, play
from kubetrio.env import Env
from kubetrio.faults import Rule
from kubetrio.harness import Script, Setup, replayed
from kubetrio.harness.script import Inject, Move, Request, Restart, Settle, Step, Watch

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
MARKUP = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"
MAPS = "/api/v1/namespaces/default/configmaps"
TEXT = "document.querySelector('#main').innerText"
STEPS: tuple[Step, ...] = (
    Watch(path=f"{MAPS}?watch=1"),
    Request(
        method="POST",
        path=f"{MAPS}?fieldManager={'%3Cimg%20src=x%20onerror=window.hit=1%3E'}",
        body={"metadata": {"name": "a", "annotations": {"x": MARKUP}}, "data": {"k": MARKUP}},
        headers={"X-Markup": MARKUP},
    ),
    Move(seconds=3600),
    Request(
        method="PUT", path=f"{MAPS}/a", body={"metadata": {"name": "a"}, "data": {"k": "مرحبا"}}
    ),
    Inject(rule=Rule(fault="500", name=MARKUP)),
    Request(path=f"{MAPS}/{MARKUP.replace(' ', '%20')}", user=MARKUP, groups=(MARKUP,)),
    Request(method="POST", path=MAPS, text=f"{MARKUP}\n</textarea>"),
    Request(method="POST", path=MAPS, body={"spec": {"managedFields": [1]}, MARKUP: [[MARKUP]]}),
    Request(
        method="PATCH",
        path=f"{MAPS}/a",
        body=[{"op": "add", "path": "/data/n", "value": "1"}],
        headers={"Content-Type": "application/json-patch+json"},
    ),
    Request(method="POST", path=MAPS, base64="AP8="),
    Settle(),
    Restart(),
    Request(method="DELETE", path=f"{MAPS}/a"),
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A script whose fourth step was answered otherwise when it was recorded."""
    path = tmp_path_factory.mktemp("script") / "story.json"
    script = replayed(Script(setup=Setup(seed=3), steps=STEPS))
    steps = list(script.steps)
    assert steps[3].answer is not None
    body = steps[3].answer.body.replace("مرحبا".encode(), b"before")
    steps[3] = replace(steps[3], answer=replace(steps[3].answer, body=body))
    replace(script, steps=tuple(steps)).save(path)
    return play(path)


async def step(tab: Tab, number: int) -> str:
    """Show a step and return its text."""
    await tab.value(f"location.hash = '#/script/{number}'; 0")
    await tab.until(f"document.body.dataset.step === '{number}'")
    shown: str = await tab.value(TEXT)
    return shown


async def test_steps_with_their_answers(tmp_path: Path, played: Played) -> None:
    """In order, each with what was sent, answered, changed, and the cluster after it."""
    async with (
        played.serve(Env()) as handle,
        behind_link(tmp_path, handle) as (tab, _, _, _),
    ):
        await tab.size(1300, 850)
        await tab.until(f"document.body.dataset.steps === '{len(STEPS)}'")
        await picture(tab, tmp_path, "script")
        lines = await tab.value("document.querySelector('.grid').innerText")
        assert f"PUT {MAPS}/a" in lines
        assert "move the clock by 3600 s" in lines
        changed = await step(tab, 4)
        assert "Answered otherwise now" in changed
        assert "What differs from the answer of step 2" in changed
        minus = "[...document.querySelectorAll('.diff .minus')].map(e => e.textContent).join()"
        assert MARKUP in await tab.value(minus)
        assert "k: before" in await tab.value(minus)
        assert "ConfigMap/a" in changed
        assert "by kubetrio-script" in changed
        await picture(tab, tmp_path, "script-step")
        way = "document.querySelector('.heading select')"
        await tab.value(f"{way}.value = 'json'; {way}.dispatchEvent(new Event('change')); 0")
        await tab.until(f"{TEXT}.includes('\"data\": {{')")
        await tab.value(
            "[...document.querySelectorAll('a')].find("
            "a => a.textContent === 'the cluster then').click()"
        )
        await tab.until("document.body.dataset.state === 'kept'")
        banner = "document.querySelector('.banner')"
        assert "Read-only: the cluster as it was at revision" in await tab.value(
            f"{banner}.textContent"
        )
        await tab.until(f"!!{banner}.querySelector('input[type=datetime-local]').value")
        await step(tab, 2)
        await tab.press("j", 74)
        await tab.until("document.body.dataset.step === '3'")
        await tab.press("k", 75)
        await tab.until("document.body.dataset.step === '2'")
        await tab.press("4", 52)
        await tab.until(
            "document.body.dataset.page === 'script' && !!document.querySelector('.grid')"
        )
        assert tab.complaints == []


async def test_markup_in_a_script_is_text(tmp_path: Path, played: Played) -> None:
    """In paths, headers, users, bodies, answers and rules; nothing is to be changed."""
    async with (
        played.serve(Env()) as handle,
        behind_link(tmp_path, handle) as (tab, _, _, paths),
    ):
        await tab.until("document.body.dataset.steps")
        for number in range(1, len(STEPS) + 1):
            shown = await step(tab, number)
            await tab.value("document.querySelectorAll('details').forEach(d => d.open = true); 0")
            if number in (2, 5, 6, 7, 8):
                assert "onerror" in shown, number
            assert await tab.value("window.hit || 0") == 0, number
            links = "[...document.querySelectorAll('a')].map(a => a.protocol)"
            assert set(await tab.value(links)) <= {"http:"}, number
        buttons = "[...document.querySelectorAll('button')].map(b => b.textContent)"
        assert not {"Edit", "Delete", "Create"} & set(await tab.value(buttons))
        assert all("://" not in path for path in paths)
        for wrong in ("99", "0", "-1", "1.5", "x"):
            await tab.value(f"location.hash = '#/script/{wrong}'; 0")
            await tab.until(f"{TEXT}.includes('no such step: {wrong}')")
        assert tab.complaints == []


@pytest.mark.slow
async def test_what_is_drawn_stays_where_it_is(tmp_path: Path, played: Played) -> None:
    """The list of steps, and steps, in wide and in narrow windows."""
    async with (
        played.serve(Env()) as handle,
        behind_link(tmp_path, handle) as (tab, _, _, _),
    ):
        await tab.until("document.body.dataset.steps")
        for width in (1300, 400):
            await tab.size(width, 850)
            await tab.value("location.hash = '#/script'; 0")
            await tab.value("document.body.dataset.steps = ''; window.before = 1; 0")
            await tab.call("Page.reload")
            await tab.until("!window.before && !!document.body.dataset.steps")
            assert await tab.value(SHIFTS) < 0.02, width
            for number in (2, 4):
                await step(tab, number)
                assert await tab.value(SHIFTS) < 0.02, (width, number)


@pytest.mark.slow
async def test_a_script_at_any_width_and_with_axe(tmp_path: Path, played: Played) -> None:
    """From 400 to 2,500 pixels, light and dark: nothing sticks out, nothing serious is found."""
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    async with (
        played.serve(Env()) as handle,
        behind_link(tmp_path, handle) as (tab, _, _, _),
    ):
        await tab.until("document.body.dataset.steps")
        for where in ("list", "4", "1"):
            if where != "list":
                await step(tab, int(where))
            for width in (400, 1300, 2500):
                await tab.size(width, 850)
                await tab.until(f"innerWidth === {width}")
                assert await tab.value(over) <= 0, (where, width)
                await picture(tab, tmp_path, f"script-{where}-{width}")
            for scheme in ("light", "dark"):
                await tab.prefer(prefers_color_scheme=scheme)
                await tab.value(f"{axe}; 0")
                assert await tab.value(AXE_SERIOUS) == [], (where, scheme)
