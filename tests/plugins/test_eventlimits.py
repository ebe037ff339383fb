"""Token buckets of EventRateLimit."""

from __future__ import annotations

from kubetrio.plugins.eventlimits import Buckets, Limit


def test_buckets_fill_with_time() -> None:
    """Full at first, then so many tokens in a second, and never more than there is room for."""
    now = [0.0]
    buckets = Buckets(Limit("User", qps=2, burst=3), lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    """Tokens stay; they come again when the clock does."""
    now = [100.0]
    buckets = Buckets(Limit("User", qps=1, burst=2), lambda: now[0])
    assert buckets.take("a")
    now[0] = 0.0
    assert [buckets.take("a"), buckets.take("a")] == [True, False]
    now[0] = 1.0
    assert buckets.take("a")


def test_a_flood_of_keys_is_forgotten() -> None:
    """The least recently used bucket goes; there are never more than configured."""
    buckets = Buckets(Limit("User", qps=1, burst=1, cache_size=10), lambda: 0.0)
    assert buckets.take("kept")
    for number in range(10_000):
        buckets.take(str(number))
        assert not buckets.take("kept")
    assert len(buckets) == 10
    assert buckets.take("0")


def test_long_keys_are_not_kept() -> None:
    """They count as others do, by their hash."""
    buckets = Buckets(Limit("SourceAndObject", qps=1, burst=1), lambda: 0.0)
    long = "x" * 1_000_000
    assert [buckets.take(long), buckets.take(long), buckets.take(long + "y")] == [
        True,
        False,
        True,
    ]
    assert max(map(len, buckets._known)) <= 256
