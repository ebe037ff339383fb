"""Loops over maps in the order of their keys.

The engine goes through a map in an order that is drawn for each map in each process.  So a loop
over a map of several keys goes through a sorted list of them instead, and the loop with two
variables asks the map for each value.  kube-apiserver draws the order too: an expression that
depends on it gets one of the answers that kube-apiserver may give.

Keys of maps whose type is known when the expression is compiled keep their type.  In a map of any
type (``dyn({1u: 'a'})``) a key of type ``uint`` becomes an ``int``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kubetrio.cel.metering import is_binding
from kubetrio.cel.spending import Implementation
from kubetrio.cel.syntax import Node, bind, call, children, ident, kind_of, names, number

KEYS, KEYS_AS_TEXTS = "kubernetes_keys", "kubernetes_keysAsTexts"
"""Functions that make a sorted list of the keys of a map."""
LIST, MAP_OF_UINT, ANY = "list", "map of uint", ""
"""Types of ranges, as far as they matter."""
KNOWN_KEYS = 4096
"""Keys that are remembered, so that those of many evaluations take no more memory."""
LONGEST = 317
"""Characters of a key that is remembered: the most that a label or annotation has."""
_UINT = 3  # a primitive type of cel/expr/checked.proto
_AT, _ITEM = "@at", "@item"


def key_order(key: Any) -> tuple[str, Any]:
    """Return what keys of one or several types are sorted by."""
    kind = "int" if isinstance(key, int | float) and not isinstance(key, bool) else ""
    return kind or type(key).__name__, key


@lru_cache(KNOWN_KEYS)
def _shared(key: str) -> str:
    """Return one object for all equal keys: the engine keeps each that it was given."""
    return key


def _keys(of: dict[Any, Any]) -> list[Any]:
    """Return the sorted keys of a map."""
    keys = sorted(of, key=key_order)
    return [_shared(key) if type(key) is str and len(key) <= LONGEST else key for key in keys]


def _keys_as_texts(of: dict[Any, Any]) -> list[str]:
    return [_shared(str(key)) for key in sorted(of)]


ROWS: list[Implementation] = [
    (KEYS, "map<dyn,dyn>", "dyn", _keys),
    (KEYS_AS_TEXTS, "map<dyn,dyn>", "dyn", _keys_as_texts),
]
"""The functions, as rows of `functions.ROWS`."""


def kind_of_range(kind: Any) -> str:
    """Return the type of a range as far as it matters.

    Args:
        kind: the type that the checker found, None for none.
    """
    match None if kind is None else kind.WhichOneof("type_kind"):
        case "list_type":
            return LIST
        case "map_type" if kind.map_type.key_type.primitive == _UINT:
            return MAP_OF_UINT
    return ANY


def order(tree: Node, ranges: Mapping[int, str]) -> None:
    """Have the loops of an expression go through maps in the order of their keys.

    Args:
        tree: the expression as it runs; changed.
        ranges: types of the ranges of its loops, by id; other loops are left as they are.
    """
    _Orderer(ranges).visit(tree)


class _Orderer:
    """One pass over a tree; nodes are changed in place."""

    def __init__(self, ranges: Mapping[int, str]) -> None:
        self._ranges = ranges
        self._count = 0

    def visit(self, node: Node) -> None:
        for child in children(node):
            self.visit(child)
        if kind_of(node) != "comprehension_expr" or is_binding(node.comprehension_expr):
            return
        kind = self._ranges.get(node.id, LIST)
        if kind != LIST:
            self._count += 1
            self._order(node, f"@range{self._count}", uint=kind == MAP_OF_UINT)

    def _order(self, node: Node, name: str, *, uint: bool) -> None:
        """Have a loop go through keys where its range is a map."""
        loop = node.comprehension_expr
        keys = call(KEYS_AS_TEXTS if uint else KEYS, ident(name))
        item = f"{name}{_ITEM}"
        key = call("uint", ident(item)) if uint else ident(item)
        is_map = call("_==_", call("type", ident(name)), ident("map"))
        several = call("_&&_", is_map, call("_>_", call("size", ident(name)), number(1)))
        over = call("_?_:_", several, keys, ident(name))
        if not loop.iter_var2:
            if uint:
                _replace(loop.loop_step, {loop.iter_var: key})
                loop.iter_var = item
            loop.iter_range.CopyFrom(bind(name, loop.iter_range, over))
            return
        at, held = f"{name}{_AT}", f"{name}@sorted"
        value = call("_[_]", ident(name), key)
        parts = {
            loop.iter_var: call("_?_:_", ident(held), key, ident(at)),
            loop.iter_var2: call("_?_:_", ident(held), value, ident(item)),
        }
        # Not bound to the names: the engine adds to a list in place only in a plain step.
        _replace(loop.loop_step, parts)
        loop.iter_var, loop.iter_var2 = at, item
        range_ = ident("")
        range_.CopyFrom(loop.iter_range)
        loop.iter_range.CopyFrom(call("_?_:_", ident(held), keys, ident(name)))
        node.CopyFrom(bind(name, range_, bind(held, several, node)))


def _replace(tree: Node, instead: Mapping[str, Node]) -> None:
    """Put nodes where names are that no loop in the tree declares."""
    for node in [one for one in names(tree) if one.ident_expr.name in instead]:
        node.CopyFrom(instead[node.ident_expr.name])
