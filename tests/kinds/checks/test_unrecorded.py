"""Rules of kinds outside the core groups that no recording shows, written down case by case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .helpers import Json, refused, resource, skip_without_engine

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "unrecorded.json").read_text()
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_everything_wrong_is_told(case: Json) -> None:
    """One object with many mistakes gets one cause for each of them."""
    skip_without_engine(case["body"])
    group, version, plural = case["resource"]
    assert refused(resource(plural, group, version), case["body"]) == case["causes"]
