"""Expressions: checked against what they may see, then made ready to run.

Checking and running (`programs`) happen in two environments of the engine.  The first knows types;
the second knows none, as objects come as plain dicts, and so members that are missing are missing.

The engine's parser refuses more than 32 levels and 100,000 characters.

Source: docs "Common Expression Language in Kubernetes", "Validating Admission Policy", "Mutating
Admission Policy"; KEP-2876, KEP-3488, KEP-3962.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import orjson

from kubetrio.cel import wording
from kubetrio.cel.checking import OPTIONAL, literal_problems, type_text
from kubetrio.cel.declarations import (
    AUTHORIZER,
    JSON_PATCH,
    LIBRARY,
    RESOURCE_CHECK,
    STANDARD,
    declared,
)
from kubetrio.cel.engine import engine, extensions
from kubetrio.cel.escaping import unescape_members, without_membership
from kubetrio.cel.macros import DECLARED, loop_variables, may_loop, variable_problems
from kubetrio.cel.messages import ADMISSION, Descriptors, base_pool
from kubetrio.cel.metering import Work
from kubetrio.cel.rewriting import rewritten
from kubetrio.cel.syntax import Node, kind_of, read, walk

OBJECT_TYPE, PATCH_TYPE = "Object", "JSONPatch"
Structs = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
_ENVIRONMENTS = 64  # that are kept; policies with variables need one for each set of variables


class CompileError(Exception):
    """An expression does not compile; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression that compiles.

    Args:
        source: its text.
        type: its type, in cel-go's notation.
        engine_type: its type, for variables that are declared with it.
        tree: what runs.
        uses: the names of variables it asks for.
        work: what it does once.
        copies: how often its value may hold one of its inputs.
    """

    source: str
    type: str
    engine_type: Any
    tree: Node
    uses: frozenset[str]
    work: Work
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may see.

    Args:
        names: variables and their types, in the engine's notation.
        patches: whether it may make objects and patches.
        variables: earlier expressions that go by a name below ``variables``; None when there is
            no such thing.
        escaped: whether ``a__dot__b`` is the member ``a.b`` of a map.
    """

    names: tuple[tuple[str, str], ...]
    patches: bool = False
    variables: tuple[tuple[str, Checked], ...] | None = None
    escaped: bool = False

    def having(self, name: str, checked: Checked) -> Scope:
        """A scope with one more variable."""
        more = (*(self.variables or ()), (name, checked))
        return Scope(self.names, self.patches, more, self.escaped)


def admission_scope(*, params: bool, authorizer: bool, composed: bool, patches: bool) -> Scope:
    """What expressions of admission see.

    Args:
        params: whether there is ``params``.
        authorizer: whether there is ``authorizer``.
        composed: whether there are ``variables``.
        patches: whether objects and patches may be made.
    """
    seen = [
        ("object", "dyn"),
        ("oldObject", "dyn"),
        ("namespaceObject", "kubernetes.Namespace"),
        ("request", "kubernetes.AdmissionRequest"),
    ]
    if params:
        seen.append(("params", "dyn"))
    if authorizer:
        seen += [("authorizer", AUTHORIZER), ("authorizer.requestResource", RESOURCE_CHECK)]
    return Scope(tuple(seen), patches, () if composed else None)


DEVICE = Scope(
    (
        ("device", "kubernetes.Device"),
        ("device.driver", "string"),
        ("device.attributes", "map<string,map<string,dyn>>"),
        ("device.capacity", "map<string,map<string,kubernetes.Quantity>>"),
        ("device.allowMultipleAllocations", "bool"),
    )
)
"""What selectors of devices see (docs: "Dynamic Resource Allocation")."""

CLAIMS = Scope((("claims", "map<string,dyn>"),), escaped=True)
"""What expressions about tokens see (docs: "Authenticating")."""

USER = Scope((("user", "kubernetes.UserInfo"),), escaped=True)
"""What expressions about users see that tokens name."""


REVIEW = Scope((("request", "kubernetes.SubjectAccessReviewSpec"),))
"""What match conditions of authorization webhooks see."""


@cache
def _library(patches: bool) -> list[Any]:
    rows = [*LIBRARY, *DECLARED]
    return declared([*rows, *JSON_PATCH] if patches else rows)


def _specification(kind: str) -> dict[str, Any]:
    """A type as a configuration has it, from ``list<int>`` or ``list(int)``."""
    name, _, rest = kind.replace("(", "<").replace(")", ">").replace(" ", "").partition("<")
    parts, depth, part = [], 0, ""
    for char in rest.removesuffix(">"):
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += char
    parts += [part] if part else []
    return {"type_name": name, "params": [_specification(one) for one in parts]}


def new_environment(
    pool: Any, variables: Mapping[str, Any], optionals: Mapping[str, str], *, patches: bool
) -> Any:
    """An environment to check in.

    Args:
        pool: descriptors of messages.
        variables: with their types.
        optionals: more of them, that are optionals: the engine takes these by configuration only.
        patches: whether there are functions for patches.
    """
    cel = engine()
    config = {
        **STANDARD,
        "variables": [{"name": name, **_specification(kind)} for name, kind in optionals.items()],
    }
    return cel.NewEnv(
        pool,
        config=cel.NewEnvConfigFromYaml(orjson.dumps(config).decode()),
        variables=dict(variables),
        functions=_library(patches),
        extensions=extensions("optional"),
    )


@lru_cache(maxsize=_ENVIRONMENTS)
def _environment(
    declared_names: tuple[tuple[str, str], ...],
    patches: bool,
    variables: tuple[tuple[str, str], ...] | None,
    structs: Structs,
    types: _Types,
) -> Any:
    """An environment to check in; the last argument carries what the third one names."""
    cel = engine()
    constants = {name: cel.Type(kind) for name, kind in declared_names}
    optionals: dict[str, str] = {}
    if variables is not None:
        constants["variables"] = cel.Type("kubernetes.variables")
        for name, kind in variables:
            if kind.startswith(f"{OPTIONAL}("):
                optionals[f"variables.{name}"] = kind
            else:
                constants[f"variables.{name}"] = types.of[name]
    pool = base_pool()
    if structs:
        pool = Descriptors({**ADMISSION, **{name: dict(fields) for name, fields in structs}})
    return new_environment(pool, constants, optionals, patches=patches)


class _Types:
    """Types of the engine, which cannot be hashed; equal to any other, as their names are keys."""

    def __init__(self, of: Mapping[str, Any]) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Types)

    def __hash__(self) -> int:
        return 0


_made = re.compile(rf"\b{OBJECT_TYPE}(?:\.\w+)+(?=\s*\{{)")


def _flat(source: str) -> str:
    """An expression with ``Object_spec{}`` for ``Object.spec{}``, of the same length.

    As protobuf messages, the type ``Object.spec`` and the member ``spec`` of ``Object`` would have
    one name.
    """
    return _made.sub(lambda found: found[0].replace(".", "_"), source)


def _structs(tree: Node) -> Structs:
    """Types of objects that an expression makes, with the members it gives them."""
    structs: dict[str, dict[str, str]] = {}
    for node in walk(tree):
        name = node.struct_expr.message_name if kind_of(node) == "struct_expr" else ""
        if name == OBJECT_TYPE or name.startswith(f"{OBJECT_TYPE}."):
            fields = structs.setdefault(name.replace(".", "_"), {})
            fields.update({entry.field_key: "dyn" for entry in node.struct_expr.entries})
    structs[PATCH_TYPE] = {"op": "string", "path": "string", "from": "string", "value": "dyn"}
    return tuple((name, tuple(sorted(fields.items()))) for name, fields in sorted(structs.items()))


def parse(source: str) -> Any:
    """The ``ParsedExpr`` of an expression.

    Args:
        source: its text.

    Raises:
        CompileError: it is none.
        Missing: there is no engine.
    """
    env = _environment((), False, None, (), _Types({}))
    try:
        syntax = read(env.compile(source, disable_check=True).serialize())
    except RuntimeError as error:
        raise _failed(wording.problems(str(error), source), source) from None
    if not may_loop(source):
        return syntax
    positions = syntax.source_info.positions
    if problems := [
        wording.Problem(positions.get(node.id, 0), what)
        for node, what in variable_problems(syntax.expr)
    ]:
        raise _failed(problems, source)
    return syntax


def _failed(found: Iterable[wording.Problem], source: str) -> CompileError:
    return CompileError(f"compilation failed: {wording.listing(found, source)}")


def check(source: str, scope: Scope) -> Checked:
    """Compile an expression.

    Args:
        source: its text.
        scope: what it may see.

    Raises:
        CompileError: it does not compile.
        Missing: there is no engine.
    """
    syntax = parse(source)
    variables = scope.variables
    known = {name for name, _ in scope.names}
    loops = sorted(set(loop_variables(syntax.expr)) - known)
    env = _environment(
        (*scope.names, *((name, "dyn") for name in loops)),
        scope.patches,
        None if variables is None else tuple((name, one.type) for name, one in variables),
        _structs(syntax.expr) if scope.patches else (),
        _Types({name: one.engine_type for name, one in variables or ()}),
    )
    if scope.escaped:
        unescape_members(syntax.expr)
    known_copies = {name: one.copies for name, one in variables or ()}
    variant = _flat(source) if scope.patches else source
    checked = checked_as(env, source, variant, syntax, known=known_copies)
    if scope is CLAIMS:
        without_membership(checked.tree, "claims")
    return checked


def checked_as(
    env: Any,
    source: str,
    variant: str,
    syntax: Any,
    *,
    reserved: bool = False,
    known: Mapping[str, int] | None = None,
) -> Checked:
    """Check an expression.

    Args:
        env: where.
        source: its text.
        variant: the text to check, the same but for names of the same length.
        syntax: its ``ParsedExpr``; changed.
        reserved: as of `rewritten`.
        known: as of `rewritten`.

    Raises:
        CompileError: it does not compile.
    """
    expression, checked = checked_tree(env, source, variant, syntax)
    kind = type_text(checked.type_map[checked.expr.id])
    # Equal but for names: both parsers number nodes alike.
    tree, uses, work, copies = rewritten(
        syntax.expr, checked.type_map, reserved=reserved, known=known
    )
    return Checked(source, kind, expression.return_type(), tree, uses, work, copies)


def checked_tree(env: Any, source: str, variant: str, syntax: Any) -> tuple[Any, Any]:
    """The engine's expression and its ``CheckedExpr``; see `checked_as`.

    Args:
        env: where.
        source: its text.
        variant: the text to check.
        syntax: its ``ParsedExpr``.

    Raises:
        CompileError: it does not compile.
    """
    try:
        expression = env.compile(variant)
    except RuntimeError as error:
        raise _failed(wording.problems(str(error), source, syntax), source) from None
    checked = read(expression.serialize())
    if problems := literal_problems(checked):
        raise _failed(problems, source)
    return expression, checked


def result_error(found: str, wanted: Sequence[str]) -> str:
    """What is wrong with the type of an expression, empty for nothing.

    Args:
        found: its type.
        wanted: types it may have; none for any.
    """
    if not wanted or found in wanted:
        return ""
    if len(wanted) == 1:
        return f"must evaluate to {wanted[0]} but got {found}"
    return f"must evaluate to one of [{' '.join(wanted)}] but got {found}"
