"""Texts that are set though they are empty, as a kube-apiserver takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .helpers import Json, refused, resource, skip_without_engine

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "empty_texts.json").read_text()
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['resource'][2]}-{case['path']}")
def test_an_empty_text_is_checked(case: Json) -> None:
    """A pointer to the empty text is set, so what it points at is checked."""
    skip_without_engine(case["body"])
    group, version, plural = case["resource"]
    assert refused(resource(plural, group, version), case["body"]) == case["told"]
