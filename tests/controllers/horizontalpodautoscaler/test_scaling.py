"""Scales of built-in workloads and of custom ones, read and written."""

from __future__ import annotations

import pytest

from kubetrio.controllers.horizontalpodautoscaler.scaling import NoScale, Scaling
from kubetrio.controllers.identity import as_service_account
from kubetrio.machinery.names import GroupResource
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess
from kubetrio.testing.widgets import widget, widgets
from kubetrio.testing.workloads import NAMESPACE, workload


def scaling(server: InProcess) -> Scaling:
    """What reads and writes scales."""
    return Scaling(context_of(server), as_service_account("horizontal-pod-autoscaler"))


async def test_a_workload(server: InProcess) -> None:
    """Its replicas are read and written, by any version of its group."""
    client = server.client()
    await client.create(workload("ReplicaSet", replicas=3))
    for version in ("apps/v1", "apps/v1beta9"):
        reference = {"apiVersion": version, "kind": "ReplicaSet", "name": "w"}
        scaled = await scaling(server).read(NAMESPACE, reference)
        assert (scaled.desired, scaled.actual, scaled.selector) == (3, 0, "app=web")
    await scaling(server).write(scaled, NAMESPACE, "w", 0)
    assert (await scaling(server).read(NAMESPACE, reference)).desired == 0


async def test_a_custom_resource(server: InProcess) -> None:
    """Its replicas are where its definition says."""
    server.api.storage.registry.add(widgets())
    client = server.client()
    body = widget("a", replicas=1)
    await client.create({**body, "metadata": {**body["metadata"], "namespace": NAMESPACE}})
    reference = {"apiVersion": "example.com/v1", "kind": body["kind"], "name": "a"}
    scaled = await scaling(server).read(NAMESPACE, reference)
    assert scaled.desired == 1
    await scaling(server).write(scaled, NAMESPACE, "a", 4)
    assert (await scaling(server).read(NAMESPACE, reference)).desired == 4


async def test_a_custom_resource_without_replicas(server: InProcess) -> None:
    """It has no scale."""
    server.api.storage.registry.add(widgets())
    body = widget("a")
    await server.client().create({**body, "metadata": {**body["metadata"], "namespace": NAMESPACE}})
    reference = {"apiVersion": "example.com/v1", "kind": body["kind"], "name": "a"}
    with pytest.raises(NoScale, match=r"spec replicas field .* does not exist"):
        await scaling(server).read(NAMESPACE, reference)


async def test_resources_by_kind(server: InProcess) -> None:
    """They are found in any version; an unknown kind has none."""
    assert scaling(server).resource_of("v1", "Service") == GroupResource("", "services")
    assert scaling(server).resource_of("apps/v9", "Deployment") == GroupResource(
        "apps", "deployments"
    )
    assert scaling(server).resource_of("apps/v1", "Service") is None
