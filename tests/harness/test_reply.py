"""Answers are values, and JSON that keeps every byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.harness.reply import Reply, ReplyError


@given(body=st.binary(), events=st.lists(st.binary(min_size=1), max_size=3))
def test_bytes_survive_json(body: bytes, events: list[bytes]) -> None:
    """Whatever they are."""
    reply = Reply(status=200, headers={"a": "b"}, body=body, events=tuple(events), error="x")
    assert Reply.of(json.loads(json.dumps(reply.as_dict()))) == reply


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"a":1}\n', {"jsonLine": {"a": 1}}),
        (b'{"a":1}', {"json": {"a": 1}}),
        (b'{"a": 1}', {"text": '{"a": 1}'}),
        (b'{"a":1,"a":2}', {"text": '{"a":1,"a":2}'}),
        (b"ok", {"text": "ok"}),
        (b"\xff", {"base64": "/w=="}),
    ],
)
def test_the_most_readable_form_is_taken(body: bytes, shown: dict[str, Any]) -> None:
    """Of those that mean exactly these bytes."""
    assert Reply(body=body).as_dict() == shown


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (1, "must be an object"),
        ({"stauts": 1}, "no field 'stauts'"),
        ({"status": "200"}, "status: must be a whole number"),
        ({"headers": {"a": 1}}, "headers: must be an object of texts"),
        ({"text": "a", "json": 1}, "json and text cannot be used together"),
        ({"text": 1}, "text: must be a text"),
        ({"base64": "?"}, "base64: "),
        ({"events": {}}, "events must be a list"),
    ],
)
def test_what_means_no_answer_is_told(data: Any, told: str) -> None:
    """In one line."""
    with pytest.raises(ReplyError, match=told):
        Reply.of(data)


def test_a_watch_is_read_as_a_list() -> None:
    """So that references lead to its events."""
    assert Reply(events=(b'{"type":"ADDED"}', b"2")).json() == [{"type": "ADDED"}, 2]
