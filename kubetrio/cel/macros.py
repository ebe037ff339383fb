"""Loops that the engine's parser does not know.

They are those with two variables, over keys and values of a map or indexes and items of a list, and
``sortBy``, which sorts a list by what is made of each item.  ``m.all(k, v, p)`` stays a call.  For
the type checker there are functions of these names, and the variables are declared as ``dyn``
beside all others; what runs has the loops.

Source: two-variable comprehensions of cel-go's extensions, in Kubernetes since 1.32; lists of
version 3, since 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubetrio.cel.declarations import Signature
from kubetrio.cel.syntax import (
    Node,
    bind,
    call,
    ident,
    kind_of,
    listed,
    loop,
    number,
    path_of,
    truth,
    walk,
)

_RESULT = "@result"
PAIRS_TO_MAP, ENTRIES_TO_MAP = "kubernetes_mapOfPairs", "kubernetes_mapOfEntries"
"""Functions that make a map of what `transformMap` and `transformMapEntry` collect."""
SORT_BY, SORTED_BY = "sortBy", "kubernetes_sortedBy"
"""The macro, and the function that sorts a list as another is sorted."""
_INPUT = "@input"

_PLAIN = {"all": "bool", "exists": "bool", "existsOne": "bool", "exists_one": "bool"}
_FILTERED = {
    "transformList": "list<dyn>",
    "transformMap": "map<dyn,dyn>",
    "transformMapEntry": "map<dyn,dyn>",
}
DECLARED: list[Signature] = [
    (target, name, f"dyn dyn {parameters}", result)
    for target in ("list<dyn>", "map<dyn,dyn>")
    for name, result, parameters in (
        *((name, result, "bool") for name, result in _PLAIN.items()),
        *((name, result, "dyn") for name, result in _FILTERED.items()),
        *((name, result, "bool dyn") for name, result in _FILTERED.items()),
    )
] + [("list<dyn>", SORT_BY, "dyn dyn", "list<dyn>")]
"""The macros as functions."""


_NAMES = (*_PLAIN, *_FILTERED, SORT_BY)


def may_loop(source: str) -> bool:
    """Whether there can be such a loop in an expression: it has the name of one."""
    return any(name in source for name in _NAMES)


def is_loop(node: Node) -> bool:
    """Whether a node is such a loop, as it was parsed."""
    expr = node.call_expr
    if expr.function == SORT_BY:
        return (
            kind_of(node) == "call_expr"
            and expr.HasField("target")
            and len(expr.args) == 2
            and kind_of(expr.args[0]) == "ident_expr"
        )
    known = expr.function in _PLAIN or expr.function in _FILTERED
    return (
        kind_of(node) == "call_expr"
        and known
        and expr.HasField("target")
        and len(expr.args) in ((3,) if expr.function in _PLAIN else (3, 4))
        and all(kind_of(arg) == "ident_expr" for arg in expr.args[:2])
    )


def variable_problems(tree: Node) -> Iterator[tuple[Node, str]]:
    """What is wrong with the variables of loops: the argument, and what cel-go says of it."""
    for node in walk(tree):
        if kind_of(node) != "call_expr" or not node.call_expr.HasField("target"):
            continue
        expr = node.call_expr
        name, args = expr.function, expr.args
        if name == SORT_BY and len(args) == 2:
            if kind_of(args[0]) != "ident_expr":
                yield args[0], "argument is not an identifier"
        elif (name in _PLAIN and len(args) == 3) or (name in _FILTERED and len(args) in (3, 4)):
            wrong = [argument for argument in args[:2] if kind_of(argument) != "ident_expr"]
            if wrong:
                yield wrong[0], "argument must be a simple name"
            elif args[0].ident_expr.name == args[1].ident_expr.name:
                yield args[1], f"duplicate variable name: {args[1].ident_expr.name}"


def variables_of(node: Node) -> tuple[str, ...]:
    """The one or two variables of a loop."""
    expr = node.call_expr
    count = 1 if expr.function == SORT_BY else 2
    return tuple(argument.ident_expr.name for argument in expr.args[:count])


def loop_variables(tree: Node) -> Iterator[str]:
    """The variables of all loops in a tree."""
    for node in walk(tree):
        if is_loop(node):
            yield from variables_of(node)


def expanded(node: Node) -> Node:
    """A loop as the engine runs it.

    Args:
        node: one for which `is_loop` is true.
    """
    expr = node.call_expr
    result, body = ident(_RESULT), expr.args[-1]
    if expr.function == SORT_BY:
        keys = loop(ident(_INPUT), variables_of(node), _RESULT, mapping(result, body))
        return bind(_INPUT, expr.target, call(SORTED_BY, ident(_INPUT), keys))
    parts: tuple[Node, Node, Node, Node]
    match expr.function:
        case "all":
            going = call("@not_strictly_false", result)
            parts = (truth(True), going, call("_&&_", result, body), result)
        case "exists":
            going = call("@not_strictly_false", call("!_", result))
            parts = (truth(False), going, call("_||_", result, body), result)
        case "existsOne" | "exists_one":
            step = call("_?_:_", body, call("_+_", result, number(1)), result)
            parts = (number(0), truth(True), step, call("_==_", result, number(1)))
        case name:
            parts = _collecting(name, expr, result, body)
    return loop(expr.target, variables_of(node), _RESULT, parts)


def mapping(result: Node, body: Node) -> tuple[Node, Node, Node, Node]:
    """The parts of a loop that makes a list of what it makes of each item."""
    return listed(), truth(True), call("_+_", result, listed(body)), result


UNWRAPPING = frozenset({"unwrapOpt", "optional.unwrap"})
"""Functions that make a list of the values of optionals."""
_UNWRAPPED = frozenset({"unwrapOpt", "unwrap", "optional.unwrap"})
"""What their calls name, with the library or without."""


def unwrapped_lists(node: Node) -> list[Node]:
    """The lists whose items a call unwraps: those that it is given, or that a loop adds up.

    Args:
        node: any node.
    """
    expr = node.call_expr
    if kind_of(node) != "call_expr" or expr.function not in _UNWRAPPED:
        return []
    if name_of(node) not in UNWRAPPING:
        return []
    over = expr.args[0] if expr.args else expr.target
    if kind_of(over) == "list_expr":
        return [over]
    step = over.comprehension_expr.loop_step.call_expr
    if step.function == "_?_:_":
        step = step.args[1].call_expr
    added = step.args[1] if step.function == "_+_" else None
    return [added] if added is not None and kind_of(added) == "list_expr" else []


def name_of(node: Node) -> str:
    """The name of the function that a call is of, with that of its library."""
    expr = node.call_expr
    library = path_of(expr.target) if expr.HasField("target") and expr.args else ""
    return expr.function if library != "optional" else f"optional.{expr.function}"


def _collecting(name: str, made: Any, result: Node, body: Node) -> tuple[Node, Node, Node, Node]:
    """The parts of a loop that collects."""
    item, done = body, result
    if name == "transformMap":
        item = listed(made.args[0], body)
        done = call(PAIRS_TO_MAP, result)
    elif name == "transformMapEntry":
        done = call(ENTRIES_TO_MAP, result)
    step = call("_+_", result, listed(item))
    if len(made.args) == 4:
        step = call("_?_:_", made.args[2], step, result)
    return listed(), truth(True), step, done
