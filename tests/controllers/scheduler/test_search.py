"""The search for a node."""

from __future__ import annotations

from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.profiles import ENOUGH, Profile
from kubetrio.controllers.scheduler.search import STEP_NODES, Rating, Search
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.testing.scheduling import cluster, node, pod, states

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def named(name: str) -> PodView:
    """A pod that can be on one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = [{"matchFields": [field]}]
    return pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})


def test_a_share_of_many_nodes_is_enough() -> None:
    """The next search goes on where this one ended; others may work meanwhile."""
    state = cluster([node(f"n{number}") for number in range(300)])
    search = Search(pod("p"), state, start=250)
    steps = len(list(search.run()))
    assert (search.passed, len(search.feasible)) == (ENOUGH, ENOUGH)
    assert steps == ENOUGH // STEP_NODES
    names = [one.facts.name for one in search.feasible]
    assert (names[0], names[-1]) == ("n250", "n49")


def test_reasons_are_counted() -> None:
    """In the order of their texts; a node may have several."""
    state = cluster(
        [
            node("a", unschedulable=True),
            node("b", room={"cpu": "1", "pods": "0"}),
            node("c", room={"cpu": "1", "pods": "1"}),
        ]
    )
    search = Search(pod("p", requests={"cpu": "2"}), state)
    list(search.run())
    assert search.explain() == (
        "0/3 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, "
        "2 Insufficient cpu."
    )
    assert search.judge.blamed == {"NodeUnschedulable", "NodeResourcesFit"}


def test_nodes_that_are_not_named_are_left_out() -> None:
    """They are told apart from the one that is looked at."""
    state = cluster([node("a", unschedulable=True), node("b"), node("c")])
    search = Search(named("a"), state)
    list(search.run())
    assert search.explain() == (
        "0/3 nodes are available: 1 node(s) were unschedulable, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_names_do_not_count_without_the_plugin() -> None:
    """A profile without NodeAffinity before its filters looks at all nodes."""
    state = cluster([node("a", unschedulable=True), node("b"), node("c")])
    filters = tuple(one for one in FILTERS if one.name != "NodeAffinity")
    search = Search(named("a"), state, profile=Profile(filters=filters, names_nodes=False))
    list(search.run())
    assert [one.facts.name for one in search.feasible] == ["b", "c"]


def test_there_may_be_no_nodes_at_all() -> None:
    """Then nothing is counted."""
    search = Search(pod("p"), cluster([]))
    assert list(search.run()) == []
    assert search.explain() == "no nodes available to schedule pods"


def test_a_pod_that_no_node_can_have_is_not_tried() -> None:
    """The reason is told for all nodes at once."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    search = Search(pod("p", volumes=[volume]), cluster([node("a")]))
    list(search.run())
    assert search.explain() == ('0/1 nodes are available: persistentvolumeclaim "data" not found.')


def test_the_node_that_was_cleared_comes_first() -> None:
    """Others are not looked at if it fits."""
    state = cluster([node("a"), node("b"), node("c", room={"pods": "0"})])
    search = Search(pod("p")._replace(nominated="b"), state)
    list(search.run())
    assert [one.facts.name for one in search.feasible] == ["b"]
    search = Search(pod("p")._replace(nominated="c"), state)
    list(search.run())
    assert [one.facts.name for one in search.feasible] == ["a", "b"]


def test_room_that_was_cleared_is_kept() -> None:
    """For pods of the same priority or a higher one, and not for the pod itself."""
    state = cluster([node("a")])
    high = pod("high", requests={"cpu": "3"}, priority=10)
    state.nominate(high.key, high, "a")
    for wanted, fits in (
        (pod("p", requests={"cpu": "2"}), False),
        (pod("p", requests={"cpu": "2"}, priority=11), True),
        (high, True),
    ):
        search = Search(wanted, state)
        list(search.run())
        assert bool(search.feasible) is fits
    assert state.nodes["a"].used == {"cpu": 0}


def test_the_best_nodes_are_found() -> None:
    """All that are as good; the only one without asking."""
    state = cluster([node("a"), node("b"), node("c")], pod("one", "a", requests={"cpu": "2"}))
    rating = Rating(pod("p", requests={"cpu": "1"}), state, states(state))
    assert len(list(rating.run())) == len(SCORES)
    assert [one.facts.name for one in rating.best()] == ["b", "c"]
    only = Rating(pod("p"), state, states(state)[:1])
    assert list(only.run()) == []
    assert [one.facts.name for one in only.best()] == ["a"]
