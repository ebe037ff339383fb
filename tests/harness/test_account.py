"""What pages are told of a script's steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from kubetrio.harness import Script
from kubetrio.harness.account import account
from kubetrio.harness.observing import Observed, observed
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Move, Request, Settle, Watch
from kubetrio.ui.steps import Steps

MAPS = "/api/v1/namespaces/default/configmaps"
NAME = "{{2.metadata.name}}"
MARKUP = "<img src=x onerror=window.hit=1>"
STEPS = (
    Watch(path=f"{MAPS}?watch=1"),
    Request(method="POST", path=MAPS, body={"metadata": {"generateName": "a-"}}),
    Request(
        method="PATCH",
        path=f"{MAPS}/{NAME}",
        body={"data": {"k": MARKUP}},
        headers={"Content-Type": "application/merge-patch+json"},
    ),
    Move(seconds=60),
    Request(path=f"{MAPS}/{NAME}", user="alice", groups=("some",)),
    Request(path=f"{MAPS}/{NAME}"),
    Request(path=MAPS),
    Request(path=f"{MAPS}/{{{{4.x}}}}"),
    Request(method="POST", path=MAPS, text="a: [", headers={"Content-Type": "application/yaml"}),
    Settle(),
)


@pytest.fixture(scope="module")
def replay() -> Observed:
    """The script, done."""
    return observed(Script(steps=STEPS))


def heads(steps: Steps) -> list[dict[str, Any]]:
    """The lines of the steps."""
    found: list[dict[str, Any]] = orjson.loads(steps.listed)["items"]
    return found


def detail(steps: Steps, number: int) -> Any:
    """All of a step."""
    return orjson.loads(steps.details[number - 1])


def test_lines_of_steps(replay: Observed) -> None:
    """What was done, to which object, with which answer; references are replaced."""
    steps = account("s", replay.script, replay)
    watch, post, patch, move, denied, get, listed, nowhere, bad, settle = heads(steps)
    assert steps.count == len(STEPS)
    assert (watch["do"], watch["status"], watch["events"]) == ("watch", 200, 3)
    name = post["object"]["name"]
    assert post["object"] == {
        "group": "", "resource": "configmaps", "namespace": "default", "name": name,
    }  # fmt: skip
    assert patch["path"] == f"{MAPS}/{name}"
    assert patch["revision"] == patch["before"] + 1
    assert (move["seconds"], move["time"] < move["until"]) == (60, True)
    assert (denied["user"], denied["status"], get["status"]) == ("alice", 403, 200)
    assert "object" not in listed
    assert nowhere["error"].startswith("not sent")
    assert (bad["status"], settle["status"]) == (400, 0)
    assert {one["otherwise"] for one in heads(steps)} == {0}


def test_the_step_before_on_the_same_object(replay: Observed) -> None:
    """That with the newest answer which is the object; a refusal and a list are none."""
    steps = account("s", replay.script, replay)
    assert "earlier" not in detail(steps, 2)
    patched = detail(steps, 3)
    assert patched["earlier"]["number"] == 2
    assert "data" not in patched["earlier"]["object"]
    assert patched["answer"]["json"]["data"] == {"k": MARKUP}
    assert "earlier" not in detail(steps, 5)
    assert detail(steps, 6)["earlier"]["number"] == 3


def test_what_was_sent(replay: Observed) -> None:
    """Bodies as JSON or as text, with the headers that were sent."""
    steps = account("s", replay.script, replay)
    sent = detail(steps, 3)["sent"]
    assert sent["json"] == {"data": {"k": MARKUP}}
    assert ["Content-Type", "application/merge-patch+json"] in sent["headers"]
    assert ["Impersonate-Group", "some"] in detail(steps, 5)["sent"]["headers"]
    assert detail(steps, 9)["sent"]["text"] == "a: ["
    assert "sent" not in detail(steps, 4)


def test_what_is_answered_otherwise_now(replay: Observed) -> None:
    """Answers of the script are shown, and beside them what a replay has in their place."""
    recorded = list(replay.script.steps)
    assert isinstance(recorded[5], Request)
    recorded[5] = replace(recorded[5], answer=Reply(status=500, body=b"{}"))
    steps = account("s", replace(replay.script, steps=tuple(recorded)), replay)
    assert heads(steps)[5]["status"] == 500
    assert heads(steps)[5]["otherwise"] > 0
    assert detail(steps, 6)["now"]["json"]["data"] == {"k": MARKUP}
    assert "now" not in detail(steps, 3)
    found = {one["where"]: one for one in detail(steps, 6)["differences"]}
    assert found["answer.status"] == {"where": "answer.status", "script": "500", "now": "200"}


def test_a_script_without_answers(replay: Observed) -> None:
    """Has those of the replay, and says so."""
    steps = account("s", Script(steps=STEPS), replay)
    assert orjson.loads(steps.listed)["answers"] is False
    assert [one["status"] for one in heads(steps)] == [
        200, 201, 200, 0, 403, 200, 200, 0, 400, 0,
    ]  # fmt: skip
