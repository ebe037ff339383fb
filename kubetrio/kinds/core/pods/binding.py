"""Binding: a scheduler gives a pod a node.

Source: docs "Kubernetes Scheduler"; API reference of Binding; KEP-3521 (scheduling gates).
"""

from __future__ import annotations

from typing import Any

from kubetrio.gotext.text import aggregate
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.machinery.fielderrors import not_supported, required
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, Cause, bad_request, conflict

Object = dict[str, Any]
BINDING = GroupResource("", "pods/binding")
_NOMINATED = "nominatedNodeName"
_SPEC = "io.k8s.api.core.v1.PodSpec"


def check_binding(binding: Object, name: str) -> None:
    """Check a binding against its path and its rules.

    Args:
        binding: the decoded object.
        name: name of the pod.

    Raises:
        ApiError: 400, or 500 without a reason, which is what kube-apiserver makes of bad targets.
    """
    if (binding.get("metadata") or {}).get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    target = binding.get("target") or {}
    causes: list[Cause] = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        causes.append(not_supported("target.kind", kind, ("Node", "<empty>"), named=False))
    if not target.get("name"):
        causes.append(required("target.name"))
    if causes:
        raise ApiError(500, "", aggregate(map(str, causes)))


def bound(pod: Object, binding: Object, now: str) -> Object:
    """A pod with its node.

    Args:
        pod: the stored pod; not changed.
        binding: a checked binding; its annotations and labels win over the pod's.
        now: time of the ``PodScheduled`` condition.

    Raises:
        ApiError: 409 when the pod cannot be bound.
    """
    meta, binding_meta = pod["metadata"], binding.get("metadata") or {}
    name = meta["name"]
    if meta.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise conflict(BINDING, name, why)
    spec = pod["spec"]
    if spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise conflict(BINDING, name, why)
    if spec.get("schedulingGates"):
        raise conflict(BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    changed = dict(meta)
    annotations = {**(meta.get("annotations") or {}), **(binding_meta.get("annotations") or {})}
    if annotations:
        changed["annotations"] = dict(sorted(annotations.items()))
    labels = {**(meta.get("labels") or {}), **(binding_meta.get("labels") or {})}
    if labels:
        changed["labels"] = dict(sorted(labels.items()))
    result = {
        **pod,
        "metadata": changed,
        "spec": ordered(_SPEC, {**spec, "nodeName": binding["target"]["name"]}),
    }
    if (status := pod.get("status")) and _NOMINATED in status:
        # What was a hint misleads now (feature ClearingNominatedNodeNameAfterBinding).
        result["status"] = {name: value for name, value in status.items() if name != _NOMINATED}
    return set_pod_condition(result, {"type": "PodScheduled", "status": "True"}, now)
