"""The delay announced to refused clients."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.retry import RetryAfter


def drop(retry: RetryAfter, second: int, count: int) -> int:
    """Refuse some requests in one second; return the last delay announced."""
    return [retry.dropped(second + i / (count + 1)) for i in range(count)][-1]


def test_starts_at_one_second() -> None:
    """The first refusals are told one second, however many there are within it."""
    assert drop(RetryAfter(), 5, 1000) == 1


def test_doubles_under_load() -> None:
    """Three refusals for each second of the delay double it, up to 32 seconds."""
    retry = RetryAfter()
    seen = [drop(retry, second, 5) for second in range(200)]
    assert sorted(set(seen)) == [1, 2, 4, 8, 16, 32]
    assert seen[-1] == 32


def test_doubles_once_in_its_own_length() -> None:
    """After doubling to n it takes at least n seconds until it doubles again."""
    retry = RetryAfter()
    seen = [drop(retry, second, 500) for second in range(100)]
    raised = [second for second in range(1, 100) if seen[second] > seen[second - 1]]
    gaps = [after - before for before, after in pairwise(raised)]
    assert gaps == [2, 4, 8, 16]


def test_falls_by_one() -> None:
    """Fewer refusals than seconds of the delay shorten it, one second at a time."""
    retry = RetryAfter()
    for second in range(100):
        drop(retry, second, 200)
    assert [drop(retry, 200 + 40 * i, 1) for i in range(4)] == [31, 30, 29, 28]


def test_steady_between_the_thresholds() -> None:
    """Between one and three refusals a second the delay stays."""
    retry = RetryAfter()
    for second in range(4):
        drop(retry, second, 3)
    assert retry.seconds == 4
    assert {drop(retry, second, 2) for second in range(4, 60)} == {4}


@settings(max_examples=50)
@given(st.lists(st.floats(0, 100), max_size=200))
def test_bounds(times: list[float]) -> None:
    """The delay is 1 to 32 seconds and what is remembered covers about as long."""
    retry = RetryAfter()
    for t in sorted(times):
        assert 1 <= retry.dropped(t) <= 32
        assert len(retry._drops) <= 34
