"""Scales of workloads."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.autoscaling.scale import (
    owners_of_scale,
    owners_of_workload,
    scale_of,
    selector_text,
    with_scale,
)
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError

DEPLOYMENTS = registry().resources["apps", "v1", "deployments"]


def deployment(**meta: Any) -> dict[str, Any]:
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "7", **meta},
        "spec": {
            "replicas": 3,
            "selector": {
                "matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}],
            },
        },
        "status": {"replicas": 2},
    }


def scale(replicas: int, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "d", "namespace": "n", **meta}, "spec": {"replicas": replicas}}


def test_a_scale_shows_replicas_and_selector() -> None:
    """The selector is the text that a list takes."""
    shown = scale_of(deployment())
    assert shown["spec"] == {"replicas": 3}
    assert shown["status"] == {"replicas": 2, "selector": "a=1,b=2,c in (x,y)"}
    assert shown["metadata"]["resourceVersion"] == "7"


def test_the_selector_of_a_replication_controller_is_a_map() -> None:
    """Equality is all it knows."""
    obj = {"kind": "ReplicationController", "spec": {"selector": {"b": "2", "a": "1"}}}
    assert selector_text(obj) == "a=1,b=2"


def test_scaling_changes_replicas_only() -> None:
    """A version that the scale names stays for the optimistic lock."""
    scaled = with_scale(deployment(), scale(5, resourceVersion="6"), DEPLOYMENTS)
    assert scaled["spec"]["replicas"] == 5
    assert scaled["metadata"]["resourceVersion"] == "6"
    assert "resourceVersion" not in with_scale(deployment(), scale(5), DEPLOYMENTS)["metadata"]


@pytest.mark.parametrize(("wanted", "code"), [(scale(-1), 422), (scale(1, uid="other"), 409)])
def test_bad_scales_are_refused(wanted: dict[str, Any], code: int) -> None:
    """Negative replicas, and the scale of another object of the same name."""
    with pytest.raises(ApiError) as caught:
        with_scale(deployment(), wanted, DEPLOYMENTS)
    assert caught.value.code == code


def test_owners_of_replicas_move_between_workload_and_scale() -> None:
    """Whoever scales takes the replicas from their owner, and nothing else."""
    mine: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    old = {"manager": "a", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": mine}
    assert [entry["apiVersion"] for entry in owners_of_scale([old])] == ["autoscaling/v1"]
    new = {
        "manager": "b",
        "operation": "Update",
        "apiVersion": "autoscaling/v1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    after = owners_of_workload([old], [new], "apps/v1")
    assert after[0]["fieldsV1"] == {"f:spec": {"f:paused": {}}}
    assert after[1] == {**new, "apiVersion": "apps/v1"}
    assert owners_of_workload([old], owners_of_scale([old]), "apps/v1") == [old]
