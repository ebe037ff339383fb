"""Formats of names, keys and paths."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.common import formats
from kubetrio.kinds.common.checks import Check
from kubetrio.machinery.status import Cause


def found(check: Check, value: Any) -> list[str]:
    out: list[Cause] = []
    check(value, "p", out)
    return [cause.message.partition(": ")[2] for cause in out]


@pytest.mark.parametrize(
    ("text", "good"), [("a", True), ("..", False), ("..a", False), ("a/b", False), ("", False)]
)
def test_config_key(text: str, good: bool) -> None:
    """Keys become names of files."""
    assert (not formats.config_key(text)) is good


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a/b", []),
        ("/a", ["must be a relative path"]),
        ("a/../b", ["must not contain '..'"]),
        ("..a", ["must not start with '..'"]),
        ("../a", ["must not contain '..'"]),
    ],
)
def test_local_path(text: str, messages: list[str]) -> None:
    """Files stay in their folder."""
    assert [text.rpartition(": ")[2] for text in found(formats.local_path, text)] == messages


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), ("30%", 30), ("x", 0), (None, 0), ("12", 12)]
)
def test_number_or_percent(value: Any, expected: int) -> None:
    """Both forms have a number."""
    assert formats.number_or_percent(value) == expected
