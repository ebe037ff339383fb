"""Where RE2 is not installed, and where patterns may come from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kubetrio
from kubetrio.gotext.regexp import bindings
from kubetrio.kinds.apiextensions.validation.structuralschemas import structural
from kubetrio.machinery.status import Cause
from kubetrio.structural.causes import Out
from kubetrio.structural.values import Checker

ROOT = Path(kubetrio.__file__).parent
FUNCTIONS = {
    "compile", "match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split",
    "template",
}  # fmt: skip


@pytest.fixture
def _no_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings, "_load", lambda: None)


@pytest.mark.usefixtures("_no_re2")
def test_definitions_with_patterns_are_refused() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}},
    }
    found: list[Cause] = []
    structural(schema, "spec", found)
    [cause] = found
    assert cause.field == "spec.properties[a].pattern"
    assert "pip install google-re2" in cause.message


@pytest.mark.usefixtures("_no_re2")
def test_values_with_patterns_are_refused() -> None:
    """Python's engine would not come back from this text."""
    out = Out()
    checker = Checker({"type": "string", "pattern": "^(a+)+$"})
    checker.check("a" * 40 + "b", "spec.a", None, out)
    [cause] = out
    assert "pip install google-re2" in cause.message


# --- Python's `re` compiles what stands in the source, and nothing else ---


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names of a module stand for, those of loops over constants included."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                found[node.target.id] = node.value
        elif isinstance(node, ast.comprehension | ast.For):
            for name in ast.walk(node.target):
                if isinstance(name, ast.Name):
                    found[name.id] = node.iter
    return found


def _is_source(node: ast.expr, names: dict[str, ast.expr], imported: set[str]) -> bool:
    """Whether a value is made of constants of the source alone."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.JoinedStr):
        return all(_is_source(part, names, imported) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _is_source(node.value, names, imported)
    if isinstance(node, ast.BinOp):
        return all(_is_source(part, names, imported) for part in (node.left, node.right))
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(_is_source(part, names, imported) for part in node.elts)
    if isinstance(node, ast.Name):
        if node.id.lstrip("_").isupper() and node.id in imported:
            return True
        value = names.get(node.id)
        rest = {name: one for name, one in names.items() if name != node.id}
        return value is not None and _is_source(value, rest, imported)
    return False


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)):
                if attr in FUNCTIONS:
                    yield node


ENGINES = {"fnmatch", "sre_compile", "regex"}
CHECKED = {
    ("api/proxy/htmllinks.py", "f'</{name}'"),  # a name of `RAW_TEXT`
    ("structural/valueformats.py", "pattern"),  # of `_uuid`, called for three versions
}
"""Patterns that are made of something that was compared with constants."""


def test_no_pattern_of_a_client_reaches_python() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        names = _constants(tree)
        for call in _calls(tree):
            pattern = call.args[0]
            place = (str(path.relative_to(ROOT)), ast.unparse(pattern))
            if not _is_source(pattern, names, imported) and place not in CHECKED:
                found.append((*place, call.lineno))
    assert found == []


def test_no_other_way_to_python_engine() -> None:
    """``from re import``, ``fnmatch`` and what is like it compile what they are given."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in {"re", *ENGINES}:
                found.append((path.name, ast.unparse(node)))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in ENGINES or (alias.name == "re" and alias.asname):
                        found.append((path.name, ast.unparse(node)))
    assert found == []
