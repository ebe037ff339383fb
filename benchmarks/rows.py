"""What a row is: a name, a target, and how to get one sample."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from benchmarks.subjects import Subject
from benchmarks.yardsticks import Yardsticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Scale of a run.

    Args:
        seconds: length of one measurement of requests.
        warmup: seconds before it.
        idle_seconds: how long an idle server is watched.
        small: objects in a namespace that requests read and write.
        listed: objects in the list that is measured.
        deleted: objects deleted in a round.
        large: objects in a large list.
        growth: stored objects at which a GET is measured, first the one to compare with.
        churn: writes that compaction has to clear away.
    """

    seconds: float = 4.0
    warmup: float = 0.5
    idle_seconds: float = 10.0
    small: int = 1_000
    listed: int = 10_000
    deleted: int = 5_000
    large: int = 100_000
    growth: tuple[int, int, int] = (1_000, 100_000, 1_000_000)
    churn: int = 20_000


FULL = Plan()
QUICK = Plan(
    seconds=1.0,
    warmup=0.2,
    idle_seconds=3.0,
    small=200,
    listed=2_000,
    deleted=1_000,
    large=10_000,
    growth=(1_000, 10_000, 50_000),
    churn=3_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What a row works with."""

    plan: Plan
    yardsticks: Yardsticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One round of one row on one server.

    Args:
        value: the number, in the row's unit.
        yardstick: the yardstick's number in the same unit, None for rows without.
        p50_ms, p99_ms: latency, None where there is none.
        note: numbers worth knowing beside.
    """

    value: float
    yardstick: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Value by yardstick."""
        return self.value / self.yardstick if self.yardstick else None


@dataclass(frozen=True, slots=True)
class Target:
    """What a row should reach.

    Args:
        on: the number looked at.
        sense: how it compares.
        bound: with what.
    """

    on: Literal["value", "ratio"]
    sense: Literal["<", "<=", ">="]
    bound: float

    def met(self, value: float, ratio: float | None) -> bool:
        """Whether a result is good enough."""
        number = value if self.on == "value" else ratio
        compare = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}[self.sense]
        return number is not None and bool(compare(number, self.bound))

    def __str__(self) -> str:
        return f"{self.sense}{self.bound:g}" + ("x" if self.on == "ratio" else "")


Opened = AbstractContextManager[Callable[[], Sample]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Args:
        name: stable name for --only.
        title: what is measured.
        unit: of the value.
        yardstick: what the value is divided by, empty for nothing.
        open: prepares a server; what it yields is called once a round.
        target: None where the number is only reported.
        most_rounds: for rows that take long or hardly vary.
    """

    name: str
    title: str
    unit: str
    open: Callable[[Lab, Subject], Opened]
    yardstick: str = ""
    target: Target | None = None
    most_rounds: int = 99
