"""Counters and histograms in plain numbers, and their text."""

import pytest

from kubetrio.observe.metrics import text_of
from kubetrio.observe.series import Counts, Histogram, Timings, counter, exponential, linear


@pytest.mark.parametrize("name", ["requests_total", "authentication_attempts"])
def test_a_counter_is_shown_as_one_under_its_own_name(name: str) -> None:
    """The client library would name it otherwise, or give it no type."""
    counts = Counts(name, "Text.", "result", shown=[("none",)])
    counts["good",] += 2
    text = b"".join(map(text_of, counts.families())).decode()
    assert text == (
        f"# HELP {name} Text.\n# TYPE {name} counter\n"
        f'{name}{{result="none"}} 0.0\n{name}{{result="good"}} 2.0\n'
    )


def test_a_large_family_comes_in_parts() -> None:
    """So that others run between them."""
    parts = list(counter("a_total", "", ("n",), {(str(n),): 1 for n in range(120)}))
    assert [len(part.samples) for part in parts] == [50, 50, 20]
    assert [len(part.samples) for part in counter("a_total", "", ("n",), {})] == [0]


def test_many_values_at_once_count_as_one_by_one() -> None:
    """Also at the bounds, which belong to the bucket below, and some times each."""
    values = [0.5, 1, 2, 2, 3.5, 8, 9, 100]
    one, other = Histogram((1, 2, 4, 8)), Histogram((1, 2, 4, 8))
    one.observe_all(values, 3)
    for value in values:
        other.observe(value, 3)
    assert (one.counts, one.total) == (other.counts, other.total)


def test_timings_begin_when_they_are_looked_at() -> None:
    """And show what they were given."""
    timings = Timings("t_seconds", "Text.", "verb", bounds=(1.0,))
    timings["get",].observe(0.5)
    text = b"".join(map(text_of, timings.families())).decode()
    assert 't_seconds_bucket{le="1",verb="get"} 1.0' in text
    assert 't_seconds_count{verb="get"} 1.0' in text


def test_bounds_are_those_of_go() -> None:
    """``ExponentialBuckets`` and ``LinearBuckets``."""
    assert exponential(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert linear(50_000.0, 100_000.0, 3) == (50_000.0, 150_000.0, 250_000.0)
