"""Steps become requests as they go on the wire."""

from __future__ import annotations

import pytest

from kubetrio.harness.player import AGENT, Prepared, UnsendableError, prepared, streamed
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Request, Watch


def answers(number: int) -> dict[str, str]:
    return {"name": f"a{number}/b"}


def test_references_are_replaced_everywhere() -> None:
    """In the path, headers, the body, the user and groups."""
    step = Request(
        method="PUT", path="/x/{{1.name}}", headers={"X": "{{2.name}}"}, body={"n": "{{1.name}}"},
        user="{{3.name}}", groups=("g", "{{4.name}}"),
    )  # fmt: skip
    assert prepared(step, answers) == Prepared(
        "PUT",
        "/x/a1%2Fb",
        [
            ("Content-Type", "application/json"),
            ("X", "a2/b"),
            ("User-Agent", AGENT),
            ("Impersonate-User", "a3/b"),
            ("Impersonate-Group", "g"),
            ("Impersonate-Group", "a4/b"),
        ],
        b'{"n":"a1/b"}',
    )


def test_a_text_is_sent_as_it_is() -> None:
    """With the type that it has, and no body where there is none."""
    headers = {"content-type": "t", "User-Agent": "me"}
    step = Request(path="/", method="POST", text="a: {{1.name}}", headers=headers)
    assert prepared(step, answers)[2:] == (
        [("content-type", "t"), ("User-Agent", "me")],
        b"a: a1/b",
    )
    assert prepared(Watch(path="/?watch=1"), answers) == Prepared(
        "GET", "/?watch=1", [("User-Agent", AGENT)], None
    )


def test_bytes_are_sent_as_they_are() -> None:
    """A body that is no text."""
    assert prepared(Request(path="/", method="POST", base64="/w=="), answers).body == b"\xff"


@pytest.mark.parametrize(
    "step",
    [
        Request(path="/\ud800"),
        Request(path="/", user="\u2603"),
        Request(path="/", headers={"a": "\u2603"}),
        Request(path="/", method="POST", text="\ud800"),
        Request(path="/", method="POST", body={"a": "\ud800"}),
        Request(path="/", method="POST", body=1 << 70),
    ],
)
def test_what_cannot_be_sent_is_told(step: Request) -> None:
    """Characters that neither headers nor UTF-8 have, and numbers that JSON is not written with."""
    with pytest.raises(UnsendableError, match=r"cannot be in it|its body"):
        prepared(step, answers)


def test_a_stream_of_json_is_events() -> None:
    """A failure, or another type, is a body."""
    head = Reply(status=200, headers={"content-type": "application/json"})
    assert streamed(head, b"{}\n1\n").events == (b"{}", b"1")
    for other in (Reply(status=410, headers=head.headers), Reply(status=200)):
        assert streamed(other, b"{}\n").body == b"{}\n"
