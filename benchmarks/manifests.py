"""Objects that write rows send: a Deployment and a Pod of 40 fields each, and a small ConfigMap.

A field is a leaf, whatever its type.  Both are of a shape that people deploy: requests and limits,
probes, environment, volumes, a security context.  They name the image by the serial, the one field
that a rollout changes, in a Pod too.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks import requests

Object = dict[str, Any]

NAME_HOLE = "@name@"
SERIAL_HOLE = "@serial@"
PLACES = {
    "ConfigMap": ("", "v1", "configmaps"),
    "Deployment": ("apps", "v1", "deployments"),
    "Lease": ("coordination.k8s.io", "v1", "leases"),
    "Pod": ("", "v1", "pods"),
}
"""Group, version and plural name by kind."""


def probe(path: str, period_s: int) -> Object:
    """An HTTP probe."""
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": period_s}


def container() -> Object:
    """The container that both kinds run."""
    return {
        "name": "web",
        "image": f"bench/web:{SERIAL_HOLE}",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--listen=:8080", "--verbose"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
        "readinessProbe": probe("/ready", 5),
        "livenessProbe": probe("/live", 20),
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
        "securityContext": {"runAsNonRoot": True, "readOnlyRootFilesystem": True},
    }


def pod_spec() -> Object:
    """The Pod that both kinds describe."""
    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 20,
        "containers": [container()],
        "volumes": [{"name": "config", "configMap": {"name": "web"}}],
    }


def pod() -> Object:
    """A Pod of 40 fields."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": NAME_HOLE,
            "labels": {"app": "web", "tier": "front", "track": "stable", "team": "bench"},
        },
        "spec": {
            **pod_spec(),
            "restartPolicy": "Always",
            "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "bench", "operator": "Exists"}],
        },
    }


def deployment() -> Object:
    """A Deployment of 40 fields."""
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME_HOLE, "labels": labels},
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 5,
            "minReadySeconds": 5,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
        },
    }


def config_map() -> Object:
    """The ConfigMap that other rows send, as an object."""
    filled: Object = json.loads(requests.body() % (0, 0))
    filled["metadata"]["name"] = NAME_HOLE
    filled["data"]["serial"] = SERIAL_HOLE
    return filled


def lease() -> Object:
    """The Lease of a node, as its kubelet renews it."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME_HOLE},
        "spec": {
            "holderIdentity": f"node-{SERIAL_HOLE}",
            "leaseDurationSeconds": 40,
            "renewTime": "2026-01-02T03:04:05.678901Z",
        },
    }


def renewal() -> Object:
    """What renews a Lease; a PUT would have to name the revision it read."""
    return {"spec": {"holderIdentity": f"node-{SERIAL_HOLE}"}}


def ready_status() -> Object:
    """What a kubelet says of a Pod."""
    return {
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "message": SERIAL_HOLE}],
        }
    }


def leaves(value: Any) -> int:
    """How many leaves an object has."""
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    if isinstance(value, list):
        return sum(map(leaves, value))
    return 1


def template(obj: Object) -> str:
    """An object as JSON with `%` formats for its number and a serial, in that order."""
    text = json.dumps(obj, separators=(",", ":")).replace("%", "%%")
    return text.replace(NAME_HOLE, requests.NAME).replace(SERIAL_HOLE, requests.SERIAL)
