"""Scripts are recorded and replayed."""

from __future__ import annotations

import pytest

from kubetrio.faults import Rule
from kubetrio.harness import Harness, Script, Setup, diff, record, replayed, run
from kubetrio.harness.script import Request, Settle

MAPS = "/api/v1/namespaces/default/configmaps"
MADE = {"metadata": {"generateName": "a-"}}
CHANGED = {
    "metadata": {
        "name": "{{2.metadata.name}}",
        "resourceVersion": "{{2.metadata.resourceVersion}}",
    },
    "data": {"uid": "{{2.metadata.uid}}"},
}


async def recorded(server: Harness) -> Script:
    """One step of each kind."""
    async with record(server) as session:
        await session.watch(f"{MAPS}?watch=1")
        await session.request("POST", MAPS, MADE)
        changed = await session.request("PUT", f"{MAPS}/{{{{2.metadata.name}}}}", CHANGED)
        assert changed.json()["data"]["uid"] == changed.json()["metadata"]["uid"]
        assert (await session.request("GET", "/api/v1/secrets", user="alice")).status == 403
        await session.inject(Rule(fault="409", verb="create", count=1))
        assert (await session.request("POST", MAPS, MADE)).status == 409
        await session.move(seconds=60)
        await session.settle()
        await session.restart()
        await session.request("DELETE", f"{MAPS}/{{{{2.metadata.name}}}}")
        return session.script


@pytest.fixture(scope="module")
def script() -> Script:
    """The recorded script."""
    return run(recorded, Setup(seed=3))


def test_a_replay_gives_the_same_bytes(script: Script) -> None:
    """Through a file, with answers and without."""
    again = Script.parse(str(script))
    assert again == script
    assert diff(script, replayed(again.unanswered())) == []


def test_another_seed_differs_in_names_and_uids_only(script: Script) -> None:
    """As two servers do."""
    other = replayed(script.seeded(4))
    differences = diff(script, other)
    assert any(one.where.endswith("metadata.name") for one in differences)
    assert diff(script, other, exact=False) == []


def test_a_watch_has_all_events(script: Script) -> None:
    """Up to the restart, which ended it."""
    watch = script.steps[0].answer
    assert watch is not None
    named = script.steps[1].answer
    assert named is not None
    name = named.json()["metadata"]["name"]
    seen = [one["type"] for one in watch.json() if one["object"]["metadata"]["name"] == name]
    assert seen == ["ADDED", "MODIFIED"]
    assert watch.error == "the connection was closed"


def test_a_reference_that_leads_nowhere_is_an_answer() -> None:
    """To a step that comes later, that has no body, or that does not exist; the rest is done."""
    paths = [f"{MAPS}/{{{{{number}.metadata.name}}}}" for number in (2, 1, 9)]
    requests = [Request(path=path) for path in (*paths, "/readyz")]
    answers = [step.answer for step in replayed(Script(steps=(Settle(), *requests))).steps]
    assert [answer.error for answer in answers[1:4] if answer] == [
        f"not sent: {{{{{number}.metadata.name}}}} leads nowhere" for number in (2, 1, 9)
    ]
    assert answers[4] is not None
    assert answers[4].body == b"ok"
