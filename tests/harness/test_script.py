"""A script is a value, and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.faults import Rule
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import (
    FORMAT,
    Inject,
    Move,
    Request,
    Restart,
    Script,
    ScriptError,
    Settle,
    Watch,
)
from kubetrio.harness.setup import Setup

FULL = Script(
    setup=Setup(seed=7, flags=["--event-ttl=5m"]),
    steps=(
        Request(method="POST", path="/api/v1/pods?a=b", body={"a": [1, None]}, user="u",
                groups=("g",), headers={"X": "y"}, answer=Reply(status=201, body=b"{}")),
        Request(path="/api", text="not JSON", method="PUT"),
        Request(path="/api", base64="/w==", method="PUT"),
        Watch(path="/api/v1/pods?watch=1", answer=Reply(status=200, events=(b'{"a":1}',))),
        Move(seconds=3600),
        Inject(rule=Rule(fault="409", verb=["update"], count=1)),
        Inject(),
        Settle(answer=Reply(error="not done")),
        Restart(),
    ),
)  # fmt: skip


def test_json_and_back(tmp_path: Path) -> None:
    """As text, and in a file; what is as usual is left out."""
    assert Script.parse(str(FULL)) == FULL
    FULL.save(tmp_path / "s.json")
    assert Script.load(tmp_path / "s.json") == FULL
    data = json.loads(str(FULL))
    assert (data["format"], data["seed"]) == (FORMAT, 7)
    assert data["steps"][4] == {"do": "move", "seconds": 3600}
    assert data["steps"][1] == {
        "do": "request",
        "method": "PUT",
        "path": "/api",
        "text": "not JSON",
    }
    assert len(str(FULL).splitlines()) == len(FULL.steps) + 2


def test_copies_without_answers_and_with_another_seed() -> None:
    """The script itself stays as it is."""
    assert all(step.answer is None for step in FULL.unanswered().steps)
    assert FULL.seeded(8).setup.seed == 8
    assert FULL.setup.seed == 7


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"do": "jump"}, "step 2: do: must be one of request, watch"),
        ({"do": "request"}, "step 2: path: must be given"),
        ({"do": "request", "path": "api"}, "step 2: path: must begin with /"),
        ({"do": "request", "path": "/a b"}, "step 2: path: "),
        ({"do": "request", "path": "/", "method": "GET\r\n"}, "step 2: method: must be a word"),
        ({"do": "request", "path": "/", "headers": {"a": "b\r\nc: d"}}, "step 2: headers"),
        ({"do": "request", "path": "/", "headers": {"a": 1}}, "step 2: headers"),
        ({"do": "request", "path": "/", "body": 1, "text": "a"}, "body and text cannot"),
        ({"do": "request", "path": "/", "base64": "?"}, "step 2: "),
        ({"do": "watch", "path": "/", "method": "GET"}, "watch has no field 'method'"),
        ({"do": "move"}, "step 2: seconds: must be given"),
        ({"do": "move", "seconds": True}, "step 2: seconds: must be a number"),
        ({"do": "move", "seconds": -1}, "step 2: seconds: must be a number from 0"),
        ({"do": "fault", "rule": {"fault": "x"}}, "step 2: fault: there is no 'x'"),
        ({"do": "settle", "answer": {"status": ""}}, "step 2: answer: status"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_step(step: dict[str, Any], told: str) -> None:
    """In one line, with the number of the step from 1."""
    data = {"format": FORMAT, "steps": [{"do": "settle"}, step]}
    with pytest.raises(ScriptError, match=told):
        Script.of(data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "no JSON"),
        ("[]", "format: must be"),
        ("[" * 100_000, "nested more than"),
        (
            '{"format":"kubetrio-script/1","steps":' + "[" * 150 + "]" * 150 + "}",
            "nested more than",
        ),
        ("9" * 5000, "no JSON"),
        ('{"format":"kubetrio-script/2"}', "format: must be"),
        ('{"format":"kubetrio-script/1"}', "steps: must be a list"),
        ('{"format":"kubetrio-script/1","steps":[],"x":1}', "no field 'x'"),
        ('{"format":"kubetrio-script/1","steps":[],"seed":"1"}', "seed: must be a whole number"),
        ('{"format":"kubetrio-script/1","steps":[],"server":{"disk":1}}', "no field 'disk'"),
    ],
)
def test_a_document_that_is_no_script_is_told(text: str, told: str) -> None:
    """Of another format, or with unknown fields."""
    with pytest.raises(ScriptError, match=told):
        Script.parse(text)
