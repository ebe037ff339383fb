"""Warnings of one answer."""

from __future__ import annotations

import pytest

from kubetrio.api.warningheaders import EACH, TOTAL, Warnings

OTHER = (b"Audit-Id", b"x")


def told(*texts: str) -> list[bytes]:
    """Values of the headers that texts make, beside one that was there."""
    headers = [OTHER]
    warnings = Warnings(headers)
    for text in texts:
        warnings.add([text])
    assert headers[0] == OTHER
    assert all(name == b"Warning" for name, _ in headers[1:])
    return [value for _, value in headers[1:]]


def test_each_text_once() -> None:
    """Repetitions and empty texts are left out."""
    assert told("a", "b", "a", "") == [b'299 - "a"', b'299 - "b"']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('say "no"\\', [b'299 - "say \\"no\\"\\\\"']),
        ("line\nbreak", []),
        ("größer", ['299 - "größer"'.encode()]),
    ],
)
def test_what_a_header_can_say(text: str, expected: list[bytes]) -> None:
    """Quotes are escaped; what would end the header is not said."""
    assert told(text) == expected


def test_a_long_text_alone_is_told_in_full() -> None:
    """There is room for all of them together."""
    assert told("a" * TOTAL) == [b'299 - "%b"' % (b"a" * TOTAL)]


def test_too_much_is_cut() -> None:
    """Past the room for all, each is cut, and those told before too."""
    found = told("a" * 3000, "b" * 3000, "c")
    assert found == [
        b'299 - "%b"' % (b"a" * EACH),
        b'299 - "%b"' % (b"b" * EACH),
        b'299 - "c"',
    ]


def test_too_much_ends() -> None:
    """Cut ones fill the room, and no more follow."""
    texts = [f"{number:03}" + "x" * 300 for number in range(100)]
    found = told(*texts)
    assert len(found) == TOTAL // EACH
    assert found[0] == b'299 - "%b"' % texts[0][:EACH].encode()


def test_a_text_that_cannot_be_said_takes_no_room() -> None:
    """It does not cut the others either."""
    assert told("a" * 300, "\n" * TOTAL) == [b'299 - "%b"' % (b"a" * 300)]
