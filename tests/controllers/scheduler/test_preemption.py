"""Who has to go for a pod."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.scheduler.cluster import Cluster
from kubetrio.controllers.scheduler.preemption import (
    Budget,
    Preemption,
    budget_view,
    by_budgets,
)
from kubetrio.controllers.scheduler.profiles import Profile
from kubetrio.controllers.scheduler.search import Search
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.machinery.labels import parse
from kubetrio.testing.scheduling import cluster, node, pod

Budgets = list[tuple[str, Budget]]


def there(name: str, on: str, cpu: str, priority: int = 0, **more: Any) -> PodView:
    """A pod on a node."""
    return pod(name, on, requests={"cpu": cpu}, priority=priority, **more)


def wanted(cpu: str = "2", priority: int = 10, **more: Any) -> PodView:
    """A pod that needs a node."""
    return pod("p", requests={"cpu": cpu}, priority=priority, **more)


def tried(
    asked: PodView,
    state: Cluster,
    budgets: Budgets | None = None,
    profile: Profile | None = None,
) -> Preemption:
    """What comes of the search for a node and for victims."""
    search = Search(asked, state, profile=profile)
    list(search.run())
    assert not search.feasible
    preemption = Preemption(search, state, budgets or [])
    list(preemption.run())
    return preemption


def victims(preemption: Preemption) -> tuple[str, list[str]]:
    """The node, and the names of those that go."""
    assert preemption.candidate is not None, preemption.message
    return preemption.candidate.node, [one.name for one in preemption.candidate.victims]


def test_as_few_as_possible_go() -> None:
    """The least important; what is as important as the pod stays, and the state is as it was."""
    state = cluster(
        [node("a")],
        there("low", "a", "1"), there("middle", "a", "2", 5), there("high", "a", "1", 10),
    )  # fmt: skip
    assert victims(tried(wanted("1"), state)) == ("a", ["low"])
    assert victims(tried(wanted("2"), state)) == ("a", ["middle"])
    assert victims(tried(wanted("3"), state)) == ("a", ["middle", "low"])
    assert state.nodes["a"].used == {"cpu": 4000}
    assert tried(wanted("4"), state).message == (
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_the_node_with_the_least_loss_is_chosen() -> None:
    """By the highest priority that goes, then the sum, the number, and how long they ran."""
    full = {"cpu": "4", "pods": "10"}
    nodes = [node(name, room=full) for name in "ab"]
    for on_a, on_b, chosen in (
        ([("4", 5)], [("4", 4)], "b"),
        ([("4", 3)], [("2", 3), ("2", 3)], "a"),
        ([("2", 3), ("2", 3)], [("2", 3), ("2", 1)], "b"),
    ):
        state = cluster(
            nodes,
            *(there(f"a{i}", "a", cpu, low) for i, (cpu, low) in enumerate(on_a)),
            *(there(f"b{i}", "b", cpu, low) for i, (cpu, low) in enumerate(on_b)),
        )
        assert victims(tried(wanted("4"), state))[0] == chosen
    early = there("a", "a", "4")._replace(started="2026-01-01T00:00:00Z")
    late = there("b", "b", "4")._replace(started="2026-01-02T00:00:00Z")
    assert victims(tried(wanted("4"), cluster(nodes, early, late))) == ("b", ["b"])


def test_budgets_are_broken_last() -> None:
    """A node where none is broken is better, and of the pods on a node those that no budget keeps
    go."""
    kept = {"app": "kept"}
    budgets = [("default", Budget(parse("app=kept"), 0, frozenset()))]
    state = cluster(
        [node("a"), node("b")],
        there("kept", "a", "4", -5, labels=kept), there("other", "b", "4", 5),
    )  # fmt: skip
    assert victims(tried(wanted(), state)) == ("a", ["kept"])
    assert victims(tried(wanted(), state, budgets)) == ("b", ["other"])
    one = cluster([node("a")], there("kept", "a", "2", labels=kept), there("other", "a", "2", 5))
    assert victims(tried(wanted(), one)) == ("a", ["kept"])
    assert victims(tried(wanted(), one, budgets)) == ("a", ["other"])


def test_budgets_count_down() -> None:
    """In the order of the pods; evictions that were granted, other namespaces and empty selectors
    do not count."""
    pods = [pod(name, "a", {"app": "x"}) for name in ("one", "two", "three", "granted")]
    budget = Budget(parse("app=x"), 2, frozenset({"granted"}))
    kept, free = by_budgets(
        pods, [("default", budget), ("other", Budget(parse("app"), 0, frozenset()))]
    )
    assert [one.name for one in kept] == ["three"]
    assert [one.name for one in free] == ["one", "two", "granted"]
    assert by_budgets(pods, [("default", Budget(parse(""), 0, frozenset()))])[0] == []


def test_a_budget_is_kept_as_little() -> None:
    """One whose selector cannot be read selects nothing."""
    status = {"disruptionsAllowed": 2, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}
    stored: dict[str, Any] = {"spec": {"selector": {"matchLabels": {"a": "b"}}}, "status": status}
    found = budget_view(orjson.dumps(stored))
    assert (str(found.selector), found.allowed, found.disrupted) == ("a=b", 2, frozenset("p"))
    bad = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    assert budget_view(orjson.dumps({"spec": {"selector": bad}})).selector.nothing


def test_it_is_told_why_nobody_goes() -> None:
    """Nodes where it cannot help, nodes without victims, and pods that may not."""
    small = node("small", room={"cpu": "1", "pods": "10"})
    state = cluster([node("a"), small], there("high", "a", "4", 10))
    assert tried(wanted(), state).message == (
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    never = tried(wanted(preemptionPolicy="Never"), state)
    assert (never.message, never.keeps) == (
        "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
        True,
    )  # fmt: skip


def test_what_a_profile_leaves_out_says_nothing() -> None:
    """The plugin that preempts, the one that takes devices back, or both."""
    state = cluster([node("a")], there("low", "a", "4"))
    asked, claims = wanted("9"), "no new claims to deallocate"
    why = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    for profile, text in (
        (Profile(), f"{claims}, {why}"),
        (Profile(preempts=False), claims),
        (Profile(frees_devices=False), why),
        (Profile(preempts=False, frees_devices=False), ""),
    ):
        assert tried(asked, state, profile=profile).message == text
    assert tried(wanted("1"), state, profile=Profile(preempts=False)).candidate is None


def test_it_waits_for_those_that_are_on_their_way() -> None:
    """On the node that is being cleared, unless that cannot be had any more."""
    leaving = there("low", "a", "4")._replace(terminating=True, preempted=True)
    state = cluster([node("a"), node("b")], leaving, there("other", "b", "4"))
    asked = wanted()._replace(nominated="a")
    waits = tried(asked, state)
    text = "preemption: not eligible due to a terminating pod on the nominated node."
    assert waits.message == f"no new claims to deallocate, {text}"
    assert waits.keeps
    state.set_node("a", node("a", unschedulable=True))
    assert victims(tried(asked, state)) == ("b", ["other"])
