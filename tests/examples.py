"""How much of a long test runs: a part in each run of the tests, and all of it in the long run.

``pytest --hypothesis-profile=long -m "slow or shortened"`` runs what the tests leave out else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T", bound=Callable[..., Any])

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("long", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)

PROFILES = ("long", "explore")
"""Profiles that draw all examples."""
SHARE = 4
"""Part of the examples that other profiles draw."""
LEAST = 3


def drawn(most: int) -> int:
    """Examples that this run draws of a test that draws at most so many."""
    if any(settings.default is settings.get_profile(name) for name in PROFILES):
        return most
    return min(most, max(LEAST, most // SHARE))


def shortened(most: int) -> Callable[[T], T]:
    """Mark a property test that draws so many examples in the long run, and a quarter else."""

    def decorate(test: T) -> T:
        return pytest.mark.shortened(settings(max_examples=drawn(most), deadline=None)(test))

    return decorate


def some_of(*cases: Any) -> list[Any]:
    """Parameters of a test of equal cases: a quarter of them, spread; the long run has the rest."""
    return [
        case if at % SHARE == 0 else pytest.param(case, marks=pytest.mark.slow)
        for at, case in enumerate(cases)
    ]
