"""What pages name of the code is there: modules, their members, classes and their attributes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kubetrio"
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "newsfragments"]
OF_THE_CODE = [path for path in PAGES if path.parent.name in ("design", "internals")]
"""Pages about the code itself: every name in them is one of the code or of Kubernetes."""
BASES = (ROOT, PACKAGE, PACKAGE / "resources", ROOT / "tests")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[a-z_0-9]+\.py")
PAIR = re.compile(r"`([a-z_0-9/]+\.py)` `(?!\w+\.py`)([A-Za-z_]\w*(?:\.\w+)*)(?:\(\S*\))?`")
MEMBER = re.compile(r"(_?[A-Z]\w*)\.([a-z_]\w*)(?:\(.*\))?")
CLASS = re.compile(r"_?[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*)*")
NAME = re.compile(r"[a-z]+(?:_[a-z0-9]+)+(?:\(.*\))?|[A-Z]+(?:_[A-Z0-9]+)+")
DOTTED = re.compile(r"kubetrio(?:\.[A-Za-z_]\w*)+")

NOT_OURS = frozenset(
    {"Accept", "AlreadyExists", "Expect", "RssAnon", "group_concat", "quick_check"}
)
"""Names of HTTP, Linux and SQLite, and a reason of a `Status`, on pages about the code."""
DATA_FILES = frozenset(
    {
        "kubetrio.db.migration",
        "kubetrio.db",
        "kubetrio.etcd.table",
        "kubetrio.head",
        "kubetrio.journal",
        "kubetrio.lock",
        "kubetrio.reserve",
    }
)


@dataclass(frozen=True)
class Module:
    """Names of a module.

    Args:
        names: at its top, imported ones too.
        classes: their attributes and methods, and their bases.
        words: identifiers anywhere in it, and strings of one word.
    """

    names: set[str] = field(default_factory=set)
    classes: dict[str, tuple[set[str], list[str]]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)


def targets(node: ast.AST) -> Iterator[str]:
    """Names that an assignment gives a value, those of `self` included."""
    given: list[ast.expr] = []
    match node:
        case ast.Assign():
            given = list(node.targets)
        case ast.AnnAssign():
            given = [node.target]
    for target in given:
        for one in ast.walk(target):
            if isinstance(one, ast.Name):
                yield one.id
            elif (
                isinstance(one, ast.Attribute)
                and isinstance(one.value, ast.Name)
                and one.value.id == "self"
            ):
                yield one.attr


def members(node: ast.ClassDef) -> set[str]:
    """Attributes and methods that a class itself has."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
        found |= set(targets(one))
    return found


def word(node: ast.AST) -> str | None:
    """The identifier that a node of code has, or the word that it is."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.arg(arg=name) | ast.keyword(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Constant(value=str(text)) if " " not in text:
            return text
    return None


@cache
def module(path: Path) -> Module:
    """Names of the module in a file."""
    read = Module()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        read.words.add(word(node) or "")
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
            read.classes[node.name] = (members(node), bases)
            read.names.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            read.names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            read.names.update((name.asname or name.name).partition(".")[0] for name in node.names)
    for node in tree.body:
        for one in ast.walk(node) if isinstance(node, ast.If | ast.Try) else (node,):
            read.names.update(targets(one))
    return read


@cache
def sources() -> list[Module]:
    return [module(path) for path in sorted(PACKAGE.rglob("*.py"))]


@cache
def classes() -> dict[str, list[tuple[set[str], list[str]]]]:
    """All classes of the package by name, of which there can be several."""
    found: dict[str, list[tuple[set[str], list[str]]]] = {}
    for one in sources():
        for name, made in one.classes.items():
            found.setdefault(name, []).append(made)
    return found


@cache
def words() -> set[str]:
    """Identifiers of the package's code and its strings of one word."""
    return set().union(*(one.words for one in sources()), NOT_OURS)


def has(name: str, attribute: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a class of that name has the attribute, itself or from a base."""
    if name in seen:
        return False
    return any(
        attribute in own or any(has(base, attribute, seen | {name}) for base in bases)
        for own, bases in classes().get(name.rpartition(".")[2], ())
    )


def resolves(read: Module, symbol: str) -> bool:
    """Whether a module has a name, or a class of it an attribute."""
    name, _, attribute = symbol.partition(".")
    if not attribute:
        return name in read.names or any(name in own for own, _ in read.classes.values())
    return name in read.names and has(name, attribute.partition(".")[0])


def text_of(path: Path) -> str:
    return FENCE.sub("", path.read_text())


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_named(file: str) -> Path | None:
    """The module that a page names by its path."""
    return next((base / file for base in BASES if (base / file).is_file()), None)


def imported(name: str) -> bool:
    """Whether a dotted name is a package, a module, or a member of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:length])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            rest = ".".join(parts[length:])
            lazy = file.with_suffix(".pyi")
            return not rest or any(
                resolves(module(one), rest) for one in (file, lazy) if one.is_file()
            )
    return False


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_members_named_with_their_module_exist(page: Path) -> None:
    """`room/file.py` `Name`, and `room/file.py` `Class.method`."""
    gone = [
        (file, symbol)
        for file, symbol in PAIR.findall(text_of(page))
        if (path := module_named(file)) is None or not resolves(module(path), symbol)
    ]
    assert not gone


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_attributes_named_with_their_class_exist(page: Path) -> None:
    """`Class.method` and `Class.attribute`, of some class of that name, inherited ones too."""
    named = filter(None, map(MEMBER.fullmatch, CODE.findall(text_of(page))))
    assert not [one[0] for one in named if not has(one[1], one[2])]


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_dotted_names_can_be_imported(page: Path) -> None:
    """`kubetrio.room.module.Name`; names of files in a data directory look the same."""
    named = [name for name in CODE.findall(text_of(page)) if DOTTED.fullmatch(name)]
    assert not [name for name in named if name not in DATA_FILES and not imported(name)]


@pytest.mark.parametrize("page", OF_THE_CODE, ids=shown)
def test_names_on_pages_about_the_code_are_in_the_code(page: Path) -> None:
    """Classes, functions, constants and files that stand alone."""
    named = CODE.findall(text_of(page))
    files = {
        path.name for base in ("kubetrio", "tests", "facts") for path in (ROOT / base).rglob("*.py")
    }
    gone = [name for name in named if FILE.fullmatch(name) and name not in files]
    gone += [
        name
        for name in named
        if (CLASS.fullmatch(name) or NAME.fullmatch(name)) and name.partition("(")[0] not in words()
    ]
    assert not gone
