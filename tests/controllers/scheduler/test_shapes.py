"""What is kept of pods."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.scheduler.shapes import Claim, Port, pod_view
from kubetrio.testing.scheduling import pod


def test_pods_that_ask_for_the_same_share_a_shape() -> None:
    """Whatever their names, nodes and service account tokens are."""
    token = {"name": "kube-api-access-abcde", "projected": {}}
    one, other = pod("a", "n", volumes=[token]), pod("b")
    assert one.shape is other.shape
    assert pod("c", requests={"cpu": "1"}).shape is not one.shape
    assert pod("other/a").shape is not one.shape


def test_ports_and_claims_are_found() -> None:
    """Ports of the host, those of sidecars too; claims by name and those made for the pod."""
    port = {"containerPort": 1, "hostPort": 8080}
    found = pod(
        "p",
        containers=[{"name": "c", "ports": [{"containerPort": 2}]}],
        initContainers=[
            {"name": "s", "restartPolicy": "Always", "ports": [port]},
            {"name": "i", "ports": [{**port, "hostPort": 9}]},
        ],
        volumes=[
            {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "w", "ephemeral": {}},
            {"name": "x", "ephemeral": {"volumeClaimTemplate": {}}},
        ],
    ).shape
    assert found.ports == (Port("TCP", 8080, "0.0.0.0"),)
    assert found.claims == (Claim("data", made_for_pod=False), Claim("x", made_for_pod=True))


@pytest.mark.parametrize(
    ("change", "waits"),
    [
        ({}, True),
        ({"spec": {"schedulerName": "default-scheduler", "nodeName": "n"}}, False),
        (
            {"spec": {"schedulerName": "default-scheduler", "schedulingGates": [{"name": "g"}]}},
            False,
        ),
        ({"status": {"phase": "Failed"}}, False),
    ],
)
def test_which_pods_wait(change: dict[str, Any], waits: bool) -> None:
    """Those without a node that are not held back, over or being deleted."""
    made: dict[str, Any] = {
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {"schedulerName": "default-scheduler"},
        **change,
    }
    assert pod_view(orjson.dumps(made)).waits is waits
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not pod_view(orjson.dumps(made)).waits


def test_labels_named_by_a_constraint_are_a_part_of_its_selector() -> None:
    """``matchLabelKeys``, of those labels that the pod has."""
    constraint = {
        "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["rev", "none"],
    }  # fmt: skip
    made = pod("p", labels={"app": "a", "rev": "1"}, topologySpreadConstraints=[constraint])
    (found,) = made.shape.spread
    assert (found.hard, found.fewest_domains, found.honors_affinity) == (True, 1, True)
    assert found.selector.matches({"app": "a", "rev": "1"})
    assert not found.selector.matches({"app": "a", "rev": "2"})


def test_a_pod_that_goes_for_another_is_known() -> None:
    """By the condition that the scheduler gave it, while it is being deleted."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    made: dict[str, Any] = {
        "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"conditions": [condition], "nominatedNodeName": "n"},
    }
    found = pod_view(orjson.dumps(made))
    assert (found.preempted, found.nominated, found.started) == (False, "n", "2026-01-01T00:00:00Z")
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert pod_view(orjson.dumps(made)).preempted
