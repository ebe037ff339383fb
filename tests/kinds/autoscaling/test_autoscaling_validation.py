"""Checks of HorizontalPodAutoscalers."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

V2 = resource("horizontalpodautoscalers", "autoscaling", "v2")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
}


def autoscaler(**spec: Any) -> Json:
    return {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"minReplicas": 0},
            [
                (
                    "metrics: Forbidden: must specify at least one Object or External metric to "
                    "support "
                    "scaling to zero replicas"
                ),
                "minReplicas: Invalid value: 0: must be greater than or equal to 1",
            ],
        ),
        (
            {"metrics": [{"type": "Pods"}]},
            [
                (
                    "metrics[0].pods: Required value: must populate information for the given "
                    "metric "
                    "source"
                )
            ],
        ),
        (
            {"metrics": [{**CPU, "type": "Pods"}]},
            [
                (
                    "metrics[0].pods: Required value: must populate information for the given "
                    "metric "
                    "source"
                ),
            ],
        ),
        (
            {
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Value", "averageValue": "0"},
                        },
                    }
                ]
            },
            ['metrics[0].resource.target.averageValue: Invalid value: "0": must be positive'],
        ),
        (
            {
                "metrics": [
                    {
                        "type": "ContainerResource",
                        "containerResource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 1},
                        },
                    }
                ]
            },
            ["metrics[0].containerResource.container: Required value: must specify a container"],
        ),
        (
            {
                "metrics": [
                    {
                        "type": "External",
                        "external": {
                            "metric": {"name": "a/b"},
                            "target": {"type": "Value", "value": "1"},
                        },
                    }
                ]
            },
            ["metrics[0].external.metric.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
        (
            {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601}}},
            [
                (
                    "behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be "
                    "less than "
                    "or equal to 3600"
                )
            ],
        ),
        (
            {
                "behavior": {
                    "scaleUp": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 5}]}
                }
            },
            ["behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero"],
        ),
        (
            {"scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController", "name": "a"}},
            [],
        ),
    ],
)
def test_spec(spec: Json, expected: list[str]) -> None:
    """Targets, metrics and behaviours are complete."""
    assert refused(V2, autoscaler(**spec)) == sorted(f"spec.{text}" for text in expected)


def test_old_target_may_stay() -> None:
    """A reference that was accepted once is accepted again."""
    old = changed(made(V2, autoscaler()), "spec.scaleTargetRef.apiVersion", "")
    assert refused_change(V2, old, old) == []


def test_first_version_is_checked_as_second() -> None:
    """Causes speak of the metrics of v2."""
    v1 = resource("horizontalpodautoscalers", "autoscaling")
    body = {
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 0}
    }
    assert refused(v1, body) == [
        (
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater "
            "than 0"
        )
    ]


@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
def test_an_empty_list_of_policies_is_not_none(direction: str) -> None:
    """Defaults stand for policies that are not given, and an empty list is given."""
    spec = {"maxReplicas": 2, "scaleTargetRef": TARGET, "behavior": {direction: {"policies": []}}}
    assert refused(resource("horizontalpodautoscalers", "autoscaling", "v2"), {"spec": spec}) == [
        f"spec.behavior.{direction}.policies: Required value: must specify at least one Policy"
    ]


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        (0, "Required value: must be set and greater than 0"),
        (-1, "Invalid value: -1: must be greater than or equal to 1"),
    ],
)
def test_none_and_fewer_replicas_are_told_apart(replicas: int, message: str) -> None:
    """Zero is as good as missing."""
    found = refused(V2, autoscaler(maxReplicas=replicas))
    least = f"Invalid value: {replicas}: must be greater than or equal to `minReplicas`"
    assert sorted(found) == sorted(f"spec.maxReplicas: {text}" for text in (message, least))


@pytest.mark.parametrize("case", recorded("autoscaling"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
