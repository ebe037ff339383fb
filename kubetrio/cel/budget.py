"""What evaluations may take: time and memory, counted in the same units on every machine.

A unit is about a tenth of a microsecond, or a character, byte or item that is made: a tenth of the
cost that kube-apiserver counts.  Functions say what they are about to make before they make it, and
what they look at; loops say so of their turns.  An evaluation that takes too much is ended as one
over budget, whatever its expression would make of the error.

Who has evaluations done off the event loop has them look up from time to time (`Effort`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kubetrio.runtime.effort import Effort

PER_CALL = 10_000_000
"""For one expression: kube-apiserver's 1,000,000."""
PER_REQUEST = 100_000_000
"""For all expressions that are evaluated together: kube-apiserver's 10,000,000."""
ON_LOOP = 200_000
"""For an expression that can be evaluated on the event loop alone: 20 ms."""
_STEP = 10  # units of one step of effort


class OverBudget(Exception):
    """An evaluation takes too much."""


class Budget:
    """What is left for some evaluations.

    Args:
        total: for all of them.
        call: for each.
        effort: is spent beside it, None for one that only looks up.

    Attributes:
        over: whether an expression took more than there was.
        size: of what the expression is given.
        handed: what the engine was given and keeps, emptied after the expression.
        stopped: what an evaluation was stopped with, to be raised behind it; None for nothing.
    """

    __slots__ = (
        "_call", "_effort", "_for_call", "_step", "_total", "handed", "over", "size", "stopped",
    )  # fmt: skip

    def __init__(
        self, total: int = PER_REQUEST, call: int = PER_CALL, effort: Effort | None = None
    ) -> None:
        self._total = total
        self._for_call = call
        self._call = call
        self._effort = Effort(total) if effort is None else effort
        self._step = 0
        self.over = False
        self.size = 0
        self.handed: list[list[Any] | dict[Any, Any]] = []
        self.stopped: BaseException | None = None

    def begin(self, size: int) -> None:
        """Begin another expression.

        Args:
            size: of what it is given.
        """
        self.size = size
        self._call = min(self._for_call, self._total)
        self.over = False

    @property
    def left(self) -> int:
        """What is left for all."""
        return self._total

    def go_on(self) -> None:
        """End an expression, and raise what it was stopped with, if it was."""
        for one in self.handed:
            one.clear()
        self.handed.clear()
        stopped, self.stopped = self.stopped, None
        if stopped is not None:
            try:
                raise stopped
            finally:
                del stopped  # its traceback holds what was evaluated

    def spend(self, units: int) -> None:
        """Take some units.

        Raises:
            OverBudget: there are not so many.
            BaseException: what a look raised, or `kubetrio.runtime.effort.Exhausted`.
        """
        self._call -= units
        self._total -= units
        if self._call < 0 or self.stopped is not None:
            self.over = True
            raise OverBudget
        self._step += units
        if self._step >= _STEP:
            steps, self._step = divmod(self._step, _STEP)
            try:
                self._effort.spend(steps)
            except BaseException as stopped:
                self.stopped = stopped
                raise


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget | None:
    """The budget of the evaluation that is going on, or of those that will be."""
    return _current.get()


@contextmanager
def budgeted(budget: Budget) -> Iterator[Budget]:
    """Evaluate on a budget.

    Args:
        budget: what is left.
    """
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def spend(units: int) -> None:
    """Take some units of the budget of the evaluation that is going on.

    Raises:
        ValueError: there are not so many; the evaluation ends.
    """
    budget = _current.get()
    if budget is not None:
        try:
            budget.spend(units)
        except Exception as error:
            # The engine knows errors alone; what it is to be is raised behind the evaluation.
            raise ValueError("over budget") from error
