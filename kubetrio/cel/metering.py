"""Expressions that say what they take, before they do it.

The engine counts turns of loops, 10,000 at most, and not what is done in each: a million characters
that are counted in each turn take a minute.  So whatever makes a text says how long it will be; and
what looks at all of a text, list or map says so in loops, and where that was made.  A turn with
much to do says so itself.  What else there is outside of loops is done once: it is counted before
the evaluation, as if each look were at everything there is.

Values that hold others several times over, such as a list that is twice another one, forty times
over, take no room until they are looked at.  How often a value may hold its inputs is known
from the expression, and taken when it is made or looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.cel.declarations import TOO_LARGE
from kubetrio.cel.spending import SMALL, TIERS, input_of, size_at, spend_of, tier_of
from kubetrio.cel.syntax import (
    Node,
    bind,
    call,
    children,
    ident,
    kind_of,
    listed,
    loop,
    number,
    truth,
    walk,
)

PARTS = "@parts"
"""Begins names of lists of what a call is made of."""
_QUIET_BODY = 10  # nodes of a turn that need no mention
_EQUALITIES = frozenset({"_==_", "_!=_"})
_ORDERS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_SCALARS = frozenset({"bool", "int", "uint", "double"})
_HELD_BY = frozenset({"list", "map"})
_TURNS = 64
"""How often a loop is taken to put the same value into what it makes."""
MOST_COPIES = 1 << 2 * TIERS


@dataclass(slots=True)
class Work:
    """What an expression does once.

    Args:
        nodes: its nodes.
        looks: how many of them look at all of a text, list or map.
    """

    nodes: int = 0
    looks: int = 0


def _plus(*parts: Node) -> Node:
    total = parts[0]
    for part in parts[1:]:
        total = call("_+_", total, part)
    return total


def _size(node: Node) -> Node:
    return call("size", node)


def _once(text: Node, *_: Node) -> Node:
    return _size(text)


def _replaced(text: Node, old: Node, new: Node, *_: Node) -> Node:
    """At most as many as there is room for."""
    nothing = call("_==_", _size(old), number(0))
    between = _plus(_size(text), number(1))
    count = call("_?_:_", nothing, between, call("_/_", _size(text), _size(old)))
    return _plus(_size(text), call("_*_", count, _size(new)))


def _joined(items: Node, *between: Node) -> Node:
    part = _plus(ident("@sum"), _size(ident("@part")), *map(_size, between))
    parts = (number(0), truth(True), part, ident("@sum"))
    return loop(items, ("@part",), "@sum", parts)


def _twice(text: Node, *_: Node) -> Node:
    return call("_*_", _plus(_size(text), number(1)), number(2))


def _four_times(text: Node, *_: Node) -> Node:
    return call("_*_", _size(text), number(4))


def _matched(text: Node, pattern: Node) -> Node:
    """As kube-apiserver counts it: a quarter of the pattern for each character."""
    each = _plus(call("_/_", _size(pattern), number(4)), number(1))
    return call("_*_", _plus(_size(text), number(1)), each)


_MAKERS: Mapping[str, Callable[..., Node]] = {
    "replace": _replaced,
    "join": _joined,
    "quote": _twice,
    "split": _four_times,
    "matches": _matched,
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring", "charAt"), _once),
}
"""Functions that make texts, and how long these may become; and one that takes long."""


@dataclass(slots=True)
class _Meter:
    """One pass over a tree that was rewritten; nodes are changed in place.

    Args:
        types: types of nodes by id, from the checker.
        known: how often the variables hold their inputs, by name.
    """

    types: Mapping[int, Any]
    known: dict[str, int]
    work: Work = field(default_factory=Work)
    held: int = 0

    def visit(self, node: Node, *, loops: bool) -> int:
        """Look at a node and all below it.

        Args:
            node: the node; changed.
            loops: whether it is evaluated in each turn of a loop.

        Returns:
            How often its value may hold one of its inputs.
        """
        self.work.nodes += not loops
        match kind_of(node):
            case "ident_expr":
                return self.known.get(node.ident_expr.name, 1)
            case "select_expr":
                found = self.visit(node.select_expr.operand, loops=loops)
                return 1 if node.select_expr.test_only else found
            case "comprehension_expr":
                return self._loop(node.comprehension_expr, loops=loops)
            case "list_expr" | "struct_expr":
                return self._literal(node, loops=loops)
            case "call_expr":
                return self._call(node, loops=loops)
        return 1

    def _literal(self, node: Node, *, loops: bool) -> int:
        found = [
            (self.visit(child, loops=loops), self._may_hold(child)) for child in children(node)
        ]
        held = sum(copies for copies, holds in found if holds)
        if held > 1:
            self._take(node, held)
        return min(held, MOST_COPIES)

    def _take(self, node: Node, copies: int) -> None:
        """Have a node take what it takes to look at its inputs so often."""
        held = self._fresh()
        taken = call(input_of(tier_of(copies)))
        node.CopyFrom(call("_?_:_", taken, node, bind(held, truth(False), ident(held))))

    def _fresh(self) -> str:
        self.held += 1
        return f"@measured{self.held}"

    def _loop(self, loop: Any, *, loops: bool) -> int:
        if is_binding(loop):
            if loop.accu_var.startswith(PARTS):  # a list of no variable
                found = [self.visit(one, loops=loops) for one in children(loop.accu_init)]
                first = max(found, default=1)
            else:
                first = self.visit(loop.accu_init, loops=loops)
            return self._within({loop.accu_var: first}, loop.result, loops=loops)
        over = self.visit(loop.iter_range, loops=loops)
        self.visit(loop.accu_init, loops=loops)
        body = sum(1 for _ in walk(loop.loop_step))
        collects = kind_of(loop.accu_init) == "list_expr"
        # What is of the range is there once for all turns, what is not in each.
        inside = {loop.accu_var: 0, loop.iter_var: 0, loop.iter_var2: 0}
        own = _times(loop, {loop.iter_var, loop.iter_var2}) * over if collects else 0
        outer = collects and self._holds_more(loop)
        made = self._within(inside, loop.loop_step, loops=True)
        if own > 1:
            self._take(loop.iter_range, min(own, MOST_COPIES))
        self._within(inside, loop.loop_condition, loops=True)
        if outer:
            self._take(loop.loop_condition, max(made, 1))
        # What is over budget in a turn is an error there, with which a loop goes on; an error of
        # its condition ends it.
        if body > _QUIET_BODY or any(map(_is_loud, walk(loop.loop_step))):
            told = call(spend_of(max(0, tier_of(body) - 3)))
            loop.loop_condition.CopyFrom(call("_?_:_", told, loop.loop_condition, truth(False)))
        self._within(inside, loop.result, loops=loops)
        return min(max(1, own + (made * _TURNS if outer else 0)), MOST_COPIES)

    def _within(self, names: Mapping[str, int], node: Node, *, loops: bool) -> int:
        """Look at a node where some names are known."""
        before = dict(self.known)
        self.known.update(names)
        found = self.visit(node, loops=loops)
        self.known = before
        return found

    def _holds_more(self, loop: Any) -> bool:
        """Whether what a loop collects holds something that is not of its range."""
        own = {loop.accu_var, loop.iter_var, loop.iter_var2}
        return any(
            kind_of(one) == "ident_expr" and one.ident_expr.name not in own
            for one in _structure(loop.loop_step)
        )

    # --- calls ---

    def _call(self, node: Node, *, loops: bool) -> int:
        expr = node.call_expr
        copies = [1]
        if expr.HasField("target"):
            copies.append(self.visit(expr.target, loops=loops))
        copies += [self.visit(arg, loops=loops) for arg in expr.args]
        name = expr.function
        if name in _MAKERS and (expr.HasField("target") or name == "matches"):
            self._bound(node)
            return 1
        self._look(expr, max(copies), loops=loops)
        if name in _PLAIN:
            return 1
        return min(sum(copies), MOST_COPIES) if name == "_+_" else max(copies)

    def _bound(self, node: Node) -> None:
        """Have a call that makes a text say how long that will be."""
        expr = node.call_expr
        targeted = expr.HasField("target") and expr.function != "quote"  # that of a library
        places = [expr.target, *expr.args] if targeted else [*expr.args]
        values, name = listed(*places), f"{PARTS}{self._fresh()}"
        held = [_item(name, at) for at in range(len(places))]
        for place, value in zip(places, held, strict=True):
            place.CopyFrom(value)
        told = _told(self._fresh(), _MAKERS[expr.function](*held))
        node.CopyFrom(bind(name, values, call("_?_:_", told, node, truth(False))))

    def _look(self, made: Any, copies: int, *, loops: bool) -> None:
        looked_at = self._looked_at(made)
        if looked_at is None:
            return
        if not loops and _is_input(looked_at):
            self.work.looks += 1
            return
        if made.function == "@in":
            self._measure(looked_at, {"list": copies})
        elif made.function in _EQUALITIES:
            self._measure(looked_at, {"list": copies, "map": copies, "string": 0})
        else:
            self._measure(looked_at, {"string": 0})

    def _looked_at(self, made: Any) -> Node | None:
        """The argument of a call that is looked at as a whole, None where it is soon done."""
        name, args = made.function, made.args
        if name in _EQUALITIES or name in _ORDERS:
            return None if any(self._is_small(one) for one in args) else args[0]
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

    def _measure(self, node: Node, kinds: Mapping[str, int]) -> None:
        """Have a node say how large it is.

        Args:
            node: the node; changed.
            kinds: the types of which that matters; how often a list or map holds its inputs.
        """
        name, known = self._fresh(), self._kind(node)
        tell = truth(True)
        for kind, copies in kinds.items():
            cost = _told(self._fresh(), _size(ident(name)))
            if copies > 1:
                often = _told(self._fresh(), _held_by(name, kind), input_of, 0)
                once = call("_?_:_", call(input_of(tier_of(copies))), often, often)
                cost = call("_?_:_", cost, once, cost)
            elif copies:
                cost = call("_?_:_", cost, call(input_of(0)), cost)
            if known == kind:
                tell = cost
                break
            test = call("_==_", call("type", ident(name)), ident(kind))
            tell = call("_?_:_", test, cost, tell)
        node.CopyFrom(bind(name, node, call("_?_:_", tell, ident(name), ident(name))))

    # --- types ---

    def _kind(self, node: Node) -> str:
        """The type of a node as far as it is known, empty for any."""
        kind = self.types.get(node.id) if node.id else None
        if kind is None:
            return ""
        match kind.WhichOneof("type_kind"):
            case "primitive":
                return ("", "bool", "int", "uint", "double", "string", "bytes")[kind.primitive]
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

    def _may_hold(self, node: Node) -> bool:
        """Whether a value may be a list or map that is not written out."""
        return not self._is_small(node) and self._kind(node) not in ("string", "bytes")


_PLAIN = _EQUALITIES | _ORDERS | frozenset(
    {"@in", "_&&_", "_||_", "!_", "size", "contains", "startsWith", "endsWith", "type", "int",
     "uint", "double", "bool", "duration", "timestamp", "string", "bytes"}
)  # fmt: skip
_NATIVE = _PLAIN | frozenset(
    {"-_", "_+_", "_-_", "_*_", "_/_", "_%_", "_?_:_", "_[_]", "_?._", "_[?_]",
     "@not_strictly_false", "optional.of", "optional.none", "of", "none", "hasValue", "value",
     "orValue", "or"}
)  # fmt: skip


def _is_loud(node: Node) -> bool:
    """Whether a node calls what takes of the budget."""
    return kind_of(node) == "call_expr" and node.call_expr.function not in _NATIVE


def _is_input(node: Node) -> bool:
    """Whether a node is a part of what an expression is given."""
    while kind_of(node) == "select_expr":
        node = node.select_expr.operand
    return kind_of(node) == "ident_expr" and not node.ident_expr.name.startswith("@")


def _structure(node: Node) -> Any:
    """The nodes whose values end up in that of a node."""
    pending: list[Node] = [node]
    while pending:
        one = pending.pop()
        yield one
        match kind_of(one):
            case "call_expr" if one.call_expr.function in _PLAIN:
                continue
            case "call_expr" if one.call_expr.function == "_?_:_":
                pending.extend(one.call_expr.args[1:])
            case "comprehension_expr" if is_binding(one.comprehension_expr):
                pending.extend((one.comprehension_expr.accu_init, one.comprehension_expr.result))
            case "comprehension_expr":
                inner = one.comprehension_expr
                if kind_of(inner.accu_init) == "list_expr":
                    pending.extend((inner.iter_range, inner.loop_step))
            case _:
                pending.extend(children(one))


def _times(loop: Any, names: set[str]) -> int:
    """How often what a loop collects holds some names."""
    return sum(
        kind_of(one) == "ident_expr" and one.ident_expr.name in names
        for one in _structure(loop.loop_step)
    )


def _held_by(name: str, kind: str) -> Node:
    """How many items a list has, with those of lists in it as the first one has them."""
    size = _size(ident(name))
    if kind != "list":
        return size
    first = _item(name, 0)
    is_list = call("_==_", call("type", first), ident("list"))
    inner = call("_?_:_", is_list, _size(first), number(1))
    nothing = call("_==_", size, number(0))
    return call("_?_:_", nothing, number(0), call("_*_", size, inner))


def _told(name: str, size: Node, take: Callable[[int], str] = spend_of, most: int = SMALL) -> Node:
    """Whether there is enough of the budget for a size; an error where there is not.

    Args:
        name: of the size.
        size: it.
        take: the function that takes what a tier is.
        most: what is not worth a mention.
    """
    unit = 1 if most else SMALL
    sizes = [most, *(size_at(tier) // unit for tier in range(TIERS))]
    takes = [truth(True), *(call(take(tier)) for tier in range(TIERS)), call(TOO_LARGE)]

    def among(first: int, last: int) -> Node:
        """The one of some tiers that fits; trees must not be deep."""
        if first == last:
            return takes[first]
        middle = (first + last) // 2
        fits = call("_<=_", ident(name), number(sizes[middle]))
        return call("_?_:_", fits, among(first, middle), among(middle + 1, last))

    return bind(name, size, among(0, TIERS + 1))


def _item(name: str, at: int) -> Node:
    return call("_[_]", ident(name), number(at))


def summed(parts: list[Node], kind: str, name: str) -> Node:
    """A sum of several values that is counted before it is made, if it is of texts or lists.

    Args:
        parts: the values.
        kind: of what they are: ``string``, ``bytes``, ``list``, or empty for what is not known.
        name: that is not used else.
    """
    name = f"{PARTS}{name}"
    held = [_item(name, at) for at in range(len(parts))]
    plain = held[0]
    for one in held[1:]:
        plain = call("_+_", plain, one)
    size = _joined(ident(name))
    counted = call("_?_:_", _told(f"{name}#", size), plain, plain)
    if kind == "string":
        counted.call_expr.args[1].CopyFrom(call("join", target=ident(name)))
    elif not kind:
        first = call("type", held[0])
        sized = listed(*map(ident, ("string", "bytes", "list")))
        counted = call("_?_:_", call("@in", first, sized), counted, plain)
    return bind(name, listed(*parts), counted)


def is_binding(loop: Any) -> bool:
    """Whether a loop is there only to give a value a name."""
    return (
        kind_of(loop.iter_range) == "list_expr"
        and not loop.iter_range.list_expr.elements
        and loop.loop_condition.const_expr.WhichOneof("constant_kind") == "bool_value"
        and not loop.loop_condition.const_expr.bool_value
    )


def metered(
    tree: Node, types: Mapping[int, Any], known: Mapping[str, int] | None = None
) -> tuple[Work, int]:
    """Have an expression say what it takes.

    Args:
        tree: as it was rewritten; changed.
        types: types of its nodes by id, as it was checked.
        known: how often variables hold their inputs, by name.

    Returns:
        What it does once, and how often its value may hold its inputs.
    """
    meter = _Meter(types, dict(known or {}))
    copies = meter.visit(tree, loops=False)
    return meter.work, copies
