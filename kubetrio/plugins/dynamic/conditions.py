"""Match conditions of webhooks and policies, and the expressions that policies have besides.

Source: docs "Dynamic Admission Control" (``matchConditions``), "Validating Admission Policy".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.expressions import Checked, CompileError, Scope, check, result_error
from kubetrio.cel.programs import Inputs, Outcome, Program
from kubetrio.gotext.text import aggregate


class Expression:
    """One expression of a policy, compiled or not.

    Args:
        source: its text.
        scope: what it sees.
        types: types it may have; empty for any.
    """

    def __init__(self, source: str, scope: Scope, types: Sequence[str] = ()) -> None:
        self.source = source
        self.error = ""
        self.checked: Checked | None = None
        self._program: Program | None = None
        try:
            self.checked = check(source, scope)
            self._program = Program(self.checked, scope.variables or ())
        except CompileError as error:
            self.error = f"compilation error: {error}"
            return
        if wrong := result_error(self.checked.type, types):
            self.error = f"compilation error: {wrong}"

    def evaluate(self, inputs: Inputs) -> Outcome:
        """Evaluate; the error is what kube-apiserver tells of it."""
        if self.error or self._program is None:
            return Outcome(error=self.error)
        outcome = self._program.evaluate(inputs)
        if not outcome.error or outcome.out_of_budget:
            return outcome
        return Outcome(error=f"expression '{self.source}' resulted in error: {outcome.error}")


@dataclass(frozen=True, slots=True)
class Matched:
    """Whether the conditions of a policy hold.

    Args:
        matches: whether they do.
        error: why that cannot be told, empty when it can.
    """

    matches: bool
    error: str = ""


class MatchConditions:
    """The ``matchConditions`` of a policy.

    Args:
        spec: of the policy.
        scope: what its expressions see.
    """

    def __init__(self, spec: Mapping[str, Any], scope: Scope) -> None:
        self._conditions = [
            Expression(item.get("expression") or "", scope, ("bool",))
            for item in spec.get("matchConditions") or ()
        ]
        self._fail = spec.get("failurePolicy") != "Ignore"

    def match(self, inputs: Inputs) -> Matched:
        """Whether all hold: one that is false decides, else an error does."""
        errors: list[str] = []
        for condition in self._conditions:
            outcome = condition.evaluate(inputs)
            if outcome.out_of_budget:
                return Matched(False, outcome.error)
            if outcome.error:
                errors.append(outcome.error)
            elif outcome.value is not True:
                return Matched(False)
        if not errors:
            return Matched(True)
        if not self._fail:
            return Matched(False)
        return Matched(False, aggregate(errors))
