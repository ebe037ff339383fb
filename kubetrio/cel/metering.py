"""Expressions that say what they take while they are evaluated.

The engine counts turns of loops, 10,000 at most, and not what is done in each: a million characters
that are counted in each turn take a minute.  So in loops, what looks at all of a text, list or map
says how large that is, and a turn with much to do says so itself.  What is outside of loops is done
once: it is counted beforehand, as if each look were at everything there is.

Values that hold others several times over, such as a list that is twice another one, forty times
over, take no room until somebody looks at them.  So what may hold others is measured as it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.spending import SPEND, SPEND_ALL, SPEND_COPY, SPEND_TEXT
from kubetrio.cel.syntax import (
    Node,
    bind,
    call,
    children,
    ident,
    kind_of,
    listed,
    number,
    truth,
    walk,
)

_HELD = "@measured"
_QUIET_BODY = 10  # nodes of a turn that need no mention
_EQUALITIES = frozenset({"_==_", "_!=_"})
_ORDERS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_SCALARS = frozenset({"bool", "int", "uint", "double"})


@dataclass(slots=True)
class Work:
    """What an expression does once.

    Args:
        nodes: its nodes.
        looks: how many of them look at all of a text, list or map.
    """

    nodes: int = 0
    looks: int = 0


class _Meter:
    """One pass over a tree that was rewritten; nodes are changed in place.

    Args:
        types: types of nodes by id, from the checker.
    """

    def __init__(self, types: Mapping[int, Any]) -> None:
        self._types = types
        self.work = Work()

    def visit(self, node: Node, *, loops: bool) -> None:
        """Look at a node and all below it.

        Args:
            node: the node; changed.
            loops: whether it is evaluated in each turn of a loop.
        """
        self.work.nodes += not loops
        if kind_of(node) == "comprehension_expr":
            self._loop(node.comprehension_expr, loops=loops)
            return
        for child in children(node):
            self.visit(child, loops=loops)
        match kind_of(node):
            case "call_expr":
                self._call(node.call_expr, loops=loops)
            case "list_expr" | "struct_expr":
                if sum(self._may_hold(child) for child in children(node)) > 1:
                    node.CopyFrom(counted_copy(node))

    def _loop(self, loop: Any, *, loops: bool) -> None:
        binds = is_binding(loop)
        self.visit(loop.iter_range, loops=loops)
        self.visit(loop.accu_init, loops=loops)
        if not binds:
            body = sum(1 for _ in walk(loop.loop_step))
            self.visit(loop.loop_condition, loops=True)
            self.visit(loop.loop_step, loops=True)
            self._collect(loop)
            # What is over budget in a turn is an error there, with which a loop goes on; an error
            # of its condition ends it.
            if body > _QUIET_BODY or any(map(_is_loud, walk(loop.loop_step))):
                going = call("_?_:_", call(SPEND, number(body)), loop.loop_condition, truth(False))
                loop.loop_condition.CopyFrom(going)
        self.visit(loop.result, loops=loops)

    def _collect(self, loop: Any) -> None:
        """Have a loop that makes a list measure what it puts there."""
        step = loop.loop_step.call_expr
        if step.function == "_?_:_":
            step = step.args[1].call_expr
        if step.function != "_+_" or kind_of(step.args[1]) != "list_expr":
            return
        for item in step.args[1].list_expr.elements:
            own = kind_of(item) == "ident_expr" and item.ident_expr.name == loop.iter_var
            if not own and self._may_hold(item):
                held = ident(_HELD)
                copied = call(SPEND_COPY, held)
                tell = _if_type(held, "list", copied, _if_type(held, "map", copied, truth(True)))
                item.CopyFrom(bind(_HELD, item, call("_?_:_", tell, held, held)))

    def _may_hold(self, node: Node) -> bool:
        """Whether a value may be a list or map that is not written out."""
        return not self._is_small(node) and self._kind(node) not in ("string", "bytes")

    def _call(self, made: Any, *, loops: bool) -> None:
        looked_at = self._looked_at(made)
        if looked_at is None:
            return
        if not loops:
            self.work.looks += 1
            return
        looked_at.CopyFrom(self._measured(looked_at, only_list=made.function == "@in"))

    def _looked_at(self, made: Any) -> Node | None:
        """The argument of a call that is looked at as a whole, None where it is soon done."""
        name, args = made.function, made.args
        if name in _EQUALITIES or name in _ORDERS:
            if any(self._is_small(one) for one in args):
                return None
            return args[0]
        if name == "@in":
            return None if self._kind(args[1]) == "map" else args[1]
        if name == "contains":
            return made.target
        if name in ("startsWith", "endsWith"):
            return None if kind_of(args[0]) == "const_expr" else args[0]
        if name in ("size", "string", "bytes"):
            over = args[0] if args else made.target
            known = self._kind(over)
            return None if known in _SCALARS or (name == "size" and known in _HELD_BY) else over
        return None

    def _kind(self, node: Node) -> str:
        """The type of a node as far as it is known, empty for any."""
        found = self._types.get(node.id) if node.id else None
        if found is None:
            return ""
        match found.WhichOneof("type_kind"):
            case "primitive":
                return ("", "bool", "int", "uint", "double", "string", "bytes")[found.primitive]
            case "list_type":
                return "list"
            case "map_type":
                return "map"
            case "well_known" | "null" | "abstract_type" | "type":
                return "small"
        return ""

    def _is_small(self, node: Node) -> bool:
        known = self._kind(node)
        if known in _SCALARS or known == "small":
            return True
        match kind_of(node):
            case "const_expr":
                return True
            case "list_expr":
                return not node.list_expr.elements
        return False

    def _measured(self, node: Node, *, only_list: bool) -> Node:
        """A node that says how large it is."""
        held, known = ident(_HELD), self._kind(node)
        if only_list:
            cost = call(SPEND, call("size", held))
            tell = cost if known == "list" else _if_type(held, "list", cost, truth(True))
        elif known == "string":
            tell = call(SPEND_TEXT, held)
        else:
            whole = call(SPEND_ALL, listed(held))
            tell = _if_type(held, "list", whole, _if_type(held, "map", whole, truth(True)))
            tell = _if_type(held, "string", call(SPEND_TEXT, held), tell)
        return bind(_HELD, node, call("_?_:_", tell, held, held))


_HELD_BY = frozenset({"list", "map"})


_NATIVE = frozenset(
    {*_EQUALITIES, *_ORDERS, "_&&_", "_||_", "!_", "-_", "_+_", "_-_", "_*_", "_/_", "_%_", "_?_:_",
     "_[_]", "_?._", "_[?_]", "@in", "@not_strictly_false", "startsWith", "endsWith", "type",
     "size", "int", "uint", "double", "bool", "duration", "timestamp", "optional.of",
     "optional.none", "of", "none", "hasValue", "value", "orValue", "or"}
)  # fmt: skip


def _is_loud(node: Node) -> bool:
    """Whether a node calls what takes of the budget."""
    return kind_of(node) == "call_expr" and node.call_expr.function not in _NATIVE


def counted_copy(node: Node) -> Node:
    """A list or map that is measured as it is made."""
    held = ident(_HELD)
    return bind(_HELD, node, call("_?_:_", call(SPEND_COPY, held), held, held))


def _if_type(value: Node, kind: str, then: Node, otherwise: Node) -> Node:
    return call("_?_:_", call("_==_", call("type", value), ident(kind)), then, otherwise)


def is_binding(loop: Any) -> bool:
    """Whether a loop is there only to give a value a name."""
    return (
        kind_of(loop.iter_range) == "list_expr"
        and not loop.iter_range.list_expr.elements
        and loop.loop_condition.const_expr.WhichOneof("constant_kind") == "bool_value"
        and not loop.loop_condition.const_expr.bool_value
    )


def metered(tree: Node, types: Mapping[int, Any]) -> Work:
    """Have an expression say what it takes.

    Args:
        tree: as it was rewritten; changed.
        types: types of its nodes by id, as it was checked.
    """
    meter = _Meter(types)
    meter.visit(tree, loops=False)
    return meter.work
