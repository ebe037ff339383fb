"""Nodes by a pod's selector and node affinity."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.scheduler.framework import Rejected
from kubetrio.controllers.scheduler.plugins.nodeaffinity import (
    named_nodes,
    not_selected,
    preferred,
)
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.testing.scheduling import cluster, node, pod, reasons, states

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def named(*names: list[str]) -> PodView:
    """A pod whose terms each name nodes."""
    terms: list[dict[str, Any]] = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": some}]}
        for some in names
    ]
    return pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})


def test_selectors_refuse_nodes() -> None:
    """A pod without any refuses none."""
    state = cluster([node("a", {"disk": "ssd"}), node("b")])
    assert not_selected(pod("p"), state) is None
    found = reasons(not_selected(pod("p", nodeSelector={"disk": "ssd"}), state), state)
    assert found == {"b": ("node(s) didn't match Pod's node affinity/selector",)}


def test_names_of_nodes_narrow_the_search() -> None:
    """Those of all terms; a term without a name lets every node in."""
    assert named_nodes(named(["a"], ["b", "c"]).shape) == frozenset("abc")
    assert named_nodes(pod("p", nodeSelector={"disk": "ssd"}).shape) is None
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    other = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = [{"matchFields": [field, other]}]
    clash = pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
    assert not_selected(clash, cluster([node("a")])) == Rejected("pod affinity terms conflict")


def test_preferred_terms_add_up() -> None:
    """By weight; the best node has all there is to get."""
    state = cluster([node("a", {"disk": "ssd", "fast": ""}), node("b", {"disk": "ssd"}), node("c")])
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
        for key, weight in (("disk", 30), ("fast", 10))
    ]
    wanted = pod("p", affinity={"nodeAffinity": {PREFERRED: terms}})
    assert preferred(wanted, state, states(state)) == [100, 75, 0]
    assert preferred(pod("p"), state, states(state)) is None
