"""Expressions over values of which some are not what their schema says.

A whole number that was sent as ``1.0`` is none to kube-apiserver's rules: an expression that looks
at it fails.  The engine has no values that are errors.  So such a value is an opaque one, and for
objects that have some, expressions are made anew that look at each value.
"""

from __future__ import annotations

from kubetrio.cel.functions import USABLE
from kubetrio.cel.syntax import Node, bind, call, children, ident, kind_of

_HELD = "@looked at"


def guarded(tree: Node) -> Node:
    """An expression that looks at each value it gets, as a new tree.

    Args:
        tree: the expression as it runs.
    """
    made = ident("")
    made.CopyFrom(tree)
    _guard(made, frozenset({"self", "oldSelf"}))
    return made


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
        held = ident(_HELD)
        node.CopyFrom(bind(_HELD, node, call("_?_:_", call(USABLE, held), held, held)))
