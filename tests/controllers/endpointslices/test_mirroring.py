"""Endpoints that people write, mirrored to slices."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.endpointslices.mirroring import Mirrored, mirrored, planned
from kubetrio.testing.controllers import Controlled, controlled

Object = dict[str, Any]
NAME = "endpointslice-mirroring-controller"
PORTS = [{"name": "p", "port": 80, "protocol": "TCP"}]


def endpoints(*addresses: str, **meta: Any) -> Object:
    """Endpoints by hand."""
    subset = {"addresses": [{"ip": ip} for ip in addresses], "ports": PORTS}
    return {
        "apiVersion": "v1", "kind": "Endpoints", "subsets": [subset] if addresses else [],
        "metadata": {"name": "s", "namespace": "default", **meta},
    }  # fmt: skip


def service(**spec: Any) -> Object:
    """A service that the Endpoints are for."""
    return {
        "apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}], **spec},
        "metadata": {"name": "s", "namespace": "default"},
    }  # fmt: skip


async def slices_of(running: Controlled) -> list[Object]:
    """The slices of the service when all is quiet."""
    await running.settled()
    kind = running.client.kind("discovery.k8s.io/v1", "EndpointSlice")
    labels = "kubernetes.io/service-name=s"
    return (await running.client.list(kind, "default", label_selector=labels)).items


async def test_endpoints_by_hand_are_mirrored() -> None:
    """One slice for each family; labels and annotations go with them, what was applied does not."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(service())
        notes = {"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
        made = await client.create(
            endpoints("10.0.0.1", "fd00::1", labels={"l": "m"}, annotations=notes)
        )
        slices = await slices_of(running)
        assert sorted(one["addressType"] for one in slices) == ["IPv4", "IPv6"]
        for slice_ in slices:
            meta = slice_["metadata"]
            assert meta["labels"] == {
                "l": "m",
                "kubernetes.io/service-name": "s",
                "endpointslice.kubernetes.io/managed-by":
                    "endpointslicemirroring-controller.k8s.io",
            }  # fmt: skip
            assert meta["annotations"] == {"a": "b"}
            assert meta["ownerReferences"][0]["kind"] == "Endpoints"
            assert meta["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
            assert slice_["ports"] == PORTS
            assert slice_["endpoints"][0]["conditions"] == {"ready": True}


async def test_mirrors_follow_their_endpoints() -> None:
    """Changed with them, and gone with them."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(service())
        await client.create(endpoints("10.0.0.1"))
        (first,) = await slices_of(running)
        await client.update(endpoints("10.0.0.2", "10.0.0.3"))
        (second,) = await slices_of(running)
        assert second["metadata"]["name"] == first["metadata"]["name"]
        assert [one["addresses"] for one in second["endpoints"]] == [["10.0.0.2"], ["10.0.0.3"]]
        count = running.writes.count
        await client.update(endpoints("10.0.0.3", "10.0.0.2"))
        await running.settled()
        assert running.writes.count == count
        await client.delete(client.kind("v1", "Endpoints"), "s", "default")
        assert await slices_of(running) == []


async def test_what_is_not_to_be_mirrored_is_not() -> None:
    """Without a service, with a selector, with a label that says so, and locks of leaders."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(endpoints("10.0.0.1"))
        assert await slices_of(running) == []
        await client.create(service())
        assert len(await slices_of(running)) == 1
        skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
        await client.update(endpoints("10.0.0.1", labels=skip))
        assert await slices_of(running) == []
        await client.update(endpoints("10.0.0.1"))
        assert len(await slices_of(running)) == 1
        leader = {"control-plane.alpha.kubernetes.io/leader": "{}"}
        await client.update(endpoints("10.0.0.1", annotations=leader))
        assert await slices_of(running) == []
        await client.update(endpoints("10.0.0.1"))
        kind = client.kind("v1", "Service")
        await client.patch(kind, "s", {"spec": {"selector": {"a": "b"}}}, "default")
        assert await slices_of(running) == []


def test_too_many_addresses_are_left_out() -> None:
    """A thousand of each subset are mirrored; what is no address is counted apart."""
    many = [f"10.{n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(1200)]
    found = mirrored(endpoints(*many, "nonsense")["subsets"])
    (group,) = found.endpoints.values()
    assert len(group) == 1000
    assert (found.invalid, found.skipped) == (0, 201)
    assert mirrored(endpoints("nonsense")["subsets"]).invalid == 1


def test_a_slice_of_other_ports_is_used_again() -> None:
    """Rather than deleted."""
    own = {"uid": "u"}
    plan = planned(endpoints(**own), mirrored(endpoints("10.0.0.1")["subsets"]), [])
    (made,) = plan.create
    there = {**made, "metadata": {**made["metadata"], "name": "x"}}
    other = endpoints("10.0.0.1")
    other["subsets"][0]["ports"] = [{"port": 81, "protocol": "TCP"}]
    plan = planned(endpoints(**own), mirrored(other["subsets"]), [there])
    assert (plan.create, plan.delete) == ([], [])
    assert plan.update[0]["metadata"]["name"] == "x"
    assert isinstance(mirrored([]), Mirrored)
