"""Values are drawn as a list, the same for the same randomness."""

from __future__ import annotations

from hypothesis import strategies as st

from kubetrio.env import seeded
from kubetrio.harness.operators.outside.drawing import drawn


def test_a_seed_decides() -> None:
    """So many as asked for."""
    one, again, other = (drawn(st.integers(), 6, seeded(seed).rng) for seed in (1, 1, 2))
    assert len(one) == 6
    assert one == again
    assert one != other


def test_fewer_where_there_are_no_more() -> None:
    """As many as there are."""
    assert drawn(st.just(3), 6, seeded(1).rng) == [3]
