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
        quiet_s: how long what it writes then is counted; it settles for twice that before.
        small: objects in a namespace that requests read and write.
        listed: objects in the list that is measured.
        deleted: objects deleted in a round.
        large: objects in a large list.
        growth: stored objects at which a GET is measured, first the one to compare with.
        churn: writes that compaction has to clear away.
        watchers: watches that are idle at once.
        calm_s: seconds that an honest user is watched before an attack.
        attack_s: seconds of an attack at its full strength; the mixed one takes three times that.
        back_s: seconds at most that memory has to come back.
        attack_scale: share of the connections of a full attack.
    """

    seconds: float = 4.0
    warmup: float = 0.5
    idle_seconds: float = 10.0
    quiet_s: float = 70.0
    small: int = 1_000
    listed: int = 10_000
    deleted: int = 5_000
    large: int = 100_000
    growth: tuple[int, int, int] = (1_000, 100_000, 1_000_000)
    churn: int = 20_000
    watchers: int = 1_000
    calm_s: float = 5.0
    attack_s: float = 20.0
    back_s: float = 60.0
    attack_scale: float = 1.0


FULL = Plan()
QUICK = Plan(
    seconds=1.0,
    warmup=0.2,
    idle_seconds=3.0,
    quiet_s=5.0,
    small=200,
    listed=2_000,
    deleted=1_000,
    large=10_000,
    growth=(1_000, 10_000, 50_000),
    churn=3_000,
    watchers=200,
    calm_s=1.0,
    attack_s=1.0,
    back_s=2.0,
    attack_scale=0.05,
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
        p50_yardstick_ms, p99_yardstick_ms: the yardstick's, for rows that compare it.
        readyz_p99_ms: of `/readyz`, for rows that probe it.
        kept_mb: memory that was not given back, for rows that look.
        note: numbers worth knowing beside.
    """

    value: float
    yardstick: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    p50_yardstick_ms: float | None = None
    p99_yardstick_ms: float | None = None
    readyz_p99_ms: float | None = None
    kept_mb: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Value by yardstick."""
        return _by(self.value, self.yardstick)

    @property
    def p50_ratio(self) -> float | None:
        """Median latency by the yardstick's."""
        return _by(self.p50_ms, self.p50_yardstick_ms)

    @property
    def p99_ratio(self) -> float | None:
        """Latency of the slowest hundredth by the yardstick's."""
        return _by(self.p99_ms, self.p99_yardstick_ms)


def _by(number: float | None, yardstick: float | None) -> float | None:
    return number / yardstick if number is not None and yardstick else None


@dataclass(frozen=True, slots=True)
class Target:
    """What a row should reach.

    Args:
        on: the number looked at.
        sense: how it compares.
        bound: with what.
    """

    on: Literal["value", "ratio", "p50_ratio", "p99_ratio", "readyz_p99_ms", "kept_mb"]
    sense: Literal["<", "<=", ">="]
    bound: float

    def met(self, number: float | None) -> bool:
        """Whether a number is good enough; none is not."""
        compare = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}[self.sense]
        return number is not None and bool(compare(number, self.bound))

    def __str__(self) -> str:
        of, unit = _TOLD[self.on]
        return f"{of}{self.sense}{self.bound:g}{unit}"


_TOLD = {
    "value": ("", ""),
    "ratio": ("", "x"),
    "p50_ratio": ("p50 ", "x"),
    "p99_ratio": ("p99 ", "x"),
    "readyz_p99_ms": ("readyz ", "ms"),
    "kept_mb": ("kept ", "MB"),
}


Opened = AbstractContextManager[Callable[[], Sample]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRow:
    """One line of the table.

    Args:
        name: stable name for --only.
        title: what is measured.
        unit: of the value.
        yardstick: what the value is divided by, empty for nothing.
        open: prepares a server; what it yields is called once for each round.
        target: None where the number is only reported.
        latency: targets of the latency beside the yardstick's, for rows that compare it.
        beside: targets of what else is measured beside.
        most_rounds: for rows that take long or hardly vary.
    """

    name: str
    title: str
    unit: str
    open: Callable[[Lab, Subject], Opened]
    yardstick: str = ""
    target: Target | None = None
    latency: tuple[Target, ...] = ()
    beside: tuple[Target, ...] = ()
    most_rounds: int = 99

    @property
    def targets(self) -> tuple[Target, ...]:
        """All that has to be met."""
        return ((self.target,) if self.target else ()) + self.latency + self.beside

    @property
    def goal(self) -> str:
        """The targets as text, empty for none."""
        return ", ".join(map(str, self.targets))
