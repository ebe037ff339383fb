"""Examples of property tests are played by a seed, and what fails is shrunk and told."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.stores import EXAMPLES, round_of


def test_examples_are_those_of_the_seed() -> None:
    seen: list[list[int]] = []
    for seed in (1, 1, 2):
        drawn: list[int] = []
        assert round_of(st.integers(), drawn.append, seed).executions == EXAMPLES
        seen.append(drawn)
    assert seen[0] == seen[1] != seen[2]


def test_what_fails_is_shrunk() -> None:
    def small(numbers: list[int]) -> None:
        assert sum(numbers) < 100

    told = round_of(st.lists(st.integers(0, 50)), small, 1)
    assert len(told.problems) == 1
    assert told.problems[0].endswith("\n[50, 50]")
