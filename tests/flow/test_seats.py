"""Seat-second arithmetic is exact."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.seats import ONE_SEAT, Width, seat_seconds_text, seconds, ticks


@settings(max_examples=200)
@given(st.integers(0, 10**15))
def test_ticks_survive_the_round_trip(count: int) -> None:
    """A time made from ticks is the same ticks again, so a timer is never early by a tick."""
    assert ticks(seconds(count)) == count


@settings(max_examples=100)
@given(st.floats(0, 1e6))
def test_ticks_are_nearest(value: float) -> None:
    """A time is off by at most half a tick."""
    assert abs(ticks(value) - value * 10**8) <= 0.5 + 1e-6 * value


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (0, "0.00000000ss"),
        (1, "0.00000001ss"),
        (150_000_000, "1.50000000ss"),
        (-300_000, "-0.00300000ss"),
        (2**70, "11805916207174.11303424ss"),
    ],
)
def test_text(units: int, text: str) -> None:
    """Units print with eight decimals, as on the debug pages."""
    assert seat_seconds_text(units) == text


def test_work_of_one_seat_is_the_guess() -> None:
    """One seat for the guessed 3 ms is 300,000 units."""
    assert ONE_SEAT.work == 300_000
    assert ONE_SEAT.max_seats == 1


@given(st.integers(1, 100), st.integers(0, 10), st.integers(0, 1000))
def test_work_is_seats_times_durations(initial: int, final: int, milliseconds: int) -> None:
    """Work is initial seats for the guess plus final seats for the additional latency."""
    width = Width(initial, final, milliseconds / 1000)
    assert width.work == initial * 300_000 + final * milliseconds * 100_000
    assert width.max_seats == max(initial, final)


@pytest.mark.parametrize("bad", [(0, 0, 0.0), (1, -1, 0.0), (1, 0, -0.1)])
def test_impossible_widths_are_refused(bad: tuple[int, int, float]) -> None:
    """A width has at least one initial seat and nothing negative."""
    with pytest.raises(ValueError, match="impossible width"):
        Width(*bad)
