"""What differs between two versions."""

from pathlib import Path
from typing import Any

import pytest

from facts.compare import compare, differences
from facts.documents import dump


def write(folder: Path, **documents: Any) -> Path:
    for name, records in documents.items():
        dump(folder / f"{name.replace('_', '-')}.json", records)
    return folder


def test_equal_facts_say_nothing(tmp_path: Path) -> None:
    """Also when one of them is split by package."""
    old = write(tmp_path / "old", types={"a.B": {"type": "object"}, "c.D": {}})
    dump(tmp_path / "new" / "types" / "a.json", {"a.B": {"type": "object"}})
    dump(tmp_path / "new" / "types" / "c.json", {"c.D": {}})
    assert list(compare(old, tmp_path / "new")) == []


def test_sections_are_titled(tmp_path: Path) -> None:
    """And a document that only one folder has is named."""
    old = write(tmp_path / "old", names={"/api/v1/pods": {"class": "a"}}, kinds={})
    new = write(tmp_path / "new", names={"/api/v1/pods": {"class": "b"}})
    assert list(compare(old, new)) == [
        "types of kinds (kinds)",
        f"  only in {old}",
        "names that are taken (names)",
        '  ~ /api/v1/pods.class: "a" -> "b"',
    ]


def test_a_folder_without_facts(tmp_path: Path) -> None:
    """It is a mistake, not a version that lacks everything."""
    old = write(tmp_path / "old", names={})
    with pytest.raises(FileNotFoundError, match="no facts"):
        list(compare(old, tmp_path / "other"))


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        pytest.param(
            {"Pod": {"properties": {"a": {"type": "string"}}}},
            {"Pod": {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
            [
                "  Pod",
                "    properties",
                '      ~ a.type: "string" -> "integer"',
                '      + b: {"type":"string"}',
            ],
            id="fields",
        ),
        pytest.param(
            {"Pod": {"fields": [[1, "a", "string"], [2, "b", "string"]]}},
            {"Pod": {"fields": [[1, "a", "string"], [3, "b", "string"]]}},
            ["  Pod", "    fields", '      - 2: ["b","string"]', '      + 3: ["b","string"]'],
            id="protobuf numbers",
        ),
        pytest.param(
            {"/v1/pods": {"verbs": ["get", "list"]}},
            {"/v1/pods": {"verbs": ["get", "watch"]}},
            ["  /v1/pods", "    verbs", "      - list", "      + watch"],
            id="verbs",
        ),
        pytest.param(
            {"/v1/pods": [["Name", "string", "name", 0], ["Age", "string", "", 0]]},
            {"/v1/pods": [["Age", "string", "", 0], ["Name", "string", "name", 1]]},
            [
                "  /v1/pods",
                '    ~ Name: ["string","name",0] -> ["string","name",1]',
                '    ~ order: ["Age","Name"]',
            ],
            id="columns",
        ),
        pytest.param(
            {"Pod/minimal": {"added": {"/spec/a": 1}}},
            {"Pod/minimal": {"added": {"/spec/a": 2}}},
            ["  ~ Pod/minimal.added./spec/a: 1 -> 2"],
            id="defaults",
        ),
        pytest.param(
            {"flags": {"a": {"default": "1"}, "b": {}}},
            {"flags": {"a": {"default": "2"}}},
            ["  flags", '    ~ a.default: "1" -> "2"', "    - b"],
            id="flags",
        ),
        pytest.param(
            {"x": {"kinds": [{"group": "", "version": "v1", "kind": "A"}]}},
            {"x": {"kinds": []}},
            ["  x", "    kinds", "      - /v1/A"],
            id="kinds",
        ),
        pytest.param({"x": [1, 1]}, {"x": [{}]}, ["  ~ x: [1,1] -> [{}]"], id="other lists"),
    ],
)
def test_lines(old: Any, new: Any, lines: list[str]) -> None:
    """Member by member; rows go by their first column, records by their name."""
    assert list(differences(old, new)) == lines


def test_long_values_are_cut_off() -> None:
    """A new type is one line."""
    (line,) = differences({}, {"a": "x" * 500})
    assert line.startswith('  + a: "xxx')
    assert len(line) < 200
    assert line.endswith("…")
