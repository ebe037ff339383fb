"""Nodes by their taints."""

from __future__ import annotations

from kubetrio.controllers.scheduler.plugins.taints import preferred, unschedulable, untolerated
from kubetrio.testing.scheduling import cluster, node, pod, reasons, states

TAINT = {"key": "gpu", "value": "x", "effect": "NoSchedule"}
SOFT = {"key": "old", "effect": "PreferNoSchedule"}
STANDS = {"key": "gpu", "operator": "Exists"}


def test_hard_taints_keep_pods_away() -> None:
    """NoSchedule and NoExecute do, unless they are tolerated; PreferNoSchedule does not."""
    state = cluster(
        [node("a", taints=[TAINT]), node("b", taints=[SOFT]), node("c", taints=[
            TAINT, {"key": "out", "effect": "NoExecute"}])]
    )  # fmt: skip
    text = ("node(s) had untolerated taint(s)",)
    assert reasons(untolerated(pod("p"), state), state) == {"a": text, "c": text}
    tolerant = pod("p", tolerations=[STANDS])
    assert reasons(untolerated(tolerant, state), state) == {"c": text}


def test_cordoned_nodes_take_pods_that_tolerate_it() -> None:
    """The taint that says so need not be there."""
    state = cluster([node("a", unschedulable=True), node("b")])
    assert reasons(unschedulable(pod("p"), state), state) == {"a": ("node(s) were unschedulable",)}
    stands = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert unschedulable(pod("p", tolerations=[stands]), state) is None


def test_soft_taints_speak_against_nodes() -> None:
    """By their number; of none at all nothing is said."""
    more = {"key": "older", "effect": "PreferNoSchedule"}
    state = cluster([node("a", taints=[SOFT, more]), node("b", taints=[SOFT]), node("c")])
    assert preferred(pod("p"), state, states(state)) == [0, 50, 100]
    bare = cluster([node("c")])
    assert preferred(pod("p"), bare, states(bare)) is None
