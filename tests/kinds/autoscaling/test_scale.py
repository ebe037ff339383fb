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


PLACES = {"apps/v1": ("spec", "replicas"), "apps/v1beta2": ("spec", "replicas"), "apps/v2": None}
MINE: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}}


def entry(manager: str, operation: str, version: str, **more: Any) -> dict[str, Any]:
    """Who owns the replicas and something else of a workload."""
    found = {"manager": manager, "operation": operation, "apiVersion": version, **more}
    return {"time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": MINE, **found}


SCALED = {**entry("b", "Update", "autoscaling/v1", subresource="scale"), "fieldsV1": {
    "f:spec": {"f:replicas": {}}
}}  # fmt: skip


def test_who_scales_takes_the_replicas_from_their_owner() -> None:
    """And nothing else; the new entry has no time."""
    old = entry("a", "Apply", "apps/v1")
    [shown] = owners_of_scale([old], PLACES)
    assert (shown["apiVersion"], shown["fieldsV1"]) == ("autoscaling/v1", SCALED["fieldsV1"])
    after = owners_of_workload([old], [SCALED], "apps/v1", PLACES)
    assert after[0] == {**old, "fieldsV1": {"f:spec": {"f:paused": {}}}}
    new = {**SCALED, "apiVersion": "apps/v1"}
    del new["time"]
    assert after[1] == new


def test_an_apply_stays_the_owner_and_an_update_becomes_another() -> None:
    """An update is known by its version, and that of a scale is not the workload's."""
    for operation in ("Apply", "Update"):
        old = entry("a", operation, "apps/v1")
        after = owners_of_workload([old], owners_of_scale([old], PLACES), "apps/v1", PLACES)
        if operation == "Apply":
            assert after == [old]
        else:
            assert [(one["fieldsV1"], "time" in one) for one in after] == [
                ({"f:spec": {"f:replicas": {}}}, False),
                ({"f:spec": {"f:paused": {}}}, True),
            ]


def test_owners_in_other_versions() -> None:
    """One without a scale owns no replicas, and one that nobody knows is dropped."""
    none, gone = entry("a", "Update", "apps/v2"), entry("b", "Update", "apps/v9")
    old = entry("c", "Apply", "apps/v1beta2")
    assert [one["manager"] for one in owners_of_scale([none, gone, old], PLACES)] == ["c"]
    after = owners_of_workload([none, gone, old], [], "apps/v1", PLACES)
    assert after == [{**old, "fieldsV1": {"f:spec": {"f:paused": {}}}}, none]


def test_a_member_is_left_where_only_the_replicas_were_owned() -> None:
    """The spec itself stays its owner's."""
    old = {**entry("a", "Update", "apps/v1"), "fieldsV1": {"f:spec": {".": {}, "f:replicas": {}}}}
    after = owners_of_workload([old], [SCALED], "apps/v1", PLACES)
    assert [one["fieldsV1"] for one in after] == [SCALED["fieldsV1"], {"f:spec": {}}]
