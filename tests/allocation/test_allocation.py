"""Allocation around writes of services, over HTTP on a whole server."""

from __future__ import annotations

from typing import Any

from kubetrio.allocation.allocation import ServiceAllocator
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
MERGE = {"Content-Type": "application/merge-patch+json"}


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec.setdefault("ports", [{"port": 80}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def addresses(client: Client) -> set[str]:
    listed = (await client.request("GET", ADDRESSES)).json()
    return {item["metadata"]["name"] for item in listed["items"]}


async def test_an_address_comes_and_goes_with_its_service(client: Client) -> None:
    """The IPAddress object names the service, and is deleted with it."""
    made = (await client.request("POST", SERVICES, json=service("a"))).json()
    ip = made["spec"]["clusterIP"]
    assert made["spec"]["clusterIPs"] == [ip]
    obj = (await client.request("GET", f"{ADDRESSES}/{ip}")).json()
    parent = {"resource": "services", "namespace": "default", "name": "a"}
    assert obj["spec"] == {"parentRef": parent}
    await client.request("DELETE", SERVICES + "/a")
    assert await addresses(client) == {"10.0.0.1"}
    again = await client.request("POST", SERVICES, json=service("b", clusterIP=ip))
    assert again.status == 201


async def test_an_address_is_the_servers(client: Client) -> None:
    """kube-apiserver makes IPAddress objects as a client of itself, and owns their fields."""
    obj = (await client.request("GET", f"{ADDRESSES}/10.0.0.1")).json()
    (entry,) = obj["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
    assert entry["fieldsV1"]["f:spec"] == {
        "f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}
    }


async def test_an_address_is_given_once(client: Client) -> None:
    """A request for a taken address is refused, and changes nothing."""
    made = (await client.request("POST", SERVICES, json=service("a"))).json()
    ip = made["spec"]["clusterIP"]
    refused = await client.request("POST", SERVICES, json=service("b", clusterIP=ip))
    assert refused.status == 422
    assert refused.json()["message"] == (
        f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{ip}"]: '
        f"failed to allocate IP {ip}: provided IP is already allocated"
    )
    assert await addresses(client) == {"10.0.0.1", ip}


async def test_a_refused_service_gives_everything_back(client: Client) -> None:
    """Neither an invalid service nor one whose name exists keeps an address or a port."""
    await client.request("POST", SERVICES, json=service("a"))
    before = await addresses(client)
    wanted = {"clusterIP": "10.0.0.77", "type": "NodePort"}
    ports = [{"port": 80, "nodePort": 30777}]
    taken = await client.request("POST", SERVICES, json=service("a", ports=ports, **wanted))
    assert taken.status == 409
    broken = service("x", ports=ports, externalTrafficPolicy="Nonsense", **wanted)
    assert (await client.request("POST", SERVICES, json=broken)).status == 422
    assert await addresses(client) == before
    fine = await client.request("POST", SERVICES, json=service("y", ports=ports, **wanted))
    assert fine.status == 201


async def test_dry_run_allocates_nothing(client: Client) -> None:
    """No address is taken, and no port."""
    asked = service("a", type="NodePort")
    answer = await client.request("POST", SERVICES + "?dryRun=All", json=asked)
    spec = answer.json()["spec"]
    assert spec["clusterIP"] == "10.0.0.0"
    assert spec["ports"][0]["nodePort"] == 32769
    assert await addresses(client) == {"10.0.0.1"}


async def test_changes_of_type_take_and_release(client: Client) -> None:
    """Node ports and addresses follow the type of a service."""
    path = SERVICES + "/a"
    first = (await client.request("POST", SERVICES, json=service("a", type="NodePort"))).json()
    port, ip = first["spec"]["ports"][0]["nodePort"], first["spec"]["clusterIP"]
    patch: dict[str, Any] = {"spec": {"type": "ExternalName", "externalName": "x.example.com"}}
    external = await client.request("PATCH", path, headers=MERGE, json=patch)
    assert "clusterIP" not in external.json()["spec"]
    assert ip not in await addresses(client)
    other = service("b", type="NodePort", clusterIP=ip, ports=[{"port": 1, "nodePort": port}])
    assert (await client.request("POST", SERVICES, json=other)).status == 201
    patch = {"spec": {"type": "ClusterIP", "externalName": None}}
    back = (await client.request("PATCH", path, headers=MERGE, json=patch)).json()
    assert back["spec"]["clusterIP"] in await addresses(client)


async def test_start_repairs(server: InProcess, client: Client) -> None:
    """A missing IPAddress is made again, one without a service goes."""
    made = (await client.request("POST", SERVICES, json=service("a"))).json()
    ip = made["spec"]["clusterIP"]
    left_over = (await client.request("GET", f"{ADDRESSES}/{ip}")).json()
    await client.request("DELETE", f"{ADDRESSES}/{ip}")
    meta = {"name": "10.0.0.99", "labels": left_over["metadata"]["labels"]}
    lost = {**left_over, "metadata": meta}
    assert (await client.request("POST", ADDRESSES, json=lost)).status == 201
    again = ServiceAllocator(
        server.api.storage.informers.dispatcher,
        server.api.storage.registry,
        server.env,
        ["10.0.0.0/24"],
    )
    await again.start()
    assert await addresses(client) == {"10.0.0.1", ip}


async def test_addresses_come_from_further_ranges(client: Client) -> None:
    """A ServiceCIDR gives addresses as soon as it exists, and none when it is gone."""
    ranges = "/apis/networking.k8s.io/v1/servicecidrs"
    obj = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.99.7.0/24"]}}
    assert (await client.request("POST", ranges, json=obj)).status == 201
    made = await client.request("POST", SERVICES, json=service("a", clusterIP="10.99.7.7"))
    assert made.status == 201
    assert "10.99.7.7" in await addresses(client)
    await client.request("DELETE", ranges + "/more")
    refused = await client.request("POST", SERVICES, json=service("b", clusterIP="10.99.7.8"))
    assert refused.json()["message"] == (
        'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.99.7.8"]: failed to '
        "allocate IP 10.99.7.8: the provided network does not match the current range"
    )


async def test_an_address_object_says_who_made_it(client: Client) -> None:
    """The server owns its fields."""
    ip = (await client.request("POST", SERVICES, json=service("a"))).json()["spec"]["clusterIP"]
    obj = (await client.request("GET", f"{ADDRESSES}/{ip}")).json()
    (entry,) = obj["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
    assert entry["fieldsV1"]["f:spec"]["f:parentRef"].keys() == {
        ".", "f:name", "f:namespace", "f:resource",
    }  # fmt: skip


async def test_endpoints_go_with_their_service(client: Client) -> None:
    """Of the same name, and only when the service is really deleted."""
    endpoints = "/api/v1/namespaces/default/endpoints"
    await client.request("POST", SERVICES, json=service("a"))
    for name in ("a", "b"):
        await client.request("POST", endpoints, json={"metadata": {"name": name}})
    await client.request("DELETE", SERVICES + "/a?dryRun=All")
    assert (await client.request("GET", endpoints + "/a")).status == 200
    await client.request("DELETE", SERVICES + "/a")
    assert (await client.request("GET", endpoints + "/a")).status == 404
    assert (await client.request("GET", endpoints + "/b")).status == 200
