"""Documents of facts on disk."""

from pathlib import Path

import pytest

from facts.documents import dump, in_order, load


def test_a_record_is_a_line(tmp_path: Path) -> None:
    """So that a new release is a short diff; and what was written is read."""
    records = {"a": [1, 2], "b": {"c": "d"}}
    dump(tmp_path / "new" / "x.json", records)
    assert (tmp_path / "new" / "x.json").read_text() == '{\n"a":[1,2],\n"b":{"c":"d"}\n}\n'
    assert load(tmp_path / "new", "x") == records


def test_a_document_that_was_not_made(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(FileNotFoundError, match=r"x\.json"):
        load(tmp_path, "x")


def test_members_in_order() -> None:
    """By name, at the top only."""
    assert list(in_order({"b": {"z": 1, "y": 2}, "a": 0})) == ["a", "b"]
    assert list(in_order({"b": {"z": 1, "y": 2}})["b"]) == ["z", "y"]
