"""What cel-go checks beyond types: aggregates of one type, constants that can be read.

Source: options of kube-apiserver's environments (homogeneous aggregate literals; validation of
duration, timestamp and regular expression literals).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from kubetrio.cel import formatting
from kubetrio.cel.macros import SORT_BY, UNWRAPPING, is_loop, loop_variables, unwrapped_lists
from kubetrio.cel.regexps import regex_error
from kubetrio.cel.syntax import Node, kind_of, walk
from kubetrio.cel.wording import Problem

OPTIONAL = "optional_type"
HIDDEN_OPTIONAL = "optional values inside of lists, maps and objects are not supported"
"""What is said where cel-go would go on: the engine's bindings crash on such values."""

_PRIMITIVES = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN = ("", "any", "timestamp", "duration")

_duration = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_timestamp = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_READERS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "duration": lambda text: _duration.fullmatch(text) is not None,
        "timestamp": lambda text: _timestamp.fullmatch(text) is not None,
        "matches": lambda text: not regex_error(text),
    }
)
"""Functions with constant arguments that are looked into, and what reads them."""


def type_text(kind: Any) -> str:
    """A type in cel-go's notation, such as ``map(string, list(int))``.

    Args:
        kind: a ``Type`` message.
    """
    match kind.WhichOneof("type_kind"):
        case "primitive":
            return _PRIMITIVES[kind.primitive]
        case "wrapper":
            return f"wrapper({_PRIMITIVES[kind.wrapper]})"
        case "well_known":
            return _WELL_KNOWN[kind.well_known]
        case "null":
            return "null_type"
        case "list_type":
            return f"list({type_text(kind.list_type.elem_type)})"
        case "map_type":
            inner = kind.map_type
            return f"map({type_text(inner.key_type)}, {type_text(inner.value_type)})"
        case "message_type":
            return str(kind.message_type)
        case "type":
            return f"type({type_text(kind.type)})"
        case "abstract_type":
            inner = ", ".join(map(type_text, kind.abstract_type.parameter_types))
            return f"{kind.abstract_type.name}({inner})" if inner else kind.abstract_type.name
    return "dyn"


def literal_problems(checked: Any) -> list[Problem]:
    """What is wrong with calls that take a type for another, or else with constants.

    Args:
        checked: a ``CheckedExpr``.
    """
    # Names, members and constants by themselves are fine.
    nodes = [(node, kind) for node in walk(checked.expr) if (kind := kind_of(node)) in _COMPOSED]
    # What this engine lacks is told where cel-go would find nothing wrong.
    return (
        list(_overloads(nodes, checked))
        or list(_problems(nodes, checked))
        or list(_hidden(nodes, checked))
    )


_COMPOSED = frozenset({"call_expr", "list_expr", "struct_expr"})
_Nodes = Sequence[tuple[Node, str]]
"""Nodes of these kinds, each with its own."""


def _overloads(nodes: _Nodes, checked: Any) -> Iterator[Problem]:
    """Calls of functions of lists with something that is not in the list."""
    for node, form in nodes:
        call = node.call_expr
        if form != "call_expr" or call.function not in _LOOKED_AT:
            continue
        kinds = [
            "dyn" if (kind := checked.type_map.get(part.id)) is None else type_text(kind)
            for part in (*([call.target] if call.HasField("target") else []), *call.args)
        ]
        if call.function in _OF_LISTS:
            if problem := _of_a_list(call.function, kinds):
                yield Problem(checked.source_info.positions.get(node.id, 0), problem)
            continue
        if len(kinds) != 2 or _fit(*kinds, within=call.function in _WITHIN):
            continue
        applied = (
            f"{kinds[0]}.({kinds[1]})" if call.function in _WITHIN else f"({', '.join(kinds)})"
        )
        what = f"found no matching overload for '{call.function}' applied to '{applied}'"
        yield Problem(checked.source_info.positions.get(node.id, 0), what)


_WITHIN = frozenset({"indexOf", "lastIndexOf"})
_OF_ONE_TYPE = _WITHIN | {f"sets.{name}" for name in ("contains", "equivalent", "intersects")}
"""Functions whose parameters have one type in cel-go, and here any."""
_OF_LISTS = {
    "flatten": "flatten",
    "sort": "sort",
    SORT_BY: "@sortByAssociatedKeys",
    **{name: name for name in UNWRAPPING},
}
"""Functions of lists of some types only, and their names in cel-go."""
_LOOKED_AT = _OF_ONE_TYPE | _OF_LISTS.keys()
_COMPARABLE = frozenset(
    {"dyn", "int", "uint", "double", "string", "bool", "duration", "timestamp", "bytes"}
)


def _of_a_list(name: str, kinds: list[str]) -> str:
    """What is wrong with the types of a call of one of `_OF_LISTS`, empty for nothing."""
    item = kinds[0].removeprefix("list(").removesuffix(")")
    if name == "flatten":
        good = len(kinds) != 1 or item == "dyn" or item.startswith("list(")
        applied = f"{kinds[0]}.()"
    elif name == "sort":
        good, applied = item in _COMPARABLE, f"{kinds[0]}.()"
    elif name in UNWRAPPING:
        good = item == "dyn" or item.startswith(OPTIONAL)
        applied = f"{kinds[0]}.()" if name == "unwrapOpt" else f"({kinds[0]})"
    else:
        good, applied = kinds[-1] in _COMPARABLE, f"{kinds[0]}.(list({kinds[-1]}))"
    if good or not kinds[0].startswith("list("):
        return ""
    return f"found no matching overload for '{_OF_LISTS[name]}' applied to '{applied}'"


def _fit(one: str, two: str, *, within: bool) -> bool:
    """Whether what is known of two types lets one function take both."""
    if within:
        if not one.startswith("list("):
            return True  # texts; the checker has seen to those
        one = one.removeprefix("list(").removesuffix(")")
    return one == two or "dyn" in one + two


def _hidden(nodes: _Nodes, checked: Any) -> Iterator[Problem]:
    unwrapped = {
        one.id for node, form in nodes if form == "call_expr" for one in unwrapped_lists(node)
    }
    for node, _ in nodes:
        if node.id in unwrapped:
            continue
        for inner in _hiding(node, checked.type_map):
            if _is_optional(inner, checked.type_map):
                yield Problem(checked.source_info.positions.get(inner.id, 0), HIDDEN_OPTIONAL)


def _problems(nodes: _Nodes, checked: Any) -> Iterator[Problem]:
    positions = checked.source_info.positions
    formats = {node.id for node, _ in nodes if formatting.is_format(node)}
    exempt = formatting.exempt(checked.expr) if formats else frozenset[int]()
    for node, kind in nodes:
        if node.id in formats:
            yield from _bad_format(node, checked)
        if kind == "list_expr" and node.id not in exempt:
            optional = set(node.list_expr.optional_indices)
            items = [(one, at in optional) for at, one in enumerate(node.list_expr.elements)]
            yield from islice(_mixed(items, checked), 1)  # of a list, the first one is told
        elif kind == "struct_expr" and not node.struct_expr.message_name and node.id not in exempt:
            entries = node.struct_expr.entries
            yield from _mixed([(entry.map_key, False) for entry in entries], checked)
            yield from _mixed([(entry.value, entry.optional_entry) for entry in entries], checked)
        elif kind == "call_expr" and (argument := _bad_argument(node.call_expr)) is not None:
            what = f"invalid {node.call_expr.function} argument"
            yield Problem(positions.get(argument.id, 0), what)


def _bad_format(node: Node, checked: Any) -> Iterator[Problem]:
    def type_of(inner: Node) -> str:
        kind = checked.type_map.get(inner.id)
        return "dyn" if kind is None else type_text(kind)

    try:
        formatting.check(node, type_of)
    except formatting.Problem as problem:
        where = node if problem.at is None else problem.at
        yield Problem(checked.source_info.positions.get(where.id, 0), str(problem))


def _is_optional(node: Node, types: Any) -> bool:
    kind = types.get(node.id)
    return kind is not None and OPTIONAL in type_text(kind)


def _hiding(node: Node, types: Any) -> Iterator[Node]:
    """What a node puts where it cannot be told from other values any more."""
    match kind_of(node):
        case "list_expr":
            optional = set(node.list_expr.optional_indices)
            yield from (one for at, one in enumerate(node.list_expr.elements) if at not in optional)
        case "struct_expr":
            for entry in node.struct_expr.entries:
                if entry.HasField("map_key"):
                    yield entry.map_key
                if not entry.optional_entry:
                    yield entry.value
        case "call_expr":
            call = node.call_expr
            if call.function == "dyn":
                yield from call.args
            elif call.function == "_?_:_" and not _is_optional(node, types):
                yield from call.args[1:]
            elif is_loop(node):
                yield call.args[-1]


def _mixed(items: list[tuple[Node, bool]], checked: Any) -> Iterator[Problem]:
    # Variables of loops with two are of any type here only: what they are part of is not known.
    loops = frozenset(loop_variables(checked.expr))
    first, began_empty = "", bool(items) and _is_empty(items[0][0])
    for node, optional in items:
        if any(inner.ident_expr.name in loops for inner in walk(node)):
            return
        kind = checked.type_map.get(node.id)
        text = type_text(kind) if kind is not None else "dyn"
        if optional:
            text = text.removeprefix("optional_type(").removesuffix(")")
        text = text.replace("null_type", "null")
        if not first:
            first = text
        elif text != first and not _is_empty(node) and not began_empty:
            where = checked.source_info.positions.get(node.id, 0)
            yield Problem(where, f"expected type '{first}' but found '{text}'")


def _is_empty(node: Node) -> bool:
    """Whether a node is ``[]`` or ``{}``, whose type is what stands beside it."""
    kind = kind_of(node)
    if kind == "list_expr":
        return not node.list_expr.elements
    struct = node.struct_expr
    return kind == "struct_expr" and not struct.message_name and not struct.entries


def _bad_argument(made: Any) -> Node | None:
    """The constant argument of a call that cannot be read, if any."""
    good = _READERS.get(made.function)
    if good is None or not made.args:
        return None
    argument = made.args[-1]
    if made.function == "duration" and argument.const_expr.WhichOneof("constant_kind") == (
        "int64_value"
    ):
        return argument
    if argument.const_expr.WhichOneof("constant_kind") != "string_value":
        return None
    return None if good(argument.const_expr.string_value) else argument
