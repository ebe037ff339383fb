"""Formats of texts, as Go's ``strfmt`` judges them.

``formatfacts.json`` has texts by format, and whether ``strfmt.Default.Validates`` took them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubetrio.gotext.mailaddresses import is_address
from kubetrio.structural.valueformats import FORMATS

FACTS: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("formatfacts.json").read_bytes()
)


@pytest.mark.parametrize("name", FACTS)
def test_texts_of_a_format(name: str) -> None:
    check = FORMATS[name.replace("-", "")]
    assert [text for text in FACTS[name]["yes"] if not check(text)] == []
    assert [text for text in FACTS[name]["no"] if check(text)] == []


def test_every_format_has_facts() -> None:
    assert FORMATS.keys() == {name.replace("-", "") for name in FACTS}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("team: a@b;", True),
        ("team: A <a@b>;", True),
        ("team: a@b, c@d;", False),
        ("team: x: a@b;;", False),
        ("A (a \\) b) B <a@b> (c (d))", True),
        ("a@b (c", False),
        ("=?utf-8?q?a=20b?= <a@b>", True),
        ("=?utf-8?q??= <a@b>", False),
        ("=?x-none?q?a?= <a@b>", False),
        ("A =?x-none?q?a?= <a@b>", True),
        ("a@b =?x-none?q?a?=", False),
        ("a@b (=?x-none?q?a?=)", False),
        ('A <"b c"@[10.0.0.1]>', True),
    ],
)
def test_names_groups_and_comments(text: str, good: bool) -> None:
    assert is_address(text) is good
