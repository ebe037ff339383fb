"""Which requests get which faults: the rules of one server, and what they have done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count as numbers
from typing import Any

from kubetrio.env import Env, seeded
from kubetrio.faults.rule import MOST_RULES, Rule, RuleError, Subject

MOST_COUNTED = 2000  # rules and faults that the metric has: the oldest go


@dataclass(slots=True, eq=False)
class Active:
    """A rule that is in force.

    Args:
        rule: which.
        chance: a number from 0 to 1, another one each time.
        revision: the newest one when it was added.

    Attributes:
        seen: requests that fit.
        injected: those that got the fault.
        ended: whether it is in force no more.
        holds: lets go of what waits because of the rule.
    """

    rule: Rule
    chance: Callable[[], float]
    revision: int
    seen: int = 0
    injected: int = 0
    ended: bool = False
    holds: set[Callable[[], None]] = field(default_factory=set)

    def take(self) -> bool:
        """Count a request that fits, and say whether it gets the fault."""
        rule = self.rule
        if rule.count and self.injected >= rule.count:
            return False
        self.seen += 1
        if self.seen % rule.every:
            return False
        if rule.probability < 1 and self.chance() >= rule.probability:
            return False
        self.injected += 1
        return True

    @contextmanager
    def holding(self, let_go: Callable[[], None]) -> Iterator[None]:
        """Have `let_go` called when the rule ends before the block does."""
        self.holds.add(let_go)
        try:
            yield
        finally:
            self.holds.discard(let_go)

    def end(self) -> None:
        """Let go of all that waits."""
        self.ended = True
        for let_go in tuple(self.holds):
            let_go()

    def as_dict(self) -> dict[str, Any]:
        """The rule and its numbers."""
        return {**self.rule.as_dict(), "seen": self.seen, "injected": self.injected}


class Injector:
    """The rules of a server.

    Args:
        env: randomness of rules without a seed.
        revision: the newest revision.

    Attributes:
        active: rules that are in force, by identity.
        counts: how often faults were injected, by rule and fault.
    """

    def __init__(self, env: Env, revision: Callable[[], int]) -> None:
        self._env = env
        self._revision = revision
        self.active: dict[str, Active] = {}
        self._standing: Sequence[Rule] = ()
        self._numbers = numbers(1)
        self.counts = Counter[tuple[str, str]]()

    def add(self, rule: Rule) -> str:
        """Put a rule in force, behind those that are; returns its id.

        Raises:
            RuleError: there is one with its id, or there are too many.
        """
        if len(self.active) >= MOST_RULES:
            raise RuleError(f"there are {MOST_RULES} rules already")
        if rule.id in self.active:
            raise RuleError(f"id: there is a rule {rule.id!r} already")
        while not rule.id or rule.id in self.active:
            rule = replace(rule, id=f"fault-{next(self._numbers)}")
        rng = self._env.rng if rule.seed is None else seeded(rule.seed).rng
        self.active[rule.id] = Active(rule, rng.random, self._revision())
        return rule.id

    def remove(self, rule_id: str) -> None:
        """End a rule; what waits because of it goes on.

        Raises:
            KeyError: there is no such rule.
        """
        self.active.pop(rule_id).end()

    def clear(self) -> None:
        """End all rules."""
        for rule_id in tuple(self.active):
            self.remove(rule_id)

    def stand(self, rules: Sequence[Rule]) -> None:
        """Put rules in force, and have them back after each `reset`.

        Raises:
            RuleError: two have the same id, or there are too many.
        """
        self._standing = tuple(rules)
        self.reset()

    def reset(self) -> None:
        """Go back to the rules of the start, with their numbers at 0."""
        self.clear()
        self._numbers = numbers(1)
        for rule in self._standing:
            self.add(rule)

    def rules(self) -> list[dict[str, Any]]:
        """The rules and their numbers, in the order in which they are looked at."""
        return [one.as_dict() for one in self.active.values()]

    def of(self, subject: Subject, faults: Container[str]) -> list[Active]:
        """Rules whose faults a request gets now, up to the first that answers it.

        Args:
            subject: what it is about.
            faults: which are asked for; others are as if they were not there.
        """
        actives = []
        for one in self.active.values():
            rule = one.rule
            if rule.fault in faults and rule.fits(subject) and one.take():
                self._count(rule)
                actives.append(one)
                if rule.fault in ANSWERS and not (rule.fault == "410" and subject.verb == "watch"):
                    break
        return actives

    def _count(self, rule: Rule) -> None:
        self.counts[rule.id, rule.fault] += 1
        if len(self.counts) > MOST_COUNTED:
            del self.counts[next(iter(self.counts))]


ANSWERS = frozenset({"401", "409", "410", "429", "500", "503", "504"})
"""Faults that end a request."""
