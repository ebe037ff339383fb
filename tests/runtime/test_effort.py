"""Steps: how many there are, and when work looks up from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.runtime.effort import STRIDE, Effort, Exhausted, Looking


@given(st.lists(st.integers(0, STRIDE), max_size=50), st.integers(0, 10 * STRIDE))
def test_all_steps_may_be_taken_and_no_more(taken: list[int], most: int) -> None:
    """Whichever way they come."""
    effort, sum_ = Effort(most), 0
    for steps in taken:
        sum_ += steps
        if sum_ > most:
            with pytest.raises(Exhausted, match=f"takes more than {most} steps"):
                effort.spend(steps)
            return
        effort.spend(steps)


@given(st.lists(st.integers(1, STRIDE), min_size=1, max_size=50))
def test_work_looks_up_once_a_stride(taken: list[int]) -> None:
    """Who began it outside of the block does not."""
    looks: list[int] = []
    outside = Effort()
    with Looking(lambda: looks.append(1)):
        inside = Effort()
        for steps in taken:
            inside.spend(steps)
            outside.spend(steps)
    assert sum(taken) // (2 * STRIDE) <= len(looks) <= sum(taken) // STRIDE


def test_work_ends_with_what_a_look_raises() -> None:
    """A block inside of another counts, and the other again behind it."""

    def stop() -> None:
        raise KeyError

    with Looking(stop):
        with Looking(lambda: None):
            Effort().spend(STRIDE + 1)
        with pytest.raises(KeyError):
            Effort().spend(STRIDE + 1)
    Effort().spend(STRIDE + 1)
