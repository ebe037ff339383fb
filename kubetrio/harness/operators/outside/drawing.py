"""Values that a hypothesis strategy draws, as a list.

Needs hypothesis.
"""

from __future__ import annotations

import random  # noqa: TID251  (the randomness of an Env)
from contextlib import suppress
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], number: int, rng: random.Random) -> list[T]:
    """Draw values; fewer where the strategy has no more.

    Args:
        strategy: draws them.
        number: how many.
        rng: decides which.
    """
    values: list[T] = []

    def collect(value: T) -> bool:
        values.append(value)
        return False

    chosen = settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with suppress(NoSuchExample):
        find(strategy, collect, settings=chosen, random=rng)
    return values[:number]
