"""Which requests get which faults, and how often."""

from __future__ import annotations

import pytest

from kubetrio.env import seeded
from kubetrio.faults import Injector, Rule, RuleError, Subject
from kubetrio.faults.rule import FAULTS

READ = Subject("robot", "list", "", "pods", "", "shop", "")


def injector() -> Injector:
    return Injector(seeded(1), lambda: 7)


def struck(faults: Injector, times: int) -> list[int]:
    return [at for at in range(1, times + 1) if faults.of(READ, FAULTS)]


def test_rules_are_active_until_they_are_removed() -> None:
    """The stages look at no more than that where no rule is in force."""
    faults = injector()
    assert not faults.active
    one = faults.add(Rule(fault="500"))
    other = faults.add(Rule(fault="503"))
    faults.remove(one)
    assert list(faults.active) == [other]
    faults.remove(other)
    assert not faults.active


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(fault="500", count=2), [1, 2]),
        (Rule(fault="500", every=3), [3, 6, 9]),
        (Rule(fault="500", every=3, count=2), [3, 6]),
        (Rule(fault="500", probability=0.0), []),
    ],
)
def test_a_rule_strikes_as_often_as_it_says(rule: Rule, expected: list[int]) -> None:
    """The first ones, each so-manieth, or never."""
    faults = injector()
    faults.add(rule)
    assert struck(faults, 10) == expected


def test_a_seed_repeats_itself() -> None:
    """Whatever else took randomness; another seed differs."""
    found = []
    for seed in (5, 5, 6):
        faults = injector()
        faults.add(Rule(fault="500", probability=0.5, seed=seed))
        found.append(struck(faults, 50))
    assert found[0] == found[1] != found[2]
    assert 10 < len(found[0]) < 40


def test_the_first_answer_is_the_last_fault() -> None:
    """Rules behind it neither strike nor count; what is no answer goes with it."""
    faults = injector()
    for rule in (
        Rule(fault="latency", delay_s=1),
        Rule(fault="500", count=1),
        Rule(fault="503"),
    ):
        faults.add(rule)
    assert [one.rule.fault for one in faults.of(READ, FAULTS)] == ["latency", "500"]
    assert [one.rule.fault for one in faults.of(READ, FAULTS)] == ["latency", "503"]
    assert [one["seen"] for one in faults.rules()] == [2, 1, 1]
    assert dict(faults.counts) == {
        ("fault-1", "latency"): 2, ("fault-2", "500"): 1, ("fault-3", "503"): 1,
    }  # fmt: skip


def test_ids_are_unique() -> None:
    """Those made up step aside for those given."""
    faults = injector()
    faults.add(Rule(fault="500", id="fault-1"))
    assert faults.add(Rule(fault="500")) == "fault-2"
    with pytest.raises(RuleError, match="'fault-1' already"):
        faults.add(Rule(fault="500", id="fault-1"))


def test_a_reset_leaves_the_rules_of_the_start() -> None:
    """Anew, as if nothing had happened."""
    faults = injector()
    faults.stand([Rule(fault="500", id="first", count=1)])
    faults.add(Rule(fault="503", id="later"))
    assert struck(faults, 1) == [1]
    faults.reset()
    assert [(one["id"], one["seen"]) for one in faults.rules()] == [("first", 0)]
    faults.clear()
    assert faults.rules() == []


def test_what_waits_is_let_go_when_its_rule_ends() -> None:
    """Once; what has ended by itself is not."""
    faults = injector()
    faults.add(Rule(fault="latency", delay_s=1))
    [active] = faults.of(READ, FAULTS)
    told: list[str] = []
    with active.holding(lambda: told.append("over")):
        pass
    with active.holding(lambda: told.append("waiting")):
        faults.clear()
    assert told == ["waiting"]
