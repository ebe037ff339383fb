"""Expressions that run.

Limits: the engine stops a loop, nested ones counted together, after 10,000 turns.  kube-apiserver
counts cost instead (1,000,000 a call), which is more turns for short bodies.  What is looked at and
made is counted here too (see `budget` and `metering`).

Source: docs "Common Expression Language in Kubernetes" (resource constraints); KEP-3488 (variables
are evaluated when they are asked for).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson
from google.protobuf.message import DecodeError

from kubetrio.cel import wording
from kubetrio.cel.authorizing import Ask, asking
from kubetrio.cel.budget import Budget, OverBudget, budgeted, current
from kubetrio.cel.engine import engine, extensions
from kubetrio.cel.expressions import Checked, CompileError
from kubetrio.cel.functions import implementations
from kubetrio.cel.messages import base_pool
from kubetrio.cel.ordering import key_order
from kubetrio.cel.rewriting import MEMBERS, guarded, variable_name
from kubetrio.cel.syntax import Node, bind, children, kind_of, parsed

_INPUTS = (
    "object", "oldObject", "namespaceObject", "request", "params", "authorizer", "self", "oldSelf",
    "claims", "user", *MEMBERS,
)  # fmt: skip


@cache
def _runtime() -> Any:
    cel = engine()
    return cel.NewEnv(
        base_pool(),
        variables=dict.fromkeys(_INPUTS, cel.Type.DYN),
        functions=implementations(),
        extensions=extensions("optional", "strings", "bindings"),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an evaluation.

    Args:
        value: the value, if there is no error.
        error: what went wrong, in cel-go's words; empty for nothing.
        out_of_budget: whether it looped for too long.
    """

    value: Any = None
    error: str = ""
    out_of_budget: bool = False


_NUL, _INSTEAD = "\0", "\ufffd"


def _fit(value: Any) -> tuple[Any, int]:
    """A JSON value as the engine reads it all, and its size.

    The engine cuts texts at a NUL, so that a policy would not see what comes after it: they have
    U+FFFD there.  It takes a fraction of a type of its own, which keeps its text, for an integer.
    """
    if isinstance(value, str):
        return _fitted(value), len(value)
    if not isinstance(value, dict | list):
        return (float(value) if isinstance(value, float) else value), 1
    kept = _Kept()
    text = orjson.dumps(value, default=kept.note)
    if b"\\u0000" not in text and not kept.numbers:
        return value, len(text)
    return _fitted(value), len(text)


class _Kept:
    """What is looked at of a value that is no plain JSON: messages keep their NULs."""

    numbers = False

    def note(self, value: Any) -> None:
        self.numbers = self.numbers or isinstance(value, float)


def _fitted(value: Any) -> Any:
    if isinstance(value, dict):
        return {_fitted(key): _fitted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_fitted(item) for item in value]
    if isinstance(value, float):
        return float(value)
    return value.replace(_NUL, _INSTEAD) if isinstance(value, str) else value


class Inputs:
    """Values that several expressions look at, converted when first looked at.

    Args:
        values: by name; JSON values, and messages by themselves or in them.
        ask: answers questions put to ``authorizer``.
        budget: what evaluations of them may take, where nothing else is said; None for a new one.

    Attributes:
        size: of the values, in bytes as JSON.
    """

    def __init__(
        self, values: Mapping[str, Any], ask: Ask | None = None, budget: Budget | None = None
    ) -> None:
        clean: dict[str, Any] = {}
        self.size = 0
        for name, value in values.items():
            clean[name], size = _fit(value)
            self.size += size
        self._values = clean
        self._activation: Any = None
        self._on: Budget | None = None
        self.ask = ask
        self.budget = budget

    def activation(self) -> Any:
        """The values as the engine has them.

        They are of the thread that made them: evaluations on another budget may be in another.
        """
        budget = current()
        if self._activation is None or self._on is not budget:
            self._activation, self._on = _runtime().Activation(self._values), budget
        return self._activation


class Program:
    """An expression that can be evaluated.

    Args:
        checked: the expression.
        variables: the variables of its scope, in order.
    """

    def __init__(self, checked: Checked, variables: Sequence[tuple[str, Checked]] = ()) -> None:
        self.source = checked.source
        self.uses = checked.uses
        needed = _needed(checked, variables)
        works = [checked.work, *(one.work for name, one in variables if name in needed)]
        self._nodes = sum(work.nodes for work in works)
        self._looks = sum(work.looks for work in works)
        self._tree = checked.tree
        self._variables = [one for one in variables if one[0] in needed]
        tree = _bound(checked.tree, self._variables)
        self._program = _runs(tree)
        self._checked = checked
        self._guarded: Program | None = None

    def guarded(self) -> Program:
        """Return this program for values of which some are not what their schema says."""
        if self._guarded is None:
            tree = guarded(self._checked.tree)
            self._guarded = Program(replace(self._checked, tree=tree), self._variables)
        return self._guarded

    def evaluate(self, inputs: Inputs) -> Outcome:
        """Evaluate; what an expression does is no error.

        Raises:
            BaseException: what the budget was stopped with (`Budget.stopped`).
        """
        budget = current()
        if budget is None:
            inputs.budget = inputs.budget or Budget()
            with budgeted(inputs.budget):
                return self._on(inputs.budget, inputs)
        return self._on(budget, inputs)

    def _on(self, budget: Budget, inputs: Inputs) -> Outcome:
        """Evaluate on the budget that is the current one."""
        budget.begin(inputs.size)
        outcome = self._evaluated(inputs, budget)
        budget.go_on()
        if budget.over or outcome.out_of_budget:
            return Outcome(error=wording.OUT_OF_BUDGET, out_of_budget=True)
        if not outcome.error:
            return outcome
        return Outcome(error=self._explained(outcome.error, inputs))

    def _evaluated(self, inputs: Inputs, budget: Budget) -> Outcome:
        # Values are turned into the engine's once, and what is outside of loops is done once.
        units = self._nodes + (inputs.size >> 2) + self._looks * (inputs.size >> 3)
        try:
            budget.spend(units)
        except OverBudget:
            return Outcome()
        return _run(self._program, inputs)

    def _explained(self, error: str, inputs: Inputs) -> str:
        """An error with what the engine leaves out: the variable to blame, the member asked for."""
        for at, (name, checked) in enumerate(self._variables):
            if name in self.uses:
                variable = Program(checked, self._variables[:at])
                if _run(variable._program, inputs).error == error:
                    why = variable._explained(error, inputs)
                    return f'composited variable "{name}" fails to evaluate: {why}'
        if error != wording.NO_MESSAGE:
            return error
        for node in _leaves_first(self._tree):
            if kind_of(node) == "select_expr":
                # What depends on the variable of a loop is an error here.
                operand = _run(_program(node.select_expr.operand, self._variables), inputs)
                if not operand.error and not isinstance(operand.value, dict):
                    return f"no such key: {node.select_expr.field}"
        return "no such key"


def _leaves_first(node: Node) -> Iterable[Node]:
    """The nodes of a tree, those nearer to the leaves first."""
    for child in children(node):
        yield from _leaves_first(child)
    yield node


def _needed(checked: Checked, variables: Sequence[tuple[str, Checked]]) -> set[str]:
    """The variables an expression asks for, directly or through others."""
    known = dict(variables)
    needed: set[str] = set()
    pending = list(checked.uses)
    while pending:
        name = pending.pop()
        if name in known and name not in needed:
            needed.add(name)
            pending.extend(known[name].uses)
    return needed


def _bound(tree: Node, variables: Sequence[tuple[str, Checked]]) -> Node:
    """An expression within its variables."""
    for name, checked in reversed(variables):
        tree = bind(variable_name(name), checked.tree, tree)
    return tree


def _program(tree: Node, variables: Sequence[tuple[str, Checked]]) -> Any:
    return _runs(_bound(tree, variables))


def _runs(tree: Node) -> Any:
    try:
        return _runtime().deserialize(parsed(tree))
    except (DecodeError, RuntimeError):
        # Messages within each other, which trees are, can be a hundred levels deep.
        raise CompileError("compilation failed: expression nests too deeply") from None


@cache
def _error_type() -> Any:
    return engine().Type.ERROR


def _plain(value: Any) -> Any:
    """A value of the engine as Python's, with maps in the order of their keys.

    The engine's own conversion crashes on optionals in maps, and draws the order of keys.

    Raises:
        TypeError: it is or holds an optional.
    """
    plain = value.value()
    if isinstance(plain, dict):
        return {key: _plain(plain[key]) for key in sorted(plain, key=key_order)}
    return [_plain(item) for item in plain] if isinstance(plain, list) else plain


def _run(program: Any, inputs: Inputs) -> Outcome:
    activation = inputs.activation()
    try:
        result = asking(inputs.ask, lambda: program.eval(activation))
        if result.type() == _error_type():
            if wording.BUDGET_ERROR in str(result.value()):
                return Outcome(error=wording.OUT_OF_BUDGET, out_of_budget=True)
            return Outcome(error=wording.runtime_error(str(result.value())))
        return Outcome(_plain(result))
    except TypeError:
        # an optional: no expression that is evaluated here may have one as its result
        return Outcome(error="no such overload")
    except RuntimeError as error:
        text = str(error)
        if wording.BUDGET_ERROR in text:
            return Outcome(error=wording.OUT_OF_BUDGET, out_of_budget=True)
        return Outcome(error=wording.runtime_error(text))
