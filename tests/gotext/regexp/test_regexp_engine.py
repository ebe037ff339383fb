"""What patterns find, as Go finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.gotext.regexp.bindings import available
from kubetrio.gotext.regexp.engine import Regexp

needs_re2 = pytest.mark.skipif(not available(), reason="needs google-re2")
TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "cases/patterns.json").read_text())


@needs_re2
def test_the_matches_are_those_of_go() -> None:
    wrong = {}
    for pattern, error, *rest in TABLE["patterns"]:
        if not error:
            regexp = Regexp(pattern)
            found = "".join("01"[regexp.is_in(text)] for text in TABLE["texts"])
            if found != rest[0]:
                wrong[pattern] = (rest[0], found)
    assert wrong == {}


@needs_re2
def test_what_is_found_is_what_go_finds() -> None:
    for pattern, found in TABLE["found"].items():
        regexp = Regexp(pattern)
        assert [list(regexp.found_in(text)) for text in TABLE["texts"]] == found, pattern


@needs_re2
def test_texts_with_any_characters() -> None:
    assert Regexp("^a.b$").is_in("a\0b")
    assert Regexp("\0").is_in("a\0b")
    assert list(Regexp(".").found_in("aé\U0001f600")) == ["a", "é", "\U0001f600"]
    assert Regexp("a").is_in("\ud800a")
