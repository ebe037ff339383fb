"""Nodes by a pod's volumes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.scheduler.cluster import Cluster
from kubetrio.controllers.scheduler.framework import Rejected
from kubetrio.controllers.scheduler.plugins.volumes import unusable, waiting_claims
from kubetrio.controllers.scheduler.volumes import (
    ClassFacts,
    VolumeFacts,
    Volumes,
    claim_facts,
)
from kubetrio.testing.scheduling import ZONE, node, pod, reasons

USER = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
OWN = pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}])


def state(*, binding: bool = True, claim: Any = None) -> Cluster:
    """Two nodes in two zones, a claim, and a volume that is on one of the nodes."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    volumes = Volumes(binding=binding)
    volumes.volumes["here"] = VolumeFacts([term], {})
    volumes.volumes["zoned"] = VolumeFacts(None, {ZONE: frozenset({"2", "3"})})
    volumes.classes["late"] = ClassFacts(waits=True, provisions=True)
    volumes.classes["none"] = ClassFacts(waits=True, provisions=False)
    if claim is not None:
        whole = {"metadata": {"name": "data", **claim.pop("metadata", {})}, **claim}
        volumes.claims["default/data"] = claim_facts(orjson.dumps(whole))
    made = Cluster(volumes)
    for one in (node("a", {ZONE: "1"}), node("b", {ZONE: "2"})):
        made.set_node(one.name, one)
    return made


def bound(volume: str) -> dict[str, Any]:
    """A claim that has a volume."""
    return {"spec": {"volumeName": volume}, "status": {"phase": "Bound"}}


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (bound("here"), {"b": "node(s) didn't match PersistentVolume's node affinity"}),
        (bound("zoned"), {"a": "node(s) had no available volume zone"}),
        (
            bound("gone"),
            dict.fromkeys(
                "ab", "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            ),
        ),
        ({"spec": {"storageClassName": "late"}}, {}),
        (
            {"spec": {"storageClassName": "none"}},
            dict.fromkeys("ab", "node(s) didn't find available persistent volumes to bind"),
        ),
        (
            {
                "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "b"}},
                "spec": {"storageClassName": "late"},
            },
            {"a": "node(s) didn't find available persistent volumes to bind"},
        ),
    ],
)
def test_volumes_refuse_nodes(claim: Any, found: dict[str, str]) -> None:
    """By their affinity and zones; claims that wait for a node refuse none."""
    made = state(claim=dict(claim))
    told = reasons(unusable(USER, made), made)
    assert told == {name: (text,) for name, text in found.items()}


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (
            {"spec": {"volumeName": "x"}, "status": {"phase": "Lost"}},
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "x"',
        ),
        (
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            'persistentvolumeclaim "data" is being deleted',
        ),
        ({"spec": {}}, "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_claims_may_keep_a_pod_from_every_node(claim: Any, text: str) -> None:
    """In kube-scheduler's words."""
    assert unusable(USER, state(claim=claim)) == Rejected(text)


def test_what_no_controller_binds_holds_no_pod_back() -> None:
    """Without a binder unbound claims are as good as bound ones."""
    made = state(binding=False, claim={"spec": {}})
    assert reasons(unusable(USER, made), made) == {}
    assert reasons(unusable(OWN, made), made) == {}
    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    assert unusable(OWN, state()) == Rejected(text)
    assert unusable(pod("p"), made) is None


def test_claims_that_wait_for_a_node_are_found() -> None:
    """By their class; those that are bound do not wait."""
    late = state(claim={"spec": {"storageClassName": "late"}})
    assert waiting_claims(USER, late.volumes) == ["data"]
    assert waiting_claims(USER, state(claim=bound("here")).volumes) == []
