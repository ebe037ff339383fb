"""Time-weighted numbers."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow import occupancy
from kubetrio.flow.occupancy import Occupancy, RatioHistogram, ReadWriteOccupancy
from kubetrio.schema import builtin


@pytest.mark.parametrize(
    ("metric", "bounds"),
    [
        ("priority_level_request_utilization", occupancy.REQUEST_BOUNDS),
        ("priority_level_seat_utilization", occupancy.SEAT_BOUNDS),
        ("demand_seats", occupancy.DEMAND_BOUNDS),
        ("read_vs_write_current_requests", occupancy.READ_WRITE_BOUNDS),
    ],
)
def test_buckets_are_those_of_the_metrics(metric: str, bounds: tuple[float, ...]) -> None:
    """The buckets are the documented ones."""
    known = builtin.load("metrics")[f"apiserver_flowcontrol_{metric}"]
    assert list(bounds) == known["buckets"]


def test_histogram_counts_nanoseconds() -> None:
    """One observation for each nanosecond, in cumulative buckets, bounds inclusive."""
    histogram = RatioHistogram((0, 0.5, 1))
    histogram.add(0, 1)
    histogram.add(0.5, 2)
    histogram.add(0.7, 3)
    histogram.add(2, 4)
    snapshot = histogram.snapshot()
    assert snapshot.counts == (10, 30, 60)
    assert snapshot.count == 100
    assert snapshot.total == pytest.approx(0.5 * 20 + 0.7 * 30 + 2 * 40)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=30))
def test_demand_moments(steps: list[tuple[int, int]]) -> None:
    """Average and deviation are those of the demand sampled at every tick."""
    kept = Occupancy()
    for demand, elapsed in steps:
        kept.spend((0, 0, demand, 0), elapsed)
    samples = [demand for demand, elapsed in steps for _ in range(elapsed)]
    window = kept.take_window(0)
    assert window.duration_s == pytest.approx(len(samples) * 1e-8)
    assert window.average == pytest.approx(statistics.fmean(samples))
    assert window.deviation == pytest.approx(statistics.pstdev(samples), abs=1e-9)


def test_window_starts_anew() -> None:
    """A window knows nothing of the one before, and begins at the demand there is."""
    kept = Occupancy()
    kept.peak = 9
    kept.spend((0, 0, 9, 0), 5)
    assert kept.take_window(4).high_watermark == 9
    window = kept.take_window(2)
    assert (window.duration_s, window.high_watermark) == (0, 4)
    assert kept.take_window(0).high_watermark == 2


def test_ratios_use_the_denominators_of_their_time() -> None:
    """Changing a limit does not change what utilization was before."""
    kept = Occupancy()
    kept.set_denominators(10, 4)
    kept.spend((5, 2, 2, 6), 1)
    kept.set_denominators(10, 8)
    kept.spend((5, 2, 2, 6), 1)
    waiting, executing, seats, demand = kept.snapshots()
    assert waiting.total == pytest.approx(10 * (0.5 + 0.5))
    assert executing.total == pytest.approx(10 * (0.5 + 0.25))
    assert seats.total == pytest.approx(10 * (0.5 + 0.25))
    assert demand.total == pytest.approx(10 * (2 + 1))


def test_remembered_states_are_bounded() -> None:
    """However many states a level goes through, few are kept, and no time is lost."""
    kept = Occupancy()
    for i in range(5000):
        kept.spend((i, i, i, i), 1)
        assert len(kept._spent) < 512
    assert kept.snapshots()[0].count == 50_000


def test_read_write() -> None:
    """Requests are told apart by phase and kind, each over its limit."""
    kept = ReadWriteOccupancy(0.0)
    kept.set_denominators(0.0, 10, 2)
    kept.change(1.0, waiting=1, executing=0, mutating=True)
    kept.change(1.0, waiting=0, executing=1, mutating=False)
    snapshots = kept.snapshots(2.0)
    assert snapshots["waiting", "mutating"].total == pytest.approx(0.1e9)
    assert snapshots["executing", "readOnly"].total == pytest.approx(0.5e9)
    assert snapshots["waiting", "readOnly"].total == 0
    assert snapshots["executing", "mutating"].count == 2 * 10**9
