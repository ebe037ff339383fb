"""Shares, lending and borrowing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.allocate import (
    Claim,
    Demand,
    LevelDemand,
    Limits,
    adjust,
    fair_share,
    level_limits,
    round_half_up,
)
from kubetrio.flow.config import LevelKind, PriorityLevel, Queuing, priority_level
from kubetrio.flow.occupancy import DemandWindow
from kubetrio.schema import builtin

# As a kube-apiserver 1.36 with default flags reports: nominal, lower and upper limit, then the
# initial current limit and the bound on width.
STOCK = {
    "catch-all": Limits(13, 13, 613, 13, None),
    "exempt": Limits(0, 0, 600, 0, None),
    "global-default": Limits(49, 24, 649, 37, 8),
    "leader-election": Limits(25, 25, 625, 25, 4),
    "node-high": Limits(98, 73, 698, 86, 15),
    "system": Limits(74, 50, 674, 62, 12),
    "workload-high": Limits(98, 49, 698, 74, 15),
    "workload-low": Limits(245, 24, 845, 135, 37),
}


@pytest.mark.parametrize("name", STOCK)
def test_limits_of_a_fresh_server(name: str) -> None:
    """The documented limits of the bootstrap levels at 600 seats."""
    level = priority_level(builtin.load("bootstrap")[f"PriorityLevelConfiguration {name}"])
    assert level_limits(600, level, 245) == STOCK[name]


def test_limits_without_shares() -> None:
    """Where no level has shares nobody has seats, and nothing divides by zero."""
    level = PriorityLevel(name="x", kind=LevelKind.QUEUE, shares=0, queuing=Queuing(4, 2, 5))
    assert level_limits(600, level, 0) == Limits(0, 0, 600, 0, 1)


def test_borrowing_limit() -> None:
    """A borrowing limit is a percentage of the nominal limit, rounded half up."""
    level = PriorityLevel(name="x", kind=LevelKind.REJECT, shares=1, borrowing_limit_percent=50)
    assert level_limits(25, level, 1).maximum == 25 + 13


@pytest.mark.parametrize(("value", "nearest"), [(0.49, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2)])
def test_rounding(value: float, nearest: int) -> None:
    """Halves go up, unlike Python's own rounding."""
    assert round_half_up(value) == nearest


@st.composite
def problems(draw: st.DrawFn) -> tuple[float, list[Claim]]:
    """A solvable allocation problem."""
    claims = []
    for _ in range(draw(st.integers(1, 8))):
        lower = draw(st.integers(0, 100))
        target = lower + draw(st.floats(0, 100))
        claims.append(Claim(target, lower, lower + draw(st.integers(0, 200))))
    low, high = sum(c.lower for c in claims), sum(c.upper for c in claims)
    return draw(st.integers(int(low), int(high))), claims


@settings(max_examples=300)
@given(problems())
def test_fair_share(problem: tuple[float, list[Claim]]) -> None:
    """Amounts add up, keep their bounds, and follow one factor wherever no bound holds them."""
    total, claims = problem
    amounts, fraction = fair_share(total, claims)
    assert sum(amounts) == pytest.approx(total, abs=1e-5)
    for amount, claim in zip(amounts, claims, strict=True):
        assert claim.lower - 1e-6 <= amount <= claim.upper + 1e-6
        ideal = fraction * max(claim.target, 0.001)
        held = (amount == claim.lower and ideal <= amount + 1e-6) or (
            amount == claim.upper and ideal >= amount - 1e-6
        )
        assert held or amount == pytest.approx(ideal, rel=1e-6, abs=1e-6)


def test_fair_share_in_proportion() -> None:
    """Without bounds in the way, amounts are in proportion to targets."""
    assert fair_share(30, [Claim(10, 0, 100), Claim(20, 0, 100)]) == ((10, 20), 1)


def test_fair_share_by_hand() -> None:
    """One held up by its lower bound, one held down by its upper one, one between."""
    amounts, fraction = fair_share(100, [Claim(40, 40, 90), Claim(30, 0, 10), Claim(80, 0, 90)])
    assert amounts == pytest.approx((40, 10, 50))
    assert fraction == pytest.approx(50 / 80)


@pytest.mark.parametrize(
    ("total", "claims", "expected"),
    [
        (0, [Claim(1, 0, 5)], ((0,), 0)),
        (0, [], ((), 0)),
        (30, [Claim(10, 10, 50), Claim(40, 20, 50)], ((10, 20), 0.5)),
        (30, [Claim(10, 0, 10), Claim(10, 0, 20)], ((10, 20), 2)),
    ],
)
def test_fair_share_without_room(
    total: float, claims: list[Claim], expected: tuple[tuple[float, ...], float]
) -> None:
    """Nothing to divide, or bounds that leave one solution."""
    assert fair_share(total, claims) == expected


@pytest.mark.parametrize(
    ("total", "claims"),
    [
        (10, [Claim(20, 20, 30)]),
        (10, [Claim(1, 0, 5)]),
        (-1, []),
        (10, [Claim(1, 2, 20)]),
        (10, [Claim(20, 15, 12)]),
        (10, [Claim(1, -1, 20)]),
    ],
)
def test_impossible_claims(total: float, claims: list[Claim]) -> None:
    """Bounds that contradict each other or the total are refused."""
    with pytest.raises(ValueError, match=r"impossible claims|not within"):
        fair_share(total, claims)


def test_smoothing_rises_at_once() -> None:
    """Demand that grows is believed immediately: average plus deviation."""
    demand = Demand(smoothed=5.0).after(DemandWindow(10, 20, 4, 40))
    assert demand == Demand(20, 4, 40, 24)


def test_smoothing_falls_slowly() -> None:
    """Demand that is gone is half forgotten in five minutes."""
    demand = Demand(smoothed=100.0)
    for _ in range(30):
        demand = demand.after(DemandWindow(10, 0, 0, 0))
    assert demand.smoothed == pytest.approx(50, rel=0.01)


def test_window_without_duration() -> None:
    """A reconfiguration in the same instant changes nothing but the watermark."""
    before = Demand(1, 2, 3, 4)
    assert before.after(DemandWindow(0, 0, 0, 9)) == Demand(1, 2, 9, 4)


def level(
    nominal: int, minimum: int, demand: int = 0, kind: LevelKind = LevelKind.QUEUE
) -> LevelDemand:
    """A level that steadily asks for so many seats and may borrow everything."""
    limits = Limits(nominal, minimum, nominal + 100, nominal, None)
    return LevelDemand(kind, limits, Demand(demand, 0, demand, demand))


def test_idle_levels_lend() -> None:
    """A level in demand gets what the others do not need, down to their minima."""
    result = adjust({"a": level(50, 10), "b": level(50, 20, 90)})
    assert result.limits["a"] + result.limits["b"] == 100
    assert 10 <= result.limits["a"] <= 15


def test_owner_comes_first() -> None:
    """A level that wants its nominal limit has it, whatever others want."""
    result = adjust({"a": level(50, 10, 50), "b": level(50, 20, 500)})
    assert result.limits == {"a": 50, "b": 50}


def exempt(demand: int) -> LevelDemand:
    """The exempt level."""
    return level(0, 0, demand, LevelKind.EXEMPT)


def test_exempt_gets_what_it_used() -> None:
    """The exempt level's limit is its high watermark, without bound."""
    assert adjust({"a": level(50, 10), "exempt": exempt(30)}).limits["exempt"] == 30


def test_shortage_interpolates() -> None:
    """If exempt requests leave less than the floors, all go the same part of the way."""
    levels = {"a": level(50, 10, 50), "b": level(50, 30, 50), "exempt": exempt(30)}
    result = adjust(levels)
    # 70 remain; minima take 40, floors 100: half of the way.
    assert result.limits == {"exempt": 30, "a": 30, "b": 40}
    assert result.fair_fraction == 0


def test_severe_shortage_leaves_the_minima() -> None:
    """If exempt requests leave less than the minima, each level has its minimum anyway."""
    levels = {"a": level(50, 10, 50), "b": level(50, 30, 50), "exempt": exempt(90)}
    assert adjust(levels).limits == {"exempt": 90, "a": 10, "b": 30}


def test_no_more_than_the_maxima() -> None:
    """Where borrowing limits forbid it, seats are left over rather than given."""
    limits = Limits(50, 10, 50, 50, None)
    idle = LevelDemand(LevelKind.EXEMPT, Limits(20, 0, 100, 20, None), Demand())
    result = adjust({"a": LevelDemand(LevelKind.QUEUE, limits, Demand()), "exempt": idle})
    assert result.limits == {"exempt": 0, "a": 50}


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 300)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 400),
)
def test_adjusted_limits(rows: list[tuple[int, int, int]], exempted: int) -> None:
    """Limits keep their bounds; without shortage they add up, and floors are honoured."""
    levels = {
        f"l{i}": level(nominal, nominal * percent // 100, demand)
        for i, (nominal, percent, demand) in enumerate(rows)
    }
    levels["exempt"] = exempt(exempted)
    result = adjust(levels)
    limited = {name: one for name, one in levels.items() if name != "exempt"}
    for name, one in limited.items():
        assert one.limits.minimum <= result.limits[name] <= one.limits.maximum
    total = sum(one.limits.nominal for one in limited.values())
    if total - exempted > sum(one.floor for one in limited.values()):
        assert all(result.limits[name] >= one.floor for name, one in limited.items())
        # Each limit is rounded on its own.
        assert abs(sum(result.limits[name] for name in limited) - total) <= len(limited) / 2
