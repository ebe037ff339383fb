"""Claims of pods that bring their own volumes."""

from __future__ import annotations

from typing import Any

from test_binder import claim
from trio.testing import MockClock

from kubetrio.testing.controllers import controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, template

Object = dict[str, Any]
NAME = "ephemeral-volume-controller"


def pod(name: str = "p") -> Object:
    """A pod with a volume of its own."""
    made = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": made}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {**template()["spec"], "volumes": volumes},
    }


async def test_a_claim_is_made(autojump_clock: MockClock) -> None:
    """It is the pod's, with what the template says."""
    async with controlled(NAME) as running:
        owner = await running.client.create(pod())
        await running.settled()
        kind = running.client.kind("v1", "PersistentVolumeClaim")
        found = await running.client.get(kind, "p-v", NAMESPACE)
        assert found["metadata"]["labels"] == {"a": "b"}
        assert found["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "p",
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert found["spec"]["resources"] == {"requests": {"storage": "1Gi"}}


async def test_a_claim_that_is_not_the_pods(autojump_clock: MockClock) -> None:
    """It is left alone, and an event says so."""
    async with controlled(NAME) as running:
        await running.client.create(claim("p-v"))
        await running.client.create(pod())
        await running.settled()
        text = (
            f"ephemeral volume v: PVC {NAMESPACE}/p-v was not created for pod {NAMESPACE}/p "
            "(pod is not owner)"
        )
        assert ("Warning", "FailedBinding", text) in await events_of(running.client, "Pod")
