"""``schemas/README.md`` describes every file and every input."""

import re
from pathlib import Path

import pytest

from facts import compare, generate, server, source
from facts.__main__ import parser

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas"
README = (SCHEMAS / "README.md").read_text()
ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def described(heading: str) -> set[str]:
    """Names in the first columns of the tables of a section."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {name for cell in ROW.findall(section) for name in CODE.findall(cell)}


def test_every_file_is_described() -> None:
    """And none that is not there."""
    there = {f"{path.name}/" if path.is_dir() else path.name for path in SCHEMAS.iterdir()}
    assert described("Files") == there - {"__pycache__/"}


def test_every_input_is_described() -> None:
    """Those that the scripts write, by name; and those that the generator reads."""
    texts = "".join(Path(module.__file__ or "").read_text() for module in (source, server))
    written = set(re.findall(r'^ +"([a-z-]+)": (?:lambda|_)', texts, re.MULTILINE))
    written |= {"version", "flags", "behaviours"}
    assert described("Inputs") == written
    assert {"published-types", "bootstrap", "metrics"} < written
    read = Path(generate.__file__ or "").read_text()
    asked = set(re.findall(r'load\(inputs, "([a-z-]+)"\)', read))
    assert asked <= written


def test_every_command_is_described() -> None:
    """The page says when to run each."""
    commands = re.findall(r"^    (\w+) ", parser().format_help(), re.MULTILINE)
    assert commands == [
        "source",
        "server",
        "flags",
        "generate",
        "diff",
        "check",
        "scaffold",
        "etcd",
        "stubs",
        "storage",
    ]
    assert [name for name in commands if f"python -m facts {name}" not in README] == []


def test_every_file_can_be_compared() -> None:
    """But for words, and for what is above versions."""
    names = {name.removesuffix("/").removesuffix(".json") for name in described("Files")}
    by_hand = {
        "NOTICE",
        "README.md",
        "annotated",
        "columns",
        "descriptions",
        "protobuf-wire",
        "traits",
    }
    assert names - by_hand <= compare.SECTIONS.keys()


@pytest.mark.parametrize("path", sorted((ROOT / "facts").iterdir()), ids=lambda path: path.name)
def test_no_path_of_a_machine(path: Path) -> None:
    """The scripts work anywhere: where things are is said on the command line."""
    if path.is_file():
        assert not re.search(r"[\"'](/work|/tmp|/home)/", path.read_text())
