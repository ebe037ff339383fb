"""Nodes by what is left on them."""

from __future__ import annotations

from kubetrio.controllers.scheduler.plugins.resources import balanced, fits, least_allocated
from kubetrio.testing.scheduling import cluster, node, pod, reasons, states


def test_what_is_short_is_told_all_at_once() -> None:
    """CPU, memory, devices and the number of pods; of a node that is too small anyway too."""
    state = cluster(
        [node("full", room={"cpu": "2", "memory": "1Gi", "pods": "1"}), node("free")],
        pod("there", "full", requests={"cpu": "1500m"}),
    )
    wanted = pod("p", requests={"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"})
    found = reasons(fits(wanted, state), state)
    assert found == {
        "full": (
            "Too many pods", "Insufficient cpu", "Insufficient memory",
            "Insufficient example.com/gpu",
        ),
        "free": ("Insufficient example.com/gpu",),
    }  # fmt: skip


def test_removing_pods_helps_where_the_node_is_large_enough() -> None:
    """A refusal says whether preemption may help."""
    state = cluster([node("n")], pod("there", "n", requests={"cpu": "4"}))
    small, large = pod("p", requests={"cpu": "1"}), pod("p", requests={"cpu": "5"})
    for wanted, resolvable in ((small, True), (large, False)):
        refusal = fits(wanted, state)(state.nodes["n"])
        assert refusal is not None
        assert refusal.resolvable is resolvable


def test_init_containers_and_overhead_count() -> None:
    """The largest init container, if it is more than all containers, and the overhead."""
    first = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    wanted = pod("p", requests={"cpu": "1"}, initContainers=[first], overhead={"cpu": "250m"})
    assert wanted.shape.requests == {"cpu": 3250}


def test_emptier_nodes_are_better() -> None:
    """By CPU and memory; a container without requests counts as a small one."""
    state = cluster([node("a"), node("b")], pod("there", "a", requests={"cpu": "2"}))
    assert least_allocated(pod("p", requests={"cpu": "2"}), state, states(state)) == [47, 73]
    state = cluster([node("a"), node("b")], pod("there", "a"))
    one, other = least_allocated(pod("p"), state, states(state))
    assert one < other


def test_even_nodes_are_better() -> None:
    """A pod that needs CPU is good for a node whose memory is used; one that needs nothing is not
    weighed."""
    state = cluster([node("a"), node("b")], pod("there", "a", requests={"memory": "4Gi"}))
    ratings = balanced(pod("p", requests={"cpu": "2"}), state, states(state))
    assert ratings == [87, 62]
    assert balanced(pod("p"), state, states(state)) is None
