"""Deployments that an annotation takes back."""

from __future__ import annotations

import pytest

from kubetrio.controllers.deployment.annotations import REVISION, ROLLBACK_TO
from kubetrio.testing.controllers import controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, template, workload


@pytest.mark.parametrize(
    ("to", "image", "reason"),
    [
        ("1", "i", "DeploymentRollback"),
        ("0", "i", "DeploymentRollback"),
        ("2", "j", "DeploymentRollbackTemplateUnchanged"),
        ("9", "j", "DeploymentRollbackRevisionNotFound"),
    ],
)
async def test_a_revision_is_taken_back(to: str, image: str, reason: str) -> None:
    """0 is the one before; the annotation goes in any case."""
    async with controlled("deployment-controller") as running:
        client = running.client
        kind = client.kind("apps/v1", "Deployment")
        await client.create(workload("Deployment", replicas=1))
        await running.settled()
        await client.patch(kind, "w", {"spec": {"template": template("j")}}, NAMESPACE)
        await running.settled()
        await client.patch(kind, "w", {"metadata": {"annotations": {ROLLBACK_TO: to}}}, NAMESPACE)
        await running.settled()
        found = await client.get(kind, "w", NAMESPACE)
        (container,) = found["spec"]["template"]["spec"]["containers"]
        assert container["image"] == image
        assert found["metadata"]["annotations"] == {REVISION: "3" if image == "i" else "2"}
        assert reason in {one for _, one, _ in await events_of(client, "Deployment")}


async def test_the_only_revision_has_none_before() -> None:
    """Which is told."""
    async with controlled("deployment-controller") as running:
        client = running.client
        obj = workload("Deployment", replicas=1)
        obj["metadata"]["annotations"] = {ROLLBACK_TO: "0"}
        await client.create(obj)
        await running.settled()
        messages = {message for _, _, message in await events_of(client, "Deployment")}
        assert "Unable to find last revision." in messages
