"""Ratings of nodes by strategies, and by the arguments of other plugins."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Refusal
from kubetrio.controllers.scheduler.nodefacts import node_facts
from kubetrio.controllers.scheduler.pluginargs import ARGUMENTS, Arguments
from kubetrio.controllers.scheduler.plugins.scoring import by_shape, least, most, rating
from kubetrio.controllers.scheduler.reading import Members
from kubetrio.controllers.scheduler.shapes import PodView, pod_view

Object = dict[str, Any]
BOTH = [("cpu", 1), ("memory", 1)]


def cluster_of(**nodes: Object) -> Cluster:
    """Nodes, by name, with their labels and amounts."""
    found = Cluster()
    for name, node in nodes.items():
        amounts = {"cpu": "10", "memory": "1000", "pods": "10", **node.get("amounts", {})}
        stored = {"metadata": {"name": name, "labels": node.get("labels", {})},
                  "status": {"allocatable": amounts}}  # fmt: skip
        found.set_node(name, node_facts(orjson.dumps(stored)))
    return found


def pod(name: str = "p", node: str = "", **more: Any) -> PodView:
    """A pod that requests something."""
    requests = more.pop("requests", {"cpu": "2", "memory": "200"})
    labels = more.pop("labels", {})
    stored = {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}],
                 "nodeName": node, **more},
    }  # fmt: skip
    return pod_view(orjson.dumps(stored))


def put(cluster: Cluster, one: PodView) -> None:
    """Place a pod."""
    cluster.put(one.key, one)


@pytest.mark.parametrize(
    ("share", "resources", "ratings"),
    [
        (least, BOTH, [80, 60]),
        (most, BOTH, [20, 40]),
        (least, [("cpu", 3), ("memory", 1)], [80, 60]),
        (most, [("gpu", 1)], [0, 0]),
    ],
)
def test_strategies(share: Any, resources: list[tuple[str, int]], ratings: list[int]) -> None:
    """Of an empty node and one with a pod; what a pod does not request does not count."""
    cluster = cluster_of(empty={}, used={"amounts": {"gpu": "4"}})
    put(cluster, pod("there", "used"))
    assert rating(share, resources)(pod(), cluster, cluster.order) == ratings


def test_extended_resources() -> None:
    """They count for pods that request them."""
    cluster = cluster_of(small={"amounts": {"x/gpu": "2"}}, large={"amounts": {"x/gpu": "8"}})
    asked = pod(requests={"cpu": "2", "memory": "200", "x/gpu": "2"})
    assert rating(most, [("x/gpu", 1)])(asked, cluster, cluster.order) == [100, 25]


@pytest.mark.parametrize(
    ("requested", "there", "rated"),
    [(0, 10, 0), (5, 10, 50), (10, 10, 100), (20, 10, 100), (1, 3, 33)],
)
def test_a_line_through_points(requested: int, there: int, rated: int) -> None:
    """More than there is counts as all."""
    assert by_shape([(0, 0), (100, 100)])(requested, there) == rated


def test_a_line_ends_level() -> None:
    """Before the first point and after the last one."""
    rate = by_shape([(20, 40), (60, 80)])
    assert [rate(one, 100) for one in (0, 20, 40, 60, 90)] == [40, 40, 60, 80, 80]


def test_resources_that_rate_nothing_do_not_count_with_a_shape() -> None:
    """And the mean is rounded."""
    cluster = cluster_of(one={})
    shape = by_shape([(0, 0), (100, 100)])
    rate = rating(shape, BOTH, shaped=True)
    assert rate(pod(requests={"cpu": "2", "memory": "1"}), cluster, cluster.order) == [20]
    assert rate(pod(requests={"cpu": "2", "memory": "250"}), cluster, cluster.order) == [23]


def given(plugin: str, **args: Any) -> Arguments:
    """What arguments make of a plugin."""
    return ARGUMENTS[plugin](Members(args, "args"))


def refusals(found: Arguments, asked: PodView, cluster: Cluster) -> list[str]:
    """Why nodes are refused, empty where they are not."""
    assert found.prepare is not None
    check = found.prepare(asked, cluster)
    assert check is not None
    assert not isinstance(check, tuple)
    texts = []
    for node in cluster.order:
        refusal: Refusal | None = check(node)
        texts.append("" if refusal is None else refusal.reasons[0])
    return texts


def ratings(found: Arguments, asked: PodView, cluster: Cluster) -> list[int] | None:
    """How nodes are rated."""
    assert found.rate is not None
    nodes: list[NodeState] = cluster.order
    rated = found.rate(asked, cluster, nodes)
    return None if rated is None else list(rated)


def test_ignored_resources() -> None:
    """By name and by group; others count."""
    asked = pod(requests={"a.example/x": "1", "b.example/y": "1", "c.example/z": "1"})
    found = given("NodeResourcesFit", ignoredResources=["a.example/x"],
                  ignoredResourceGroups=["b.example"])  # fmt: skip
    assert refusals(found, asked, cluster_of(n={})) == ["Insufficient c.example/z"]


def test_added_affinity() -> None:
    """Nodes that it does not select are refused, and its preferences count."""
    row = {"key": "disk", "operator": "In", "values": ["ssd"]}
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [row]}]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 5, "preference": {"matchExpressions": [row]}}
        ],
    }
    found = given("NodeAffinity", addedAffinity=added)
    cluster = cluster_of(a={"labels": {"disk": "ssd"}}, b={})
    text = "node(s) didn't match scheduler-enforced node affinity"
    assert refusals(found, pod(), cluster) == ["", text]
    assert ratings(found, pod(), cluster) == [100, 0]


def test_the_weight_of_pods_that_require_to_be_near() -> None:
    """Without it they do not count."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "host"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cluster = cluster_of(a={"labels": {"host": "a"}}, b={"labels": {"host": "b"}})
    put(cluster, pod("there", "a", affinity=affinity))
    asked = pod(labels={"app": "a"})
    assert ratings(given("InterPodAffinity"), asked, cluster) == [100, 0]
    assert ratings(given("InterPodAffinity", hardPodAffinityWeight=0), asked, cluster) is None
    ignoring = given("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)
    assert ratings(ignoring, asked, cluster) is None


def test_constraints_of_pods_without_any() -> None:
    """Hard ones refuse nodes, and they are about the pods of the owners."""
    row = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    found = given("PodTopologySpread", defaultingType="List", defaultConstraints=[row])
    cluster = cluster_of(a={"labels": {"zone": "a"}}, b={"labels": {"zone": "b"}})
    cluster.owners.services["default"] = {"s": {"app": "a"}}
    put(cluster, pod("there", "a", labels={"app": "a"}))
    text = "node(s) didn't match pod topology spread constraints"
    assert refusals(found, pod(labels={"app": "a"}), cluster) == [text, ""]
    assert found.prepare is not None
    assert found.prepare(pod(labels={"app": "b"}), cluster) is None
