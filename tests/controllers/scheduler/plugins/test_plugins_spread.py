"""Nodes by how many pods that are alike their domains have."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.scheduler.plugins.spread import SKEWED, UNLABELLED, preferred, skewed
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.machinery.labels import parse
from kubetrio.testing.scheduling import ZONE, cluster, node, pod, reasons, states

APP = {"app": "web"}
NODES = [node("a", {ZONE: "1"}), node("b", {ZONE: "1"}), node("c", {ZONE: "2"}), node("d")]


def spread(labels: dict[str, str] = APP, skew: int = 1, **more: Any) -> PodView:
    """A pod with one constraint."""
    constraint = {
        "maxSkew": skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP}, **more,
    }  # fmt: skip
    return pod("p", labels=labels, topologySpreadConstraints=[constraint])


def test_a_domain_may_be_ahead_by_so_many() -> None:
    """A node without the label is refused for good."""
    state = cluster(NODES, pod("one", "a", APP))
    crowded, missing = SKEWED.reasons, UNLABELLED.reasons
    assert reasons(skewed(spread(), state), state) == {"a": crowded, "b": crowded, "d": missing}
    assert reasons(skewed(spread(skew=2), state), state) == {"d": missing}
    # One that does not count itself adds nothing.
    assert reasons(skewed(spread({}), state), state) == {"d": missing}


def test_only_pods_that_stay_in_the_namespace_count() -> None:
    """Not those that are being deleted, nor those of other namespaces."""
    leaving = pod("one", "a", APP)._replace(terminating=True)
    state = cluster(NODES, leaving, pod("other/two", "a", APP))
    assert reasons(skewed(spread(), state), state) == {"d": UNLABELLED.reasons}


def test_too_few_domains_count_as_an_empty_one() -> None:
    """``minDomains``."""
    state = cluster(NODES, pod("one", "a", APP), pod("two", "c", APP))
    assert reasons(skewed(spread(), state), state) == {"d": UNLABELLED.reasons}
    found = reasons(skewed(spread(minDomains=3), state), state)
    assert found == {**dict.fromkeys("abc", SKEWED.reasons), "d": UNLABELLED.reasons}


def test_nodes_that_are_no_choice_do_not_count() -> None:
    """By node affinity, unless it is ignored; by taints, if they are honored."""
    state = cluster(NODES, pod("one", "a", APP))
    wanted = spread()
    picky = wanted._replace(
        shape=pod(
            "p", labels=APP, nodeSelector={ZONE: "1"},
            topologySpreadConstraints=[{
                "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": APP}}],
        ).shape
    )  # fmt: skip
    assert reasons(skewed(picky, state), state) == {"d": UNLABELLED.reasons}
    taint = {"key": "x", "effect": "NoSchedule"}
    state.set_node("c", node("c", {ZONE: "2"}, taints=[taint]))
    honors = spread(nodeTaintsPolicy="Honor")
    assert reasons(skewed(honors, state), state) == {"d": UNLABELLED.reasons}


def test_soft_constraints_rate_nodes() -> None:
    """Nodes without the label are the worst."""
    state = cluster(NODES, pod("one", "a", APP))
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    assert skewed(soft, state) is None
    assert preferred(soft, state, states(state)) == [0, 0, 100, 0]


def test_pods_of_one_controller_are_spread_by_themselves() -> None:
    """Over nodes and zones, with those that their Service or controller selects."""
    state = cluster(NODES, pod("one", "a", APP))
    assert preferred(pod("p", labels=APP), state, states(state)) is None
    state.owners.services["default"] = {"web": APP}
    ratings = preferred(pod("p", labels=APP), state, states(state))
    assert ratings is not None
    assert ratings[0] < ratings[1] < ratings[2]
    state.owners.services.clear()
    state.owners.controllers["default", "", ""] = parse("app=web")
    assert preferred(pod("p", labels=APP), state, states(state)) == ratings
