"""Short plans have one disturbance each, about each write and watch that an operator has."""

from __future__ import annotations

from shelves import SHELF, books

from kubetrio.env import seeded
from kubetrio.harness.operators.plans import Crash, Plan
from kubetrio.harness.operators.singles import Habits, disturbances, extremes, singles
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Request

KNOWN = Habits(
    watches=["configmaps", "shelves"],
    writes=[("create", "configmaps", ""), ("update", "shelves", "status")],
)


def plans(seed: int = 0) -> list[Plan]:
    """Those for Shelves."""
    return list(singles(subject(SHELF), KNOWN, seeded(seed).rng))


def test_each_has_one_disturbance_at_most_and_few_steps() -> None:
    """But a stale list, which is read when the operator is started again."""
    several = plans()
    assert not several[0].disturbed
    for one in several:
        wrong = [step for step in one.steps if isinstance(step, Inject | Crash)]
        assert len(wrong) <= 1 or "stale" in str(one)
        assert len(one.steps) < 7
    assert len({str(one) for one in several}) == len(several) < 60


def test_an_object_is_made_changed_and_deleted_with_each_disturbance() -> None:
    """By the last request of a plan, which the disturbance comes before."""
    methods = [
        [step.method for step in one.steps if isinstance(step, Request)][-1]
        for one in plans()
        if one.disturbed
    ]
    assert methods.count("POST") == methods.count("PATCH") == methods.count("DELETE") > 10


def test_writes_are_refused_and_watches_are_late_expire_and_break() -> None:
    """A conflict of a create is left out: it would tell of an object that is not there."""
    wrong = list(disturbances(KNOWN))
    rules = [one.rule for one in wrong if isinstance(one, Inject) and one.rule is not None]
    refused = [(one.fault, one.verb) for one in rules if one.verb == ("update",)]
    assert refused == [(fault, ("update",)) for fault in ("409", "429", "503")]
    assert ("409", ("create",)) not in {(one.fault, one.verb) for one in rules}
    for resource in KNOWN.watches:
        faults = [one.fault for one in rules if one.resource == (resource,)]
        assert faults[-3:] == ["watch-delay", "410", "watch-drop"]
    assert [one.writes for one in wrong if isinstance(one, Crash)] == [0, 1, 2, 3]


def test_the_largest_object_is_made_and_the_smallest_is_what_it_becomes() -> None:
    """By their content, not their names."""
    named = books(0)
    named["metadata"]["name"] = "a-long-name"
    assert extremes([books(10), named, books(1000)]) == (books(1000), named)


def test_the_seed_decides() -> None:
    """The same plans again."""
    assert [str(one) for one in plans(3)] == [str(one) for one in plans(3)]
