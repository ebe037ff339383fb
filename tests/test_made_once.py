"""The server is one value, made once: nothing is set on an object after its constructor."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kubetrio

ROOT = Path(kubetrio.__file__).parent
ROOMS = ("api", "server")
OF_A_REQUEST = frozenset(
    {
        "AnyResponse", "AnyResponse | None", "Answer", "Record", "Record | None", "Request",
        "Response", "BodyReservation", "Sent", "StreamResponse",
    }
)  # fmt: skip
"""Types of values that live as long as one request: its stages fill them in."""
DEADLINES = frozenset({"deadline"})  # of Trio's scopes, which are made to be changed
LONGEST = 60
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def made_here(function: FUNCTIONS) -> set[str]:
    """Names that a function binds to what it makes or finds in a record of one request itself."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names.update(each.id for each in node.targets if isinstance(each, ast.Name))
    return names


def annotated(function: FUNCTIONS) -> set[str]:
    """Names that a function says are of one request."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    said = [(each.arg, each.annotation) for each in arguments]
    said += [
        (node.target.id, node.annotation)
        for node in ast.walk(function)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return {name for name, kind in said if kind is not None and ast.unparse(kind) in OF_A_REQUEST}


def violations(source: str) -> list[str]:
    """Where an attribute is set on what is neither ``self``, made here, nor of one request.

    Counting (``+=``) is allowed: a counter is made to be counted.
    """
    found: list[str] = []

    def walk(node: ast.AST, allowed: frozenset[str]) -> None:
        for child in ast.iter_child_nodes(node):
            inside = allowed
            if isinstance(child, FUNCTIONS):
                inside = allowed | made_here(child) | annotated(child)
            targets: list[ast.expr] = []
            if isinstance(child, ast.Assign):
                targets = child.targets
            elif isinstance(child, ast.AnnAssign):
                targets = [child.target]
            elif isinstance(child, ast.With | ast.AsyncWith):
                targets = [each.optional_vars for each in child.items if each.optional_vars]
            elif isinstance(child, ast.Delete):
                targets = child.targets
            for target in targets:
                for each in ast.walk(target):
                    if not isinstance(each, ast.Attribute) or isinstance(each.ctx, ast.Load):
                        continue
                    if each.attr in DEADLINES:
                        continue
                    if not (isinstance(each.value, ast.Name) and each.value.id in inside):
                        found.append(f"{child.lineno}: {ast.unparse(child).splitlines()[0]}")
            if isinstance(child, ast.Call) and ast.unparse(child.func) in (
                "setattr",
                "object.__setattr__",
                "delattr",
            ):
                found.append(f"{child.lineno}: {ast.unparse(child)}")
            walk(child, inside)

    walk(ast.parse(source), frozenset({"self"}))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_set_on_what_others_made(path: Path) -> None:
    """In the rooms where a server is put together and its requests are answered."""
    assert violations(path.read_text()) == []


def test_the_rule_finds_what_it_forbids() -> None:
    """A method replaced on a live object, a late attribute, and the same through a path."""
    source = """
def build(api, other: Request):
    other.user = None
    own = Thing()
    own.name = "mine"
    api.flow.leave = noted
    api.memory = own
    setattr(api, "faults", None)
    api.count += 1
"""
    assert [each.partition(": ")[2] for each in violations(source)] == [
        "api.flow.leave = noted",
        "api.memory = own",
        "setattr(api, 'faults', None)",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "server").glob("*.py")), ids=lambda path: path.stem)
def test_a_server_is_put_together_in_small_steps(path: Path) -> None:
    """No function of the composition is longer than a page, without its docstring."""
    long = {
        node.name: lines
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, FUNCTIONS) and (lines := _lines(node)) >= LONGEST
    }
    assert long == {}


def _lines(function: FUNCTIONS) -> int:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    begin = first.end_lineno if documented and first.end_lineno else function.lineno
    return (function.end_lineno or begin) - begin


def test_no_part_is_found_by_its_class() -> None:
    """What a server may have is said by the values that hold it, errors excepted."""
    asked = [
        f"{path.name}: {ast.unparse(node)}"
        for path in sorted((ROOT / "server").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    ]
    assert asked == ["tlsfiles.py: isinstance(error, ssl.SSLError)"]


PARTS = ("Storage", "Security", "Writes", "Edge", "Api", "ApiConfig", "Delegation")


def test_the_parts_of_a_server_are_frozen() -> None:
    """What handlers are given cannot be changed by them."""
    from kubetrio.api import api

    for name in PARTS:
        assert getattr(api, name).__dataclass_params__.frozen, name
