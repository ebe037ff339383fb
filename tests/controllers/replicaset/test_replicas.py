"""What the status of a ReplicaSet says."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.podcontrol.view import Pod, view_of
from kubetrio.controllers.replicaset.replicas import Found, replicas_of, same, status, with_status

Object = dict[str, Any]
TYPE = "io.k8s.api.apps.v1.ReplicaSetStatus"
NOW = 100.0


def owner(replicas: int | None = 2, **old: Any) -> Object:
    """A ReplicaSet."""
    template = {"metadata": {"labels": {"a": "b"}}}
    spec = {"replicas": replicas, "template": template, "minReadySeconds": 10}
    return {"metadata": {"generation": 3}, "spec": spec, "status": old}


def pod(**members: Any) -> Pod:
    """A pod of it."""
    return view_of({"metadata": {"name": "p", "labels": {"a": "b"}}})._replace(**members)


def test_pods_are_counted() -> None:
    """By labels, readiness and how long they are ready."""
    pods = [pod(), pod(ready=True, ready_since=95.0), pod(ready=True, ready_since=90.0),
            pod(labels=(("a", "b"), ("c", "d"))), pod(labels=())]  # fmt: skip
    found = status(owner(), Found(pods, 1), NOW)
    assert found == {
        "replicas": 5, "fullyLabeledReplicas": 4, "readyReplicas": 2, "availableReplicas": 1,
        "terminatingReplicas": 1, "observedGeneration": 3, "conditions": [],
    }  # fmt: skip
    new = with_status(owner(), found, TYPE)
    assert same(new, found)
    assert not same(owner(), found)
    assert "conditions" not in new["status"]


def test_a_failure_is_a_condition() -> None:
    """Until there is none; its reason says what could not be done."""
    (condition,) = status(owner(), Found([], 0, "quota"), NOW)["conditions"]
    assert condition == {
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota",
        "lastTransitionTime": "1970-01-01T00:01:40Z",
    }  # fmt: skip
    known = owner(conditions=[condition])
    assert status(known, Found([], 0, "other"), NOW)["conditions"] == [condition]
    assert status(known, Found([], 0), NOW)["conditions"] == []
    (condition,) = status(owner(0), Found([pod()], 0, "no"), NOW)["conditions"]
    assert condition["reason"] == "FailedDelete"


def test_replicas() -> None:
    """One where nothing is said."""
    assert replicas_of(owner(None)) == 1
    assert replicas_of(owner(0)) == 0
