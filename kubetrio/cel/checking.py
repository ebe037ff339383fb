"""What cel-go checks beyond types: aggregates of one type, constants that can be read.

Source: options of kube-apiserver's environments (homogeneous aggregate literals; validation of
duration, timestamp and regular expression literals).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kubetrio.cel.functions import regex_error
from kubetrio.cel.macros import is_loop
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
    """What is wrong with the constants of an expression.

    Args:
        checked: a ``CheckedExpr``.
    """
    return list(_problems(checked))


def _problems(checked: Any) -> Iterator[Problem]:
    positions = checked.source_info.positions
    for node in walk(checked.expr):
        kind = kind_of(node)
        for inner in _hiding(node, checked.type_map):
            if _is_optional(inner, checked.type_map):
                yield Problem(positions.get(inner.id, 0), HIDDEN_OPTIONAL)
        if kind == "list_expr":
            optional = set(node.list_expr.optional_indices)
            items = [(one, at in optional) for at, one in enumerate(node.list_expr.elements)]
            yield from _mixed(items, checked)
        elif kind == "struct_expr" and not node.struct_expr.message_name:
            entries = node.struct_expr.entries
            yield from _mixed([(entry.map_key, False) for entry in entries], checked)
            yield from _mixed([(entry.value, entry.optional_entry) for entry in entries], checked)
        elif kind == "call_expr" and (argument := _bad_argument(node.call_expr)) is not None:
            what = f"invalid {node.call_expr.function} argument"
            yield Problem(positions.get(argument.id, 0), what)


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
            made = node.call_expr
            if made.function == "dyn":
                yield from made.args
            elif made.function == "_?_:_" and not _is_optional(node, types):
                yield from made.args[1:]
            elif is_loop(node):
                yield made.args[-1]


def _mixed(items: list[tuple[Node, bool]], checked: Any) -> Iterator[Problem]:
    first = ""
    for node, optional in items:
        kind = checked.type_map.get(node.id)
        text = type_text(kind) if kind is not None else "dyn"
        if optional:
            text = text.removeprefix("optional_type(").removesuffix(")")
        if not first:
            first = text
        elif text != first and "dyn" not in (first + text):
            where = checked.source_info.positions.get(node.id, 0)
            yield Problem(where, f"expected type '{first}' but found '{text}'")


def _bad_argument(made: Any) -> Node | None:
    """The constant argument of a call that cannot be read, if any."""
    good = _READERS.get(made.function)
    if good is None or not made.args:
        return None
    argument = made.args[-1]
    if argument.const_expr.WhichOneof("constant_kind") != "string_value":
        return None
    return None if good(argument.const_expr.string_value) else argument
