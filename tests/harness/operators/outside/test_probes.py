"""Probes are made of a walk: something goes wrong at each point that it has shown."""

from __future__ import annotations

from simulated_operators import SHELF, Simulated, books

from kubetrio.env import seeded
from kubetrio.harness.operators.outside.probes import (
    bodies,
    foreign,
    habits,
    probes,
    story,
)
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.trials import Attempt, Trial
from kubetrio.harness.operators.plans import Crash
from kubetrio.harness.operators.runs import FOREIGN
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Request, Settle

ABOUT = subject(SHELF)
THREE = [books(3), books(0), books(2)]


def walk() -> Attempt:
    """A walk of an operator that is right."""
    return Simulated().one(Trial(program=Program(words=("true",)), plan=story(ABOUT, THREE)))


def test_objects_differ() -> None:
    """The largest first and the smallest second, by the seed."""
    three = bodies(ABOUT, seeded(0).rng)
    assert three == bodies(ABOUT, seeded(0).rng)
    large, small, _ = (one["spec"]["books"] for one in three)
    assert large > small


def test_a_story_comes_to_states_on_two_ways() -> None:
    """And its objects are gone in between."""
    methods = [one.method for one in story(ABOUT, THREE).steps if isinstance(one, Request)]
    assert methods == ["POST", "POST", "PATCH", "PATCH", "DELETE", "PATCH", "DELETE", "POST"]
    created = foreign(ABOUT, THREE).steps[0]
    assert isinstance(created, Request)
    assert created.body["metadata"]["finalizers"] == [FOREIGN]


def test_habits() -> None:
    """What it watches and writes."""
    known = habits(walk())
    assert (known.watches, known.writes) == (["shelves"], [("update", "shelves", "status")])


def test_each_probe_has_one_disturbance_and_a_reference() -> None:
    """Writes are refused in three ways, watches are late and break, and the operator dies."""
    run = walk()
    made = list(probes(run, habits(run), seeded(0).rng))
    wrong = [
        step for probe in made for step in probe.plan.steps if isinstance(step, Inject | Crash)
    ]
    assert len(wrong) == len(made)
    faults = [one.rule.fault for one in wrong if isinstance(one, Inject) and one.rule is not None]
    assert faults.count("409") == faults.count("429") == 1
    assert faults.count("watch-delay") == 2
    assert {one.writes for one in wrong if isinstance(one, Crash)} == {0, 1}
    for probe in made:
        assert probe.reference is not None
        asked = [one for one in probe.plan.steps if isinstance(one, Request)]
        assert len(probe.reference.answers) == len(asked)
        assert probe.plan.undisturbed().steps == probe.reference.plan.steps


def test_the_seed_decides_the_order() -> None:
    """Kinds of disturbances take turns whatever it is."""
    run = walk()
    one, again, other = (
        [str(probe.plan) for probe in probes(run, habits(run), seeded(seed).rng)]
        for seed in (0, 0, 3)
    )
    assert one == again
    assert one != other
    assert sorted(one) != one


def test_the_shortest_are_first() -> None:
    """And of those one with a watch that is late."""
    run = walk()
    several = list(probes(run, habits(run), seeded(0).rng))
    first = several[0].plan.steps
    assert [type(one) for one in first] == [Inject, Request, Settle]
    assert isinstance(first[0], Inject)
    assert first[0].rule is not None
    assert first[0].rule.fault == "watch-delay"
    deaths = [one for one in several if any(isinstance(step, Crash) for step in one.plan.steps)]
    lengths = [len(one.plan.steps) for one in deaths]
    assert lengths == sorted(lengths)
