"""What the server writes of itself."""

from __future__ import annotations

from typing import Any

from kubetrio.resources.own import OWN, apply_status
from kubetrio.resources.writes import Target
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

PATH = "/api/v1/namespaces/default/services"
LOAD_BALANCER = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}


async def test_a_status_has_one_owner(server: InProcess, client: Client) -> None:
    """What it no longer says goes, and the spec stays as it is."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    made = (await client.request("POST", PATH, json=body)).json()
    kind = server.api.storage.registry.resources["", "v1", "services"]
    target = Target(resource=kind, namespace="default", name="s")
    operations = server.api.writes.operations

    async def applied(status: dict[str, Any]) -> dict[str, Any]:
        await apply_status(operations, target, status, OWN)
        obj: dict[str, Any] = (await client.request("GET", f"{PATH}/s")).json()
        return obj

    obj = await applied(LOAD_BALANCER)
    assert obj["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.7"
    assert obj["spec"] == made["spec"]
    owners = {
        (one["manager"], one["operation"], one.get("subresource"))
        for one in obj["metadata"]["managedFields"]
    }
    assert ("kube-apiserver", "Apply", "status") in owners
    assert (await applied({}))["status"] == {"loadBalancer": {}}
