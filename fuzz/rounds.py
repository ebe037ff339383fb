"""What a target of the fuzzer is: rounds, each of a seed, with what was tried and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Round:
    """What one round tried.

    Attributes:
        executions: inputs or requests.
        problems: what broke the invariant.
    """

    executions: int = 0
    problems: list[str] = field(default_factory=list)

    def require(self, true: object, text: str) -> None:
        """Note a problem where the invariant does not hold."""
        if not true:
            self.problems.append(text)


@dataclass(frozen=True)
class Target:
    """A target.

    Args:
        name: of it.
        invariant: in one sentence.
        play: plays the round of a seed.
    """

    name: str
    invariant: str
    play: Callable[[int], Round]
