"""What is stored and not acted on: whoever creates it by hand is told.

kube-controller-manager, kube-scheduler, kubelets and add-ons act on these on a cluster.  None of
them is part of an API server; beside this one they may run as clients.  docs/reference/
compatibility.md has the same list.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.schema.kind import Kind

_CONTROLLER = "no controller acts on it"
_PODS = f"{_CONTROLLER} and makes pods"
INERT: dict[tuple[str, str], str] = {
    ("", "pods"): "nothing schedules or runs it",
    ("", "replicationcontrollers"): _PODS,
    ("", "persistentvolumeclaims"): "nothing provisions a volume for it or binds one",
    ("apps", "deployments"): _PODS,
    ("apps", "replicasets"): _PODS,
    ("apps", "statefulsets"): _PODS,
    ("apps", "daemonsets"): _PODS,
    ("batch", "jobs"): _PODS,
    ("batch", "cronjobs"): f"{_CONTROLLER} and makes jobs",
    ("autoscaling", "horizontalpodautoscalers"): f"{_CONTROLLER} and scales anything",
    ("networking.k8s.io", "ingresses"): "nothing routes requests by it",
    ("networking.k8s.io", "networkpolicies"): "nothing enforces it",
    ("resource.k8s.io", "resourceclaims"): "nothing allocates devices for it",
    ("storage.k8s.io", "volumeattachments"): "nothing attaches the volume",
}
"""By group and resource, what does not happen."""
_SERVICES = ("", "services")


def inert(resource: Kind, value: bytes) -> str | None:
    """What a person who created an object should know; None where somebody acts on it.

    Args:
        resource: its kind, in any version.
        value: its bytes as JSON.
    """
    key = (resource.group, resource.resource)
    found = INERT.get(key)
    if found is None and key == _SERVICES:
        spec: Any = orjson.loads(value).get("spec") or {}
        if spec.get("type") == "LoadBalancer":
            found = "nothing makes a load balancer for it"
    if found is None:
        return None
    return f"{resource.kind} is stored, but {found} in kubetrio; other programs can"
