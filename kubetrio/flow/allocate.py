"""Shares, lending and borrowing: how many seats each level has, now.

*Nominal* limits divide the server's concurrency in proportion to shares.  A level may lend a
percentage of its nominal limit, down to its *minimum*, and borrow, up to its *maximum*.  Every 10
seconds the *current* limits are set anew, from what each level demanded:

1. Demand is seats in use plus seats waited for, as its average, deviation and high watermark over
   the period.  ``average + deviation`` is the envelope.  The *smoothed* demand follows the
   envelope up at once and down slowly (half of it in 5 minutes).
2. A level's *floor* is what it lately needed of its own: its high watermark, within minimum and
   nominal limit.  So what was lent comes back in the period after it is wanted, at the latest.
3. Its *target* is its smoothed demand, but at least the floor.
4. Limits are in proportion to targets, clamped to floor and maximum, and add up to the sum of
   nominal limits: max-min fairness, found as the one factor for which the clamped sum is right.
5. Exempt levels take what they need and are subtracted first.  If that leaves too little for the
   floors, all levels go the same fraction of the way from minimum to floor; if too little for the
   minima, each gets its minimum regardless.

One departure from the text of KEP-1040, shared with kube-apiserver: step 4 divides the whole sum,
without subtracting the exempt levels' part, which only decides whether step 5's rules apply.

Source: KEP-1040, "Dispatching", "Seat borrowing".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubetrio.flow.config import LevelKind, PriorityLevel
from kubetrio.flow.occupancy import DemandWindow

ADJUSTMENT_PERIOD_S = 10.0
SMOOTHING = 0.977
# Stands for a target of zero, which would make ratios to it meaningless.
SMALLEST_TARGET = 0.001
_EPSILON = 1e-7
_MAX_SEATS_FRACTION_PERCENT = 15


def round_half_up(value: float) -> int:
    """Nearest integer, halves away from zero; for values that are not negative."""
    return math.floor(value + 0.5)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one level, in seats.

    Args:
        nominal: its part by shares.
        minimum: what it cannot lend.
        maximum: nominal plus what it may borrow.
        initial: current limit of a new level.
        max_seats: bound on the width of one request; None where nothing queues.
    """

    nominal: int
    minimum: int
    maximum: int
    initial: int
    max_seats: int | None


def level_limits(server_limit: int, level: PriorityLevel, share_sum: int) -> Limits:
    """Bounds of a level.

    Args:
        server_limit: seats of the server: both ``--max-*-requests-inflight`` together.
        level: its configuration.
        share_sum: shares of all levels together.
    """
    nominal = -(-server_limit * level.shares // share_sum) if share_sum else 0
    lendable = round_half_up(nominal * level.lendable_percent / 100)
    borrowing = server_limit
    if level.borrowing_limit_percent is not None:
        borrowing = round_half_up(nominal * level.borrowing_limit_percent / 100)
    max_seats = None
    if level.queuing is not None:
        by_share = -(-nominal * _MAX_SEATS_FRACTION_PERCENT // 100)
        max_seats = max(1, min(by_share, nominal // level.queuing.hand_size))
    return Limits(
        nominal, nominal - lendable, nominal + borrowing, nominal - lendable // 2, max_seats
    )


@dataclass(frozen=True, slots=True)
class Demand:
    """A level's demand for seats as of the last adjustment; see the module's rules 1 and 2."""

    average: float = 0.0
    deviation: float = 0.0
    high_watermark: int = 0
    smoothed: float = 0.0

    def after(self, window: DemandWindow) -> Demand:
        """The statistics with one more period; one without duration has a watermark only."""
        if window.duration_s <= 0:
            return Demand(self.average, self.deviation, window.high_watermark, self.smoothed)
        envelope = window.average + window.deviation
        damped = SMOOTHING * self.smoothed + (1 - SMOOTHING) * envelope
        return Demand(
            window.average, window.deviation, window.high_watermark, max(envelope, damped)
        )


class Claim(NamedTuple):
    """One party to an allocation: what it aims at and the bounds of what it can get."""

    target: float
    lower: float
    upper: float


class FairShare(NamedTuple):
    """A fair allocation and the factor on targets that made it."""

    amounts: tuple[float, ...]
    fraction: float


def fair_share(total: float, claims: Sequence[Claim]) -> FairShare:
    """Divide a total in proportion to targets, within bounds.

    Args:
        total: to divide, not negative.
        claims: with ``0 <= lower <= target`` and ``lower <= upper``.

    Returns:
        Amounts that sum to the total, each ``fraction * target`` clamped to its bounds.

    Raises:
        ValueError: bounds that contradict each other or the total.
    """
    claims = [
        Claim(max(claim.target, SMALLEST_TARGET), claim.lower, claim.upper) for claim in claims
    ]
    if any(not 0 <= c.lower <= min(c.target, c.upper) for c in claims) or total < 0:
        raise ValueError(f"impossible claims {claims} on {total}")
    lowest, highest = sum(c.lower for c in claims), sum(c.upper for c in claims)
    if lowest > total + _EPSILON or highest < total - _EPSILON:
        raise ValueError(f"{total} is not within the bounds' sums {lowest} and {highest}")
    if total == 0 or not claims:
        return FairShare((0.0,) * len(claims), 0.0)
    if total < lowest + _EPSILON:
        return FairShare(tuple(c.lower for c in claims), min(c.lower / c.target for c in claims))
    if total > highest - _EPSILON:
        return FairShare(tuple(c.upper for c in claims), max(c.upper / c.target for c in claims))
    fraction = _solve(total, claims)
    return FairShare(tuple(_clamped(fraction, claim) for claim in claims), fraction)


def _clamped(fraction: float, claim: Claim) -> float:
    return max(claim.lower, min(claim.upper, fraction * claim.target))


def _solve(total: float, claims: Sequence[Claim]) -> float:
    """The factor for which the clamped amounts add up.

    Their sum grows with the factor along a line that bends only where some claim leaves its
    lower bound or reaches its upper one: find the stretch, then interpolate.
    """
    bends = sorted({bound / c.target for c in claims for bound in (c.lower, c.upper)})
    before, sum_before = bends[0], sum(_clamped(bends[0], c) for c in claims)
    for bend in bends[1:]:
        at_bend = sum(_clamped(bend, c) for c in claims)
        if at_bend >= total:
            return before + (total - sum_before) * (bend - before) / (at_bend - sum_before)
        before, sum_before = bend, at_bend
    return before


@dataclass(frozen=True, slots=True)
class LevelDemand:
    """What the adjustment needs to know of a level."""

    kind: LevelKind
    limits: Limits
    demand: Demand

    @property
    def floor(self) -> int:
        """Least current limit that its recent demand entitles it to, supply permitting."""
        seats = self.demand.high_watermark
        if self.kind is not LevelKind.EXEMPT:
            seats = min(self.limits.nominal, seats)
        return max(self.limits.minimum, seats)

    @property
    def target(self) -> float:
        """What its limit would be were there enough."""
        return max(float(self.floor), self.demand.smoothed)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """New current limits.

    Args:
        limits: by level name, in seats.
        fair_fraction: limit over target of the levels that no bound holds; 0 in shortage.
    """

    limits: Mapping[str, int]
    fair_fraction: float


def adjust(levels: Mapping[str, LevelDemand]) -> Adjustment:
    """Set all current limits from demand.

    Args:
        levels: every level by name.
    """
    limits = {n: one.floor for n, one in levels.items() if one.kind is LevelKind.EXEMPT}
    limited = {n: one for n, one in levels.items() if one.kind is not LevelKind.EXEMPT}
    total = sum(one.limits.nominal for one in levels.values())
    remaining = total - sum(limits.values())
    minima = sum(one.limits.minimum for one in limited.values())
    floors = sum(one.floor for one in limited.values())
    if remaining <= floors:
        way = (remaining - minima) / (floors - minima) if remaining > minima else 0.0
        for name, one in limited.items():
            extra = (one.floor - one.limits.minimum) * way
            limits[name] = one.limits.minimum + round_half_up(extra)
        return Adjustment(limits, 0.0)
    # With no borrowing allowed, all maxima together may fall short of what there is.
    shares = fair_share(
        min(total, sum(one.limits.maximum for one in limited.values())),
        [Claim(one.target, one.floor, one.limits.maximum) for one in limited.values()],
    )
    for name, amount in zip(limited, shares.amounts, strict=True):
        limits[name] = round_half_up(amount)
    return Adjustment(limits, shares.fraction)
