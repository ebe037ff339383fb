"""Inputs from a source tree."""

from pathlib import Path

import pytest
from trees import plant

from facts.documents import load
from facts.source import make


def test_every_input_of_a_tree(tmp_path: Path) -> None:
    """Each is written, and not empty."""
    names = list(make(plant(tmp_path / "tree"), tmp_path / "inputs"))
    assert names == [
        "published-types", "published-operations", "published-resources", "parameters",
        "protobuf", "strategies", "registered", "gostructs", "published-metrics",
    ]  # fmt: skip
    assert all(load(tmp_path / "inputs", name) for name in names)


def test_published_resources_have_the_core_group(tmp_path: Path) -> None:
    """First, as discovery has it."""
    list(make(plant(tmp_path / "tree"), tmp_path / "inputs"))
    found = load(tmp_path / "inputs", "published-resources")
    assert [entry["group"] for entry in found["groupOrder"]] == ["", "apps"]
    assert list(found["resources"]) == ["/v1/pods", "apps/v1/deployments"]


def test_another_folder_is_no_tree(tmp_path: Path) -> None:
    """It says what is missing."""
    with pytest.raises(FileNotFoundError, match="no api/openapi-spec/v3"):
        list(make(tmp_path, tmp_path / "inputs"))
