"""What is on which node."""

from __future__ import annotations

import random  # noqa: TID251  (seeded by hypothesis)

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.scheduler.cluster import NodeState
from kubetrio.machinery.labels import EVERYTHING, parse
from kubetrio.testing.scheduling import cluster, node, pod

WEB = {"app": "web"}


def test_pods_are_counted_where_they_are() -> None:
    """One that moves, changes or leaves is counted anew."""
    state = cluster([node("a"), node("b")], pod("one", "a", WEB, {"cpu": "1"}))
    assert state.nodes["a"].used == {"cpu": 1000}
    assert state.matching(parse("app=web"), "default") == {"a": 1}
    state.put("default/one", pod("one", "b", WEB, {"cpu": "2"}))
    assert state.nodes["a"].used == {"cpu": 0}
    assert state.nodes["b"].used == {"cpu": 2000}
    assert state.matching(parse("app=web"), "default") == {"b": 1}
    assert state.matching(EVERYTHING, "default") == {}
    state.put("default/one", None)
    assert (state.placed, state.nodes["b"].pods, state.at("default/one")) == ({}, {}, None)


def test_pods_may_come_before_their_node() -> None:
    """They are counted when it comes, and when it comes again."""
    state = cluster([], pod("one", "a", requests={"cpu": "1"}))
    for _ in range(2):
        state.set_node("a", node("a"))
        assert state.nodes["a"].used == {"cpu": 1000}
        state.set_node("a", None)
    assert state.order == []


def test_supposed_pods_are_gone_afterwards() -> None:
    """Those that are on a node stay where they are."""
    there = pod("one", "a", requests={"cpu": "1"})
    state = cluster([node("a")], there)
    with state.supposing([pod("two", requests={"cpu": "2"}), there], "a"):
        assert state.nodes["a"].used == {"cpu": 3000}
    assert state.nodes["a"].used == {"cpu": 1000}


def test_one_node_is_cleared_for_a_pod() -> None:
    """The last that was said."""
    state, wanted = cluster([node("a")]), pod("p")
    state.nominate(wanted.key, wanted, "a")
    state.nominate(wanted.key, wanted, "b")
    assert {name: list(pods) for name, pods in state.nominated.items()} == {"b": ["default/p"]}
    state.nominate(wanted.key, None, "")
    assert state.nominated == {}


def test_a_pods_like_is_what_its_services_and_controller_select() -> None:
    """Without either, nothing."""
    state, shape = cluster([]), pod("p", labels={**WEB, "x": "y"}).shape
    assert state.owners.selector_of(shape).empty
    state.owners.services["default"] = {"s": WEB, "other": {"app": "db"}, "none": {}}
    assert str(state.owners.selector_of(shape)) == "app=web"
    state.owners.controllers["default", "", ""] = parse("x=y")
    assert str(state.owners.selector_of(shape)) == "app=web,x=y"


@given(st.integers(0, 1 << 32))
def test_counts_are_those_of_a_cluster_that_was_always_so(seed: int) -> None:
    """Whatever came and went before."""
    rng = random.Random(seed)
    state = cluster([node("a"), node("b")])
    port = [{"containerPort": 1, "hostPort": 80}]
    for _ in range(30):
        name = f"p{rng.randrange(6)}"
        there = pod(
            name, rng.choice("abc"), rng.choice([{}, WEB]), rng.choice([{}, {"cpu": "1"}]),
            containers=[{"name": "c", "ports": rng.choice([[], port])}],
            priority=rng.choice([0, 5]),
        )  # fmt: skip
        state.put(there.key, rng.choice([there, there, None]))
        if rng.random() < 0.2:
            state.set_node("b", rng.choice([None, node("b")]))
    for one in state.order:
        fresh = NodeState(one.facts, one.pods)
        for name in ("ports", "priorities", "usual_cpu", "usual_memory"):
            assert getattr(one, name) == getattr(fresh, name)
        assert {k: v for k, v in one.used.items() if v} == {
            k: v for k, v in fresh.used.items() if v
        }
