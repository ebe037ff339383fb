"""The recipes of writes: as documented, each step once, and one way to the store."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from kubetrio.resources import recipe
from kubetrio.resources.serverwrites import SERVER

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "design" / "resources.md").read_text()
ENGINES = ("store", "encryption", "testing")
"""Rooms that implement the store's contract or wrap it."""
WRITES = frozenset({"create", "update", "delete", "write_all"})
ALL = {
    "CREATE": recipe.names(recipe.CREATE + recipe.NEW),
    "CREATE_MISSING": recipe.names(recipe.CREATE_MISSING + recipe.NEW),
    "UPDATE": recipe.names(recipe.UPDATE),
    "CHANGE": recipe.names(recipe.CHANGE),
    "DELETE": recipe.names(recipe.DELETE),
    "SERVER": [step.__name__ for step in SERVER],
}


@pytest.mark.parametrize(
    ("heading", "steps"),
    [
        ("Create", ALL["CREATE"]),
        ("Update", ALL["UPDATE"]),
        ("Delete", ALL["DELETE"]),
        ("The server's own", ALL["SERVER"]),
    ],
)
def test_the_steps_written_are_the_steps_taken(heading: str, steps: list[str]) -> None:
    """The numbered lists of the design page are the tuples, in their order."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\d+\. `(\w+)`: .", section, re.MULTILINE) == steps


@pytest.mark.parametrize("steps", ALL.values(), ids=ALL)
def test_each_step_is_taken_once(steps: list[str]) -> None:
    """What has to be done again is another step, and says why."""
    assert len(set(steps)) == len(steps)


def test_each_step_says_what_it_does() -> None:
    """In the first line of its docstring."""
    for one in (*recipe.CREATE, *recipe.NEW, *recipe.UPDATE, *recipe.CHANGE, *recipe.DELETE):
        for step in one.steps if isinstance(one, recipe.Beside) else (one,):
            assert step.__doc__, step.__name__


def writes_to_a_store(module: Path) -> bool:
    """Whether a module calls a write of a store, by the name that stores have everywhere."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, name = node.func.value, node.func.attr
            named = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
            if name in WRITES and named.strip("_") == "store":
                return True
    return False


def test_one_module_writes_to_the_store() -> None:
    """Whatever is written goes through the recipes' last steps."""
    package = ROOT / "kubetrio"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ENGINES and writes_to_a_store(path)
    }
    assert found == {"resources/storing.py"}
