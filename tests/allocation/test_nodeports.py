"""Node ports of services, over HTTP on a whole server."""

from __future__ import annotations

from typing import Any

from kubetrio.testing.client import Client

SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"Content-Type": "application/merge-patch+json"}


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec.setdefault("ports", [{"port": 80}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_a_port_of_two_transports_has_one_node_port(client: Client) -> None:
    """TCP and UDP of one port share their number."""
    ports = [
        {"name": "t", "port": 53, "protocol": "TCP"},
        {"name": "u", "port": 53, "protocol": "UDP"},
    ]
    made = await client.request("POST", SERVICES, json=service("a", type="NodePort", ports=ports))
    numbers = {port["nodePort"] for port in made.json()["spec"]["ports"]}
    assert len(numbers) == 1


async def test_a_load_balancer_gets_a_port_for_health_checks(client: Client) -> None:
    """Only with the local traffic policy."""
    asked = service("a", type="LoadBalancer", externalTrafficPolicy="Local")
    spec = (await client.request("POST", SERVICES, json=asked)).json()["spec"]
    assert 30000 <= spec["healthCheckNodePort"] <= 32767
    assert spec["healthCheckNodePort"] != spec["ports"][0]["nodePort"]


async def test_a_name_elsewhere_asks_for_no_node_ports(client: Client) -> None:
    """Of a type that has none they are not looked at."""
    ports = [{"port": 80, "nodePort": 100}]
    asked = service("a", type="ExternalName", externalName="a.example", ports=ports)
    assert (await client.request("POST", SERVICES, json=asked)).status == 201


async def test_a_node_port_of_two_equal_transports_is_an_error(client: Client) -> None:
    """On an update, in kube-apiserver's odd words."""
    first = [{"port": 80, "nodePort": 30080}]
    await client.request("POST", SERVICES, json=service("a", type="NodePort", ports=first))
    ports = [
        {"name": "a", "port": 80, "nodePort": 30080},
        {"name": "b", "port": 81, "nodePort": 30080},
    ]
    patch = {"spec": {"ports": ports}}
    refused = await client.request("PATCH", SERVICES + "/a", headers=MERGE, json=patch)
    assert refused.status == 500
    assert refused.json()["message"] == "duplicate nodePort: {TCP 30080}"


async def test_a_dry_run_counts_ports_from_those_that_it_asks_for(client: Client) -> None:
    """The number that it makes up follows the highest of its own."""
    ports = [{"name": "a", "port": 80, "nodePort": 30080}, {"name": "b", "port": 81}]
    asked = service("a", type="NodePort", ports=ports)
    answer = await client.request("POST", SERVICES + "?dryRun=All", json=asked)
    assert [port["nodePort"] for port in answer.json()["spec"]["ports"]] == [30080, 30081]
