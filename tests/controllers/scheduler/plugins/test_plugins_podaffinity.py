"""Nodes by the pods that are there."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.scheduler.plugins.podaffinity import (
    KEPT_AWAY,
    NOT_NEAR,
    TOO_NEAR,
    not_allowed,
    preferred,
)
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.testing.scheduling import ZONE, cluster, node, pod, reasons, states

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB, DATA = {"app": "web"}, {"app": "data"}
NODES = [node("a", {ZONE: "1"}), node("b", {ZONE: "1"}), node("c", {ZONE: "2"}), node("d")]


def about(kind: str, name: str, on: str = "", labels: Any = WEB, **term: Any) -> PodView:
    """A pod with one required term about pods of the application."""
    whole = {"labelSelector": {"matchLabels": WEB}, "topologyKey": ZONE, **term}
    return pod(name, on, labels, affinity={kind: {REQUIRED: [whole]}})


def test_a_pod_is_near_others() -> None:
    """In the domain of one of them; the first of its like is where the label is."""
    near = about("podAffinity", "p", labels=DATA)
    state = cluster(NODES, pod("one", "a", WEB))
    refused = NOT_NEAR.reasons
    assert reasons(not_allowed(near, state), state) == {"c": refused, "d": refused}
    empty = cluster(NODES)
    assert reasons(not_allowed(near, empty), empty) == dict.fromkeys("abcd", refused)
    first = about("podAffinity", "p")
    assert reasons(not_allowed(first, empty), empty) == {"d": refused}


def test_a_pod_keeps_away_from_others_and_they_from_it() -> None:
    """Either side may say so."""
    state = cluster(NODES, pod("one", "a", WEB))
    away = about("podAntiAffinity", "p", labels=DATA)
    found = reasons(not_allowed(away, state), state)
    assert found == {"a": TOO_NEAR.reasons, "b": TOO_NEAR.reasons}
    state = cluster(NODES, about("podAntiAffinity", "one", "a", DATA))
    found = reasons(not_allowed(pod("p", labels=WEB), state), state)
    assert found == {"a": KEPT_AWAY.reasons, "b": KEPT_AWAY.reasons}
    assert not_allowed(pod("p", labels=DATA), state) is None


def test_terms_are_about_namespaces() -> None:
    """Those of the pod, named ones, or those whose labels are selected."""
    state = cluster(NODES, pod("other/one", "a", WEB))
    state.namespaces["other"] = {"team": "x"}
    crowded = {"a": TOO_NEAR.reasons, "b": TOO_NEAR.reasons}
    for term, found in (
        ({}, {}),
        ({"namespaces": ["other"]}, crowded),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, crowded),
        ({"namespaceSelector": {"matchLabels": {"team": "y"}}}, {}),
        ({"namespaceSelector": {}}, crowded),
    ):
        away = about("podAntiAffinity", "p", **term)
        assert reasons(not_allowed(away, state), state) == found, term


def test_preferred_terms_rate_nodes() -> None:
    """Those of the pod and of the pods that are there; nothing is said where all are alike."""
    term = {"labelSelector": {"matchLabels": WEB}, "topologyKey": ZONE}
    weighted = [{"weight": 10, "podAffinityTerm": term}]
    near = pod("p", affinity={"podAffinity": {PREFERRED: weighted}})
    away = pod("p", affinity={"podAntiAffinity": {PREFERRED: weighted}})
    state = cluster(NODES, pod("one", "a", WEB))
    assert preferred(near, state, states(state)) == [100, 100, 0, 0]
    assert preferred(away, state, states(state)) == [0, 0, 100, 100]
    assert preferred(pod("p"), state, states(state)) is None
    state = cluster(NODES, about("podAffinity", "one", "c", DATA))
    assert preferred(pod("p", labels=WEB), state, states(state)) == [0, 0, 100, 0]
