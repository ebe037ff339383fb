"""Loops of expressions as the estimate of costs goes through them, whatever they were written as.

Macros with two variables and ``sortBy`` are calls here; the loops that cel-go makes of them are
made for the estimate alone, of nodes that are in no tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubetrio.cel import syntax
from kubetrio.cel.macros import variables_of
from kubetrio.cel.ranges import ONE, Range
from kubetrio.cel.syntax import Node, kind_of

ACCUMULATOR = "@result"
ACCUMULATORS = ("__result__", ACCUMULATOR)
INPUT = "@input"
"""What ``sortBy`` binds its list to."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, whatever it was written as; ``ids`` of its own nodes do not matter.

    Args:
        over: what it goes over.
        variables: of each turn, one or two.
        accumulator: what is carried along.
        first: its first value.
        condition: whether to go on.
        step: its next value.
        result: what comes out.
    """

    over: Node
    variables: tuple[str, ...]
    accumulator: str
    first: Node
    condition: Node
    step: Node
    result: Node

    @property
    def binds(self) -> bool:
        """Whether it is there only to give a value a name."""
        return (
            kind_of(self.over) == "list_expr"
            and not self.over.list_expr.elements
            and self.condition.const_expr.WhichOneof("constant_kind") == "bool_value"
            and not self.condition.const_expr.bool_value
            and self.accumulator != ACCUMULATORS[0]
        )


class LoopMaker:
    """Makes the loops of one expression.

    Args:
        overloads: overloads of calls, by node; those of made nodes are added.
        sizes: sizes of values, by node; those of made nodes are added.
    """

    def __init__(self, overloads: dict[int, tuple[str, ...]], sizes: dict[int, Range]) -> None:
        self._overloads = overloads
        self._sizes = sizes
        self._made = 0

    def _new(self, node: Node, overload: str = "") -> Node:
        """A node that is not in the tree."""
        self._made -= 1
        node.id = self._made
        if overload:
            self._overloads[node.id] = (overload,)
        return node

    def _accumulator(self) -> Node:
        return self._new(syntax.ident(ACCUMULATOR))

    def expanded(self, node: Node) -> Loop:
        """The loop that a macro with two variables, which is a call here, stands for."""
        call = node.call_expr
        name, body = call.function, call.args[-1]
        result, condition = self._accumulator(), self._new(syntax.truth(True))
        going = "@not_strictly_false"
        match name:
            case "all":
                first = self._new(syntax.truth(True))
                condition = self._new(syntax.call(going, self._accumulator()), going)
                step = self._new(syntax.call("_&&_", self._accumulator(), body), "logical_and")
            case "exists":
                first = self._new(syntax.truth(False))
                negated = self._new(syntax.call("!_", self._accumulator()), "logical_not")
                condition = self._new(syntax.call(going, negated), going)
                step = self._new(syntax.call("_||_", self._accumulator(), body), "logical_or")
            case "existsOne" | "exists_one":
                first = self._new(syntax.number(0))
                one = self._counter(syntax.number(1))
                more = self._new(syntax.call("_+_", self._counter(), one), "add_int64")
                step = self._conditional(body, more)
                one = self._counter(syntax.number(1))
                result = self._new(syntax.call("_==_", self._counter(), one), "equals")
            case _:
                first, step = self._collecting(node)
        return Loop(call.target, variables_of(node), ACCUMULATOR, first, condition, step, result)

    def keys_of(self, node: Node) -> tuple[Node, Loop]:
        """The loop that makes the keys of ``list.sortBy(e, key)``, and a node that stands for it.

        Args:
            node: the call; its target has the name `INPUT` in the loop.
        """
        body = node.call_expr.args[1]
        held, item = self._new(syntax.ident(INPUT)), syntax.ident("")
        item.list_expr.elements.add().CopyFrom(body)
        step = syntax.call("_+_", self._accumulator(), self._new(item))
        nothing = syntax.ident("")
        nothing.list_expr.SetInParent()
        keys = self._new(syntax.ident("@keys"))
        keyed = Loop(
            held, variables_of(node), ACCUMULATOR, self._new(nothing),
            self._new(syntax.truth(True)), self._new(step, "add_list"), self._accumulator(),
        )  # fmt: skip
        return keys, keyed

    def _counter(self, node: Node | None = None) -> Node:
        """A node of size 1, whatever it is."""
        expr = self._new(syntax.ident(ACCUMULATOR) if node is None else node)
        self._sizes[expr.id] = ONE
        return expr

    def _conditional(self, condition: Node, then: Node) -> Node:
        expr = syntax.call("_?_:_", condition, then, self._accumulator())
        return self._new(expr, "conditional")

    def _collecting(self, node: Node) -> tuple[Node, Node]:
        """What a loop that collects begins with, and its step."""
        call = node.call_expr
        body, first = call.args[-1], self._new(syntax.ident(""))
        if call.function == "transformList":
            first.list_expr.SetInParent()
            item = self._new(syntax.ident(""))
            item.list_expr.elements.add().CopyFrom(body)
            step = self._new(syntax.call("_+_", self._accumulator(), item), "add_list")
        else:
            first.struct_expr.SetInParent()
            key = [] if call.function == "transformMapEntry" else [call.args[0]]
            step = syntax.call("cel.@mapInsert", self._accumulator(), *key, body)
            step = self._new(step, "cel.@mapInsert")
        if len(call.args) == 4:
            step = self._conditional(call.args[2], step)
        return first, step
