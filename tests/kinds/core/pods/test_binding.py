"""Pods get their nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.core.pods.binding import bound, check_binding
from kubetrio.machinery.status import ApiError

NOW = "2026-01-02T03:04:05Z"


def pod(**spec: Any) -> dict[str, Any]:
    meta = {"name": "p", "uid": "u", "resourceVersion": "1", "labels": {"a": "pod"}}
    return {"metadata": meta, "spec": {"containers": [], **spec}, "status": {"phase": "Pending"}}


def binding(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **more}, "target": {"kind": "Node", "name": "n"}}


def test_a_bound_pod_has_a_node_and_a_condition() -> None:
    """Labels and annotations of the binding win over the pod's."""
    done = bound(pod(), binding(labels={"a": "x", "b": "y"}, annotations={"c": "d"}), NOW)
    assert done["spec"]["nodeName"] == "n"
    assert done["metadata"]["labels"] == {"a": "x", "b": "y"}
    assert done["metadata"]["annotations"] == {"c": "d"}
    assert done["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": NOW,
        }
    ]


@pytest.mark.parametrize(
    ("stored", "wanted", "why"),
    [
        (pod(nodeName="m"), binding(), 'already assigned to node "m"'),
        (pod(schedulingGates=[{"name": "g"}]), binding(), "non-empty .spec.schedulingGates"),
    ],
)
def test_conflicts(stored: dict[str, Any], wanted: dict[str, Any], why: str) -> None:
    """What cannot be bound stays as it is."""
    with pytest.raises(ApiError) as caught:
        bound(stored, wanted, NOW)
    assert caught.value.code == 409
    assert why in caught.value.message


def test_bad_targets_are_errors_of_the_server() -> None:
    """That is how kube-apiserver answers, with all of them in one text."""
    wrong = {"metadata": {"name": "p"}, "target": {"kind": "Pod"}}
    with pytest.raises(ApiError) as caught:
        check_binding(wrong, "p")
    assert caught.value.code == 500
    assert caught.value.message == (
        '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", '
        "target.name: Required value]"
    )


def test_the_hint_to_a_node_goes_with_the_binding() -> None:
    """What a scheduler nominated is of no use to others any more."""
    nominated = {**pod(), "status": {"phase": "Pending", "nominatedNodeName": "n1"}}
    done = bound(nominated, binding(), NOW)
    assert "nominatedNodeName" not in done["status"]
    assert done["status"]["phase"] == "Pending"
    assert nominated["status"]["nominatedNodeName"] == "n1"
