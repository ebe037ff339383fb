"""Modules, functions and packages stay small, apart and found by name; exceptions only shrink."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kubetrio"
MODULE_LINES = 500
FUNCTION_LINES = 60

# Larger ones by what they may have at most. A row is lowered or goes; none comes.
LARGE_MODULES: Mapping[str, int] = {}
LARGE_FUNCTIONS: Mapping[str, int] = {}
# Modules that no test file is named for; of a/b.py it is tests/a/test_b.py, or test_<package>_b.py.
UNNAMED = 248
# Files beside tests of which each folder may have one.
SEVERAL = ("conftest.py", "__init__.py", "make_samples.py")
# Packages that import each other, with the reason.
CIRCLES: Mapping[tuple[str, str], str] = {}


@cache
def modules() -> Mapping[str, str]:
    """Texts of all modules, by path in the package."""
    return {
        str(path.relative_to(PACKAGE)): path.read_text()
        for path in sorted(PACKAGE.rglob("*.py"))
        if "_schemas" not in path.parts
    }


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every module, parsed."""
    return {name: ast.parse(text) for name, text in modules().items()}


def exceeding(sizes: Mapping[str, int], limit: int, known: Mapping[str, int]) -> list[str]:
    """What is over the limit and not known to be, and rows of the known that are out of date."""
    over = [
        f"{name}: {size} lines, not {known.get(name, limit)}"
        for name, size in sizes.items()
        if size > known.get(name, limit)
    ]
    return over + [f"{name}: no exception now" for name in known if sizes.get(name, 0) <= limit]


def test_modules_have_at_most_500_lines() -> None:
    """One module is one idea; what is known to be larger only shrinks."""
    sizes = {name: text.count("\n") for name, text in modules().items()}
    assert exceeding(sizes, MODULE_LINES, LARGE_MODULES) == []


def test_functions_have_at_most_60_lines() -> None:
    """Their signature and documentation count; complexity is held by ruff (mccabe)."""
    sizes: dict[str, int] = {}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                key = f"{name} {node.name}"
                sizes[key] = max(lines, sizes.get(key, 0))
    assert exceeding(sizes, FUNCTION_LINES, LARGE_FUNCTIONS) == []


def unnamed() -> Iterator[str]:
    """Modules whose tests are not found by name."""
    tests = {str(path.relative_to(ROOT / "tests")) for path in ROOT.glob("tests/**/test_*.py")}
    for name in modules():
        path = Path(name)
        if path.name in ("__init__.py", "__main__.py") or path.parts[0] == "types":
            continue  # types: three lines that are made for each version
        prefixes = ["", *(f"{part}_" for part in path.parent.parts)]
        names = {str(path.parent / f"test_{prefix}{path.stem}.py") for prefix in prefixes}
        if not names & tests:
            yield name


def test_tests_are_found_by_the_name_of_the_module() -> None:
    """The number of modules without a test file of their name only shrinks."""
    assert len(list(unnamed())) <= UNNAMED


# ---------------------------------------------------------------- packages


def packages() -> Mapping[str, set[str]]:
    """Packages that each package imports; the root's modules, and what is above or below, apart.

    Modules of the root are no room: some stand below all rooms, some above.
    """
    graph: dict[str, set[str]] = {}
    for name, tree in trees().items():
        package = str(Path(name).parent)
        imported = graph.setdefault(package, set())
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                other = _package_of(f"{node.module}.{alias.name}")
                above = f"{package}/".startswith(f"{other}/") or f"{other}/".startswith(
                    f"{package}/"
                )
                if other and other != "." and package != "." and not above:
                    imported.add(other)
    return graph


def _package_of(dotted: str) -> str:
    """The package of a module or of a name in one; empty for those of others."""
    path = dotted.replace(".", "/").removeprefix("kubetrio/")
    if not dotted.startswith("kubetrio."):
        return ""
    while path and f"{path}.py" not in modules() and f"{path}/__init__.py" not in modules():
        path = path.rpartition("/")[0]
    return path if f"{path}/__init__.py" in modules() else str(Path(path).parent)


def test_test_files_have_names_of_their_own() -> None:
    """Folders of tests are no packages: Python takes two files of a name for one module."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name, count in names.items() if count > 1 and name not in SEVERAL] == []


def test_no_file_is_named_like_a_flag() -> None:
    """Such a file comes from a tool that took ``--help`` for the page to write."""
    folders = (ROOT, ROOT / "docs", *(path for path in ROOT.glob("docs/*") if path.is_dir()))
    assert [path for folder in folders for path in folder.glob("-*")] == []


def test_no_packages_import_in_a_circle() -> None:
    """Packages within a room too; import-linter holds the rooms."""
    graph = packages()
    reached = {package: _reached(package, graph) for package in graph}
    pairs = {
        tuple(sorted((one, two)))
        for one, all_of_it in reached.items()
        for two in all_of_it
        if one != two and one in reached.get(two, ())
    }
    assert pairs == set(CIRCLES)


def _reached(package: str, graph: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    todo = [package]
    while todo:
        for other in graph.get(todo.pop(), ()):
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return reached
