"""From an expression as it was checked to the one that runs.

What differs in meaning between this engine and cel-go is written out in the tree:

- ``has(a.b)`` and ``a.?b`` of something that has no members are false and none, not errors;
- ``variables.x`` is evaluated when first asked for: the engine binds lazily;
- ``Object{...}`` and ``JSONPatch{...}`` become maps that know their type: see `TYPE_KEY`;
- functions that the engine dispatches otherwise get names of their own;
- loops go through maps in the order of their keys: see `ordering`;
- what ``+`` makes of texts and lists is counted, as the engine does not: a variable that is twice
  another one, forty times over, would be a terabyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.cel.checking import type_text
from kubetrio.cel.escaping import without_escape
from kubetrio.cel.functions import OPTIONAL_RESULTS, RENAMED, STRING_OF_MESSAGE, USABLE
from kubetrio.cel.macros import SORT_BY, expanded, is_loop, unwrapped_lists, variables_of
from kubetrio.cel.metering import Work, metered, summed
from kubetrio.cel.ordering import kind_of_range, order
from kubetrio.cel.regexps import PATTERN, constant_pattern
from kubetrio.cel.syntax import (
    Node,
    bind,
    call,
    children,
    ident,
    kind_of,
    path_of,
    text,
    truth,
)

TYPE_KEY = "\0type"
"""Member of a map made of ``Object{...}`` that holds the name of the type."""

MEMBERS = (
    "authorizer.requestResource",
    "device.driver",
    "device.attributes",
    "device.capacity",
    "device.allowMultipleAllocations",
)
"""Variables with a dot in their name."""

_VARIABLES = "variables."
_HELD = "@held"
_LOOKED_AT = "@looked at"
_PLUS = "_+_"


@dataclass(slots=True)
class _Rewriter:
    """One pass over a tree; nodes are changed in place.

    Args:
        types: types of nodes by id, from the checker.
        used: receives names of variables.
        reserved: whether members that are called like words of the language may be escaped.
    """

    types: Mapping[int, Any]
    used: set[str]
    reserved: bool = False
    held: int = 0
    chained: set[int] = field(default_factory=set)
    ranges: dict[int, str] = field(default_factory=dict)

    def rewrite(self, node: Node, bound: frozenset[str] = frozenset()) -> None:
        """Rewrite a node and what is below it.

        Args:
            node: the node; changed.
            bound: names that loops around it declare.
        """
        path = path_of(node)
        if path and path.partition(".")[0] not in bound and self._variable(node, path):
            return
        kind = kind_of(node)
        if self.reserved and kind == "select_expr":
            self._unescape(node.select_expr)
        if is_loop(node):
            kind = self._range(node.call_expr.target)
            self.rewrite(node.call_expr.target, bound)
            variables = variables_of(node)
            for arg in node.call_expr.args[len(variables) :]:
                self.rewrite(arg, bound | set(variables))
            self._expand(node, kind)
            return
        if kind == "comprehension_expr":
            self.ranges[node.id] = self._range(node.comprehension_expr.iter_range)
            self._loop(node.comprehension_expr, bound)
            return
        optional = kind == "select_expr" and self._is_optional(node.select_expr.operand)
        of_message = self._is_string_of_message(node)
        optional_call = kind == "call_expr" and self._optional_call(node.call_expr)
        self._below(node, bound)
        match kind:
            case "select_expr" if node.select_expr.test_only:
                self._presence(node)
            case "select_expr" if optional:
                select = node.select_expr
                self._chosen(node, select.operand, select.field, optional=True)
            case "struct_expr" if node.struct_expr.message_name:
                _as_map(node.struct_expr)
            case "call_expr":
                self._call(node, of_message=of_message, optional=optional_call)

    def _range(self, node: Node) -> str:
        """Return the type of the range of a loop."""
        return kind_of_range(self.types.get(node.id))

    def _expand(self, node: Node, kind: str) -> None:
        """Make the loop of a macro that is a call.

        Args:
            node: the call; changed.
            kind: the type of its range.
        """
        number, sorts = node.id, node.call_expr.function == SORT_BY
        node.CopyFrom(expanded(node))
        if not sorts:
            node.id, self.ranges[number] = number, kind

    def _unescape(self, select: Any) -> None:
        """Have ``a.__for__`` ask for ``for``, as values have it, unless ``a`` is a map."""
        plain = without_escape(select.field)
        if plain != select.field:
            kind = self.types.get(select.operand.id)
            if kind is None or kind.WhichOneof("type_kind") != "map_type":
                select.field = plain

    def _variable(self, node: Node, path: str) -> bool:
        if path in MEMBERS:
            name = path
        elif path.startswith(_VARIABLES) and path.count(".") == 1:
            name = path.removeprefix(_VARIABLES)
            self.used.add(name)
            name = variable_name(name)
        else:
            return False
        if node.select_expr.test_only:
            return False
        node.CopyFrom(ident(name))
        return True

    def _loop(self, loop: Any, bound: frozenset[str]) -> None:
        self.rewrite(loop.iter_range, bound)
        self.rewrite(loop.accu_init, bound)
        inside = bound | {loop.iter_var, loop.accu_var}
        if loop.loop_step.call_expr.function == _PLUS:
            self.chained.add(loop.loop_step.id)  # a list that grows with the turns of the loop
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            self.rewrite(part, inside)

    def _below(self, node: Node, bound: frozenset[str]) -> None:
        match kind_of(node):
            case "select_expr":
                self.rewrite(node.select_expr.operand, bound)
            case "call_expr":
                if node.call_expr.HasField("target"):
                    self.rewrite(node.call_expr.target, bound)
                for arg in node.call_expr.args:
                    if (
                        node.call_expr.function == arg.call_expr.function == _PLUS
                        and arg.id == node.call_expr.args[0].id
                    ):
                        self.chained.add(arg.id)  # one of several parts of a sum
                    self.rewrite(arg, bound)
            case "list_expr":
                for item in node.list_expr.elements:
                    self.rewrite(item, bound)
            case "struct_expr":
                for entry in node.struct_expr.entries:
                    if entry.HasField("map_key"):
                        self.rewrite(entry.map_key, bound)
                    self.rewrite(entry.value, bound)

    def _is_optional(self, node: Node) -> bool:
        kind = self.types.get(node.id)
        return kind is not None and kind.abstract_type.name == "optional_type"

    def _is_string_of_message(self, node: Node) -> bool:
        expr = node.call_expr
        if expr.function != "string" or len(expr.args) != 1:
            return False
        kind = self.types.get(expr.args[0].id)
        return kind is not None and bool(kind.message_type)

    def _optional_call(self, made: Any) -> bool:
        return made.function == "_?._" and self._is_optional(made.args[0])

    def _fresh(self) -> str:
        self.held += 1
        return f"{_HELD}{self.held}"

    def _presence(self, node: Node) -> None:
        """``has(e.f)`` where ``e`` may be anything."""
        name = self._fresh()
        value = node.select_expr.operand
        test = ident("")
        test.select_expr.operand.CopyFrom(ident(name))
        test.select_expr.field = node.select_expr.field
        test.select_expr.test_only = True
        node.CopyFrom(bind(name, value, call("_?_:_", _is_map(name), test, truth(False))))

    def _sum(self, node: Node) -> None:
        """A sum that is counted before it is made, if it is of texts, bytes or lists."""
        found = self.types.get(node.id)
        kind = "" if found is None else type_text(found).partition("(")[0]
        if kind in ("string", "bytes", "list", "dyn", ""):
            parts: list[Node] = []
            left = node
            while left.call_expr.function == _PLUS and len(left.call_expr.args) == 2:
                left, right = left.call_expr.args
                parts.insert(0, right)
            kind = "" if kind == "dyn" else kind
            node.CopyFrom(summed([left, *parts], kind, self._fresh()))

    def _chosen(self, node: Node, operand: Node, field: str, *, optional: bool) -> None:
        """``e.?f`` where ``e`` may be anything, or an optional of anything."""
        outer, inner = self._fresh(), self._fresh()
        nothing = call("none", target=ident("optional"))
        chosen = call("_?_:_", _is_map(inner), call("_?._", ident(inner), text(field)), nothing)
        if not optional:
            node.CopyFrom(bind(inner, operand, chosen))
            return
        value = bind(inner, call("value", target=ident(outer)), chosen)
        there = call("hasValue", target=ident(outer))
        node.CopyFrom(bind(outer, operand, call("_?_:_", there, value, nothing)))

    def _call(self, node: Node, *, of_message: bool, optional: bool) -> None:
        expr = node.call_expr
        if expr.function == _PLUS and len(expr.args) == 2 and node.id not in self.chained:
            self._sum(node)
            return
        if lists := unwrapped_lists(node):
            for one in lists:
                del one.list_expr.optional_indices[:]
                one.list_expr.optional_indices.extend(range(len(one.list_expr.elements)))
            node.CopyFrom(expr.args[0] if expr.args else expr.target)
            return
        name = path_of(expr.target) + "." + expr.function if expr.HasField("target") else ""
        if of_message:
            expr.function = STRING_OF_MESSAGE
        elif expr.function == "matches":
            _pattern(expr.args[-1])
        elif expr.function in RENAMED and expr.HasField("target"):
            expr.function = RENAMED[expr.function]
        elif expr.function == "_?._":
            self._chosen(
                node, expr.args[0], expr.args[1].const_expr.string_value, optional=optional
            )
        elif expr.function in OPTIONAL_RESULTS or name in OPTIONAL_RESULTS:
            held = self._fresh()
            is_null = call("_==_", call("type", ident(held)), ident("null_type"))
            nothing = call("none", target=ident("optional"))
            something = call("of", ident(held), target=ident("optional"))
            node.CopyFrom(bind(held, node, call("_?_:_", is_null, nothing, something)))


def _pattern(node: Node) -> None:
    """Have a pattern be what means to the engine what it does to Go."""
    if node.const_expr.WhichOneof("constant_kind") != "string_value":
        node.CopyFrom(call(PATTERN, node))
        return
    translated, _ = constant_pattern(node.const_expr.string_value)
    node.CopyFrom(text(translated))


def _is_map(name: str) -> Node:
    return _is_of(name, "map")


def _is_of(name: str, kind: str) -> Node:
    return call("_==_", call("type", ident(name)), ident(kind))


def _as_map(struct: Any) -> None:
    """Make a message of a named type a map that knows the name."""
    for entry in struct.entries:
        entry.map_key.CopyFrom(text(entry.field_key))
    entry = struct.entries.add()
    entry.map_key.CopyFrom(text(TYPE_KEY))
    entry.value.CopyFrom(text(struct.message_name))
    struct.message_name = ""


def variable_name(name: str) -> str:
    """What ``variables.NAME`` is called in a tree that runs."""
    return f"@variable {name}"


def rewritten(
    tree: Node,
    types: Mapping[int, Any],
    *,
    reserved: bool = False,
    known: Mapping[str, int] | None = None,
) -> tuple[Node, frozenset[str], Work, int]:
    """Rewrite an expression into the one that runs.

    Args:
        tree: an expression as it was parsed; changed.
        types: types of its nodes by id, as it was checked.
        reserved: whether members that are called like words of the language may be escaped.
        known: how often variables hold their inputs, by name below ``variables``.

    Returns:
        The tree, the variables, what it does once, and how often its value holds its inputs.
    """
    used: set[str] = set()
    rewriter = _Rewriter(types, used, reserved)
    rewriter.rewrite(tree)
    names = {variable_name(name): copies for name, copies in (known or {}).items()}
    measured = metered(tree, types, names)
    order(tree, rewriter.ranges)
    return tree, frozenset(used), *measured


# --- values of which some are not what their schema says ---
#
# A whole number that was sent as ``1.0`` is none to kube-apiserver's rules: an expression that
# looks at it fails.  The engine has no values that are errors.  So such a value is an opaque one,
# and for objects that have some, expressions are made anew that look at each value.


def guarded(tree: Node) -> Node:
    """An expression that looks at each value it gets, as a new tree.

    Args:
        tree: the expression as it runs.
    """
    marker = ident("")
    marker.CopyFrom(tree)
    _guard(marker, frozenset({"self", "oldSelf"}))
    return marker


def _guard(node: Node, names: frozenset[str]) -> None:
    kind = kind_of(node)
    if kind == "comprehension_expr":
        loop = node.comprehension_expr
        _guard(loop.iter_range, names)
        _guard(loop.accu_init, names)
        inside = names | {loop.iter_var, loop.iter_var2} - {loop.accu_var}
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            _guard(part, inside)
        return
    for child in children(node):
        _guard(child, names)
    if kind == "select_expr" and node.select_expr.test_only:
        value = ident("")
        value.CopyFrom(node)
        value.select_expr.test_only = False
        node.CopyFrom(call("_&&_", node, call(USABLE, value)))
    elif (
        kind == "select_expr"
        or (kind == "ident_expr" and node.ident_expr.name in names)
        or (kind == "call_expr" and node.call_expr.function == "_[_]")
    ):
        held = ident(_LOOKED_AT)
        node.CopyFrom(bind(_LOOKED_AT, node, call("_?_:_", call(USABLE, held), held, held)))
