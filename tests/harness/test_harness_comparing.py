"""Replays are compared exactly, or without what is particular to a server."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.harness.comparing import LONGEST, MISSING, diff
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Request, Script, Settle

UIDS = [f"0000000{number}-0000-4000-8000-000000000000" for number in range(4)]


def answered(*bodies: Any, headers: dict[str, str] | None = None) -> Script:
    """A script of one request for each body."""
    replies = [Reply(status=200, headers=headers or {}, body=orjson.dumps(one)) for one in bodies]
    return Script(steps=tuple(Request(path="/", answer=reply) for reply in replies))


def test_places_of_differences_are_named() -> None:
    """With the step, and what is missing on either side."""
    one = answered({"a": 1}, {"b": [1, 2], "c": 1})
    other = answered({"a": 1}, {"b": [1, 3, 4]})
    assert [(each.step, each.where, each.one, each.other) for each in diff(one, other)] == [
        (2, "answer.json.b.1", 2, 3),
        (2, "answer.json.b.2", MISSING, 4),
        (2, "answer.json.c", 1, MISSING),
    ]
    assert str(diff(one, other)[0]) == "step 2: answer.json.b.1: 2 / 3"


def test_steps_of_one_script_alone_differ() -> None:
    """By their kind."""
    one = Script(steps=(Settle(),))
    assert [each.text for each in diff(one, Script())] == [f"step: settle / {MISSING}"]


def test_uids_are_compared_by_when_they_appear() -> None:
    """Two that are equal in one replay are equal in the other."""
    one = answered({"uid": UIDS[0]}, {"owner": UIDS[0], "uid": UIDS[1]})
    alike = answered({"uid": UIDS[2]}, {"owner": UIDS[2], "uid": UIDS[3]})
    other = answered({"uid": UIDS[2]}, {"owner": UIDS[3], "uid": UIDS[3]})
    assert diff(one, alike, exact=False) == []
    assert [each.where for each in diff(one, other, exact=False)] == ["answer.json.owner"]


def test_what_is_particular_to_a_server_does_not_count() -> None:
    """Times, revisions, generated names and most headers; warnings do."""

    def made(number: int) -> dict[str, Any]:
        meta = {"generateName": "a-", "name": f"a-x{number}", "resourceVersion": str(number)}
        return {"metadata": {**meta, "creationTimestamp": f"2023-11-14T22:13:2{number}Z"},
                "message": f"no a-x{number}"}  # fmt: skip

    one = answered(made(1), headers={"audit-id": "1", "content-type": "c"})
    other = answered(made(2), headers={"audit-id": "2", "content-type": "c"})
    assert diff(one, other, exact=False) == []
    assert len(diff(one, other)) == 5
    warned = answered(made(2), headers={"warning": "w"})
    wheres = [each.where for each in diff(one, warned, exact=False)]
    assert wheres == ["answer.headers.content-type", "answer.headers.warning"]


def test_long_values_are_cut() -> None:
    """In the line of a difference, not in its values."""
    [one] = diff(answered("a" * 999), answered("b"))
    assert len(one.text) < LONGEST + 50
    assert len(str(one.one)) == 999
