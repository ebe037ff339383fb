"""On which nodes a DaemonSet has pods, and what a pod for a node looks like.

Source: docs "DaemonSet", "Taints and Tolerations"; k8s.io/kubernetes/pkg/controller/daemon
(``NodeShouldRunDaemonPod``, ``CreatePodTemplate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.nodeselector import selected
from kubetrio.controllers.podcontrol.podwriter import pod_from
from kubetrio.controllers.podcontrol.taints import NO_EXECUTE, NO_SCHEDULE, Node, tolerates

Object = dict[str, Any]

HASH = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION = "deprecated.daemonset.template.generation"
_UNPRESSED = "node.kubernetes.io/"
_TOLERATED = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)


class Fit(NamedTuple):
    """Whether a node is to have a pod.

    Args:
        runs: whether one is made.
        stays: whether one that is there stays.
    """

    runs: bool
    stays: bool


def tolerations_of(spec: Object) -> list[Object]:
    """The tolerations of a daemon's pod, with those that all of them have."""
    tolerations = list(spec.get("tolerations") or ())
    more = [
        *_TOLERATED,
        *([("network-unavailable", NO_SCHEDULE)] if spec.get("hostNetwork") else []),
    ]
    for name, effect in more:
        new = {"key": f"{_UNPRESSED}{name}", "operator": "Exists", "effect": effect}
        same = [
            place
            for place, one in enumerate(tolerations)
            if one.get("key") == new["key"]
            and one.get("effect") == effect
            and (one.get("operator") or "Equal") == "Exists"
            and not one.get("value")
        ]
        if same:
            tolerations[same[0]] = new
        else:
            tolerations.append(new)
    return tolerations


def fit(template: Object, node: Node) -> Fit:
    """Whether a node is to have a pod of a template.

    Args:
        template: of a DaemonSet.
        node: the node.
    """
    spec = template.get("spec") or {}
    named = spec.get("nodeName")
    if (named and named != node.name) or not selected(spec, node.name, dict(node.labels)):
        return Fit(runs=False, stays=False)
    tolerations = tolerations_of(spec)

    def hurts(effects: Iterable[str]) -> bool:
        return any(
            taint.effect in effects and not any(tolerates(one, taint) for one in tolerations)
            for taint in node.taints
        )

    if hurts((NO_SCHEDULE, NO_EXECUTE)):
        return Fit(runs=False, stays=not hurts((NO_EXECUTE,)))
    return Fit(runs=True, stays=True)


def new_pod(owner: Controlling, node: str, found: str) -> Object:
    """A pod for a node.

    Args:
        owner: the DaemonSet.
        node: name of the node.
        found: hash of the revision.
    """
    pod = pod_from(owner.obj["spec"].get("template") or {}, owner)
    meta, spec = pod["metadata"], pod["spec"]
    spec["tolerations"] = tolerations_of(spec)
    labels = {**(meta.get("labels") or {}), HASH: found}
    generation = (owner.meta.get("annotations") or {}).get(GENERATION)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    meta["labels"] = labels
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = [{"matchFields": [field]}]
    affinity = dict(spec.get("affinity") or {})
    by_node = dict(affinity.get("nodeAffinity") or {})
    by_node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    spec["affinity"] = {**affinity, "nodeAffinity": by_node}
    return pod


def updated(owner: Controlling, labels: Mapping[str, str], found: str) -> bool:
    """Whether a pod is of the newest revision.

    Args:
        owner: the DaemonSet.
        labels: of the pod.
        found: hash of the revision.
    """
    generation = (owner.meta.get("annotations") or {}).get(GENERATION)
    by_generation = generation is not None and labels.get(GENERATION_LABEL) == generation
    return by_generation or labels.get(HASH) == found
