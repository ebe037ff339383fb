"""Endpoints and endpoint slices of services on a server whose controllers run."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kubetrio.client.client import Client
from kubetrio.controllers.table import made as made_
from kubetrio.testing.controllers import Controlled, context_of, controlled

Object = dict[str, Any]
OF_S = "kubernetes.io/service-name=s"
SLICES, ENDPOINTS = "endpointslice-controller", "endpoints-controller"


def service(name: str = "s", **spec: Any) -> Object:
    """A service for pods with ``app=web``."""
    ports = [{"name": "http", "port": 80, "targetPort": "web"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"tier": "front"}},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


async def add_node(client: Client, name: str = "n", zone: str = "z") -> None:
    """A node in a zone."""
    labels = {"topology.kubernetes.io/zone": zone}
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


async def add_pod(client: Client, name: str, ip: str, ready: str = "True", **spec: Any) -> None:
    """A pod that runs."""
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8080}]}
    await client.create({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n", "containers": [container], **spec},
    })  # fmt: skip
    status = {
        "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
        "conditions": [{"type": "Ready", "status": ready,
                        "lastTransitionTime": "2030-01-01T00:00:00Z"}],
    }  # fmt: skip
    kind = client.kind("v1", "Pod")
    await client.patch(kind, name, {"status": status}, "default", subresource="status")


async def make(client: Client, name: str, ready: str) -> None:
    """Say whether a pod is ready."""
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    kind = client.kind("v1", "Pod")
    await client.patch(kind, name, {"status": status}, "default", subresource="status")


async def slices_of(running: Controlled, name: str = "s") -> list[Object]:
    """The slices of a service when all is quiet."""
    await running.settled()
    kind = running.client.kind("discovery.k8s.io/v1", "EndpointSlice")
    labels = f"kubernetes.io/service-name={name}"
    return (await running.client.list(kind, "default", label_selector=labels)).items


async def endpoints_of(running: Controlled, name: str = "s") -> Object | None:
    """The Endpoints of a service when all is quiet."""
    await running.settled()
    found = await running.client.list(running.client.kind("v1", "Endpoints"), "default")
    return next((one for one in found.items if one["metadata"]["name"] == name), None)


async def test_a_service_has_a_slice_of_its_pods() -> None:
    """With all that kube-controller-manager says of them."""
    async with controlled(SLICES) as running:
        client = running.client
        await add_node(client)
        made = await client.create(service())
        await add_pod(client, "p", "10.0.0.1")
        (slice_,) = await slices_of(running)
        meta = slice_["metadata"]
        assert meta["name"].startswith("s-")
        assert meta["labels"] == {
            "tier": "front",
            "kubernetes.io/service-name": "s",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        assert meta["ownerReferences"] == [{
            "apiVersion": "v1", "kind": "Service", "name": "s", "uid": made["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }]  # fmt: skip
        assert meta["annotations"] == {
            "endpoints.kubernetes.io/last-change-trigger-time": "2030-01-01T00:00:00Z"
        }
        assert slice_["addressType"] == "IPv4"
        assert slice_["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        (endpoint,) = slice_["endpoints"]
        uid = endpoint["targetRef"].pop("uid")
        assert uid
        assert endpoint == {
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p"},
            "nodeName": "n",
            "zone": "z",
        }


async def test_slices_follow_their_pods(autojump_clock: object) -> None:
    """Readiness, labels and deletions; in the end an empty slice is left."""
    del autojump_clock
    async with controlled(SLICES) as running:
        client = running.client
        await add_node(client)
        await client.create(service())
        await add_pod(client, "p", "10.0.0.1", ready="False")
        (slice_,) = await slices_of(running)
        assert slice_["endpoints"][0]["conditions"]["ready"] is False
        await make(client, "p", "True")
        (slice_,) = await slices_of(running)
        assert slice_["endpoints"][0]["conditions"]["ready"] is True
        pods = client.kind("v1", "Pod")
        await client.patch(pods, "p", {"metadata": {"labels": {"app": "no"}}}, "default")
        (slice_,) = await slices_of(running)
        assert not slice_["endpoints"]
        await client.patch(pods, "p", {"metadata": {"labels": {"app": "web"}}}, "default")
        assert (await slices_of(running))[0]["endpoints"]
        await client.delete(pods, "p", "default")  # it has a node, which has to end it
        (slice_,) = await slices_of(running)
        said = {"ready": False, "serving": True, "terminating": True}
        assert slice_["endpoints"][0]["conditions"] == said
        await client.delete(pods, "p", "default", gracePeriodSeconds=0)
        assert not (await slices_of(running))[0]["endpoints"]


async def test_a_pod_waits_for_its_node() -> None:
    """It is an endpoint as soon as the node is there, and an event says so before."""
    async with controlled(SLICES) as running:
        client = running.client
        await client.create(service())
        await add_pod(client, "p", "10.0.0.1")
        (slice_,) = await slices_of(running)
        assert not slice_["endpoints"]
        events = (await client.list(client.kind("v1", "Event"), "default")).items
        assert {one["reason"] for one in events} == {"FailedToUpdateEndpointSlices"}
        assert events[0]["message"] == (
            "Error updating Endpoint Slices for Service default/s: "
            "skipping Pod p for Service default/s: Node n Not Found"
        )
        await add_node(client)
        (slice_,) = await slices_of(running)
        assert len(slice_["endpoints"]) == 1


async def test_what_others_do_to_a_slice_is_undone(autojump_clock: object) -> None:
    """A second later."""
    del autojump_clock
    async with controlled(SLICES) as running:
        client = running.client
        await add_node(client)
        await client.create(service())
        await add_pod(client, "p", "10.0.0.1")
        (slice_,) = await slices_of(running)
        kind = client.kind("discovery.k8s.io/v1", "EndpointSlice")
        name = slice_["metadata"]["name"]
        await client.patch(kind, name, {"endpoints": []}, "default")
        await trio.sleep(2)
        (slice_,) = await slices_of(running)
        assert len(slice_["endpoints"]) == 1
        await client.delete(kind, slice_["metadata"]["name"], "default")
        await trio.sleep(2)
        (slice_,) = await slices_of(running)
        assert len(slice_["endpoints"]) == 1


async def test_nothing_more_is_written_when_all_is_right(autojump_clock: object) -> None:
    """An idle service costs nothing."""
    del autojump_clock
    async with controlled(SLICES, ENDPOINTS) as running:
        client = running.client
        await add_node(client)
        await client.create(service())
        await add_pod(client, "p", "10.0.0.1")
        await trio.sleep(5)
        count = running.writes.count
        await client.patch(
            client.kind("v1", "Pod"), "p", {"metadata": {"annotations": {"a": "b"}}}, "default"
        )
        await trio.sleep(3600)
        assert running.writes.count == count


@pytest.mark.parametrize(
    "spec", [{"selector": None}, {"type": "ExternalName", "externalName": "example.com"}]
)
async def test_other_services_are_left_alone(spec: Object) -> None:
    """Those without selector, and those that are a name."""
    async with controlled(SLICES, ENDPOINTS) as running:
        await running.client.create(service(**spec))
        assert await slices_of(running) == []
        assert await endpoints_of(running) is None


async def test_a_service_has_endpoints() -> None:
    """Ready and other addresses apart, with labels and the time of the change."""
    async with controlled(ENDPOINTS) as running:
        client = running.client
        await client.create(service())
        await add_pod(client, "p", "10.0.0.1")
        await add_pod(client, "q", "10.0.0.2", ready="False")
        found = await endpoints_of(running)
        assert found is not None
        meta = found["metadata"]
        assert meta["labels"] == {
            "tier": "front", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        }  # fmt: skip
        assert meta["annotations"] == {
            "endpoints.kubernetes.io/last-change-trigger-time": "2030-01-01T00:00:00Z"
        }
        (subset,) = found["subsets"]
        assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        assert [one["ip"] for one in subset["addresses"]] == ["10.0.0.1"]
        assert [one["ip"] for one in subset["notReadyAddresses"]] == ["10.0.0.2"]
        assert subset["addresses"][0]["nodeName"] == "n"
        await make(client, "q", "True")
        found = await endpoints_of(running)
        assert found is not None
        assert len(found["subsets"][0]["addresses"]) == 2
        await client.delete(client.kind("v1", "Service"), "s", "default")
        assert await endpoints_of(running) is None


async def test_endpoints_whose_service_is_gone_go_at_the_start() -> None:
    """What a lock of leaders is stays; so does what somebody makes later."""
    async with controlled() as before:
        client = before.client
        for name, annotations in (("old", {}), ("lock", {LEADER: "{}"})):
            await client.create(bare(name, annotations))
        (controller,) = made_([ENDPOINTS], context_of(before.server))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(controller.run)
            assert await endpoints_of(before, "old") is None
            assert await endpoints_of(before, "lock") is not None
            await client.create(bare("new", {}))
            assert await endpoints_of(before, "new") is not None
            nursery.cancel_scope.cancel()


LEADER = "control-plane.alpha.kubernetes.io/leader"


def bare(name: str, annotations: dict[str, str]) -> Object:
    """Endpoints of nothing."""
    meta = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta}


async def test_headless_services_are_labelled() -> None:
    """In both; a dual-stack pod has an address of the first family in Endpoints."""
    async with controlled(SLICES, ENDPOINTS) as running:
        client = running.client
        await add_node(client)
        await client.create(service(clusterIP="None", ports=None))
        await add_pod(client, "p", "10.0.0.1", hostname="h", subdomain="s")
        found = await endpoints_of(running)
        (slice_,) = await slices_of(running)
        assert found is not None
        for obj in (found, slice_):
            assert obj["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
        assert "ports" not in found["subsets"][0]
        assert found["subsets"][0]["addresses"][0]["hostname"] == "h"
        assert slice_["endpoints"][0]["hostname"] == "h"
        assert not slice_["ports"]


async def test_it_stands_back_from_another_writer(autojump_clock: object) -> None:
    """Who undoes each of its changes is left alone after a while, until something changes."""
    del autojump_clock
    async with controlled(SLICES) as running:
        client = running.client
        await add_node(client)
        await add_pod(client, "p", "10.1.0.1")
        await client.create(service())
        await running.settled()
        kind = client.kind("discovery.k8s.io/v1", "EndpointSlice")
        changed = trio.Event()
        prefix = kind.storage_prefix
        running.server.api.storage.informers.dispatcher.subscribe(prefix, lambda _: changed.set())

        async def undo() -> None:
            nonlocal changed
            while True:
                changed = trio.Event()
                for item in (await client.list(kind, label_selector=OF_S)).items:
                    if item["endpoints"] and item["endpoints"][0]["conditions"]["ready"]:
                        item["endpoints"][0]["conditions"]["ready"] = False
                        await client.update(item)
                await changed.wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(undo)
            await trio.sleep(24 * 3600)
            nursery.cancel_scope.cancel()
        assert running.writes.count < 20
        await make(client, "p", "False")
        await make(client, "p", "True")
        await running.settled()
        [item] = (await client.list(kind, label_selector=OF_S)).items
        assert item["endpoints"][0]["conditions"]["ready"] is True
