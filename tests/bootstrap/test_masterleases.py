"""Which servers there are: keys with a time to live, and the endpoints that lead to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.bootstrap.masterleases import PREFIX, RENEW_S, TTL_S, MasterLeases
from kubetrio.resources.objects import restamp
from kubetrio.server.parts import Parts
from kubetrio.store.consistent import ConsistentStore
from kubetrio.store.model import Range
from kubetrio.testing.client import Client
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model
from kubetrio.testing.etcdstore import modelled
from kubetrio.testing.server import InProcess, in_memory, open_api

ONE, TWO = "10.0.0.1", "10.0.0.2"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


@asynccontextmanager
async def shared(*addresses: str) -> AsyncIterator[tuple[EtcdModel, list[MasterLeases]]]:
    """A model, and servers of it."""
    async with etcd_model() as model, modelled(model, restamp) as store:
        yield model, [MasterLeases(ConsistentStore(store), address) for address in addresses]


async def test_servers_find_each_other(autojump_clock: MockClock) -> None:
    """As long as each says that it is there."""
    async with shared(ONE, TWO) as (model, [one, two]):
        assert await one.addresses() == [ONE]
        await one.renew()
        await two.renew()
        assert await one.addresses() == await two.addresses() == [ONE, TWO]
        for _ in range(5):
            await trio.sleep(RENEW_S)
            await one.renew()
        assert await one.addresses() == [ONE]
        kv = model.state()[b"/t/" + PREFIX.encode() + ONE.encode()]
        assert kv.version == 6
        assert kv.lease


async def test_a_server_says_so_as_often_as_needed(autojump_clock: MockClock) -> None:
    """And at once where its key is missing."""
    async with shared(ONE) as (model, [one]):
        for _ in range(5):
            await one.renew()
        assert model.calls["Txn"] == 1
        model.delete(b"/t/" + PREFIX.encode() + ONE.encode())
        await trio.sleep(0.1)
        await one.renew()
        assert model.calls["Txn"] == 2
        assert RENEW_S < TTL_S


async def test_two_servers_of_one_address(autojump_clock: MockClock) -> None:
    """Share a key, and a write of one that comes between costs the other nothing."""
    async with shared(ONE, ONE) as (_, [one, other]):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.renew)
            nursery.start_soon(other.renew)
        assert await one.addresses() == [ONE]


async def test_a_server_that_goes(autojump_clock: MockClock) -> None:
    """Takes its key away, and does not come back."""
    async with shared(ONE, TWO) as (_, [one, two]):
        await one.renew()
        await two.renew()
        await one.stop()
        await one.renew()
        assert await two.addresses() == [TWO]
        await one.stop()


@asynccontextmanager
async def served(
    model: EtcdModel,
    directory: Path,
    stack: AsyncExitStack,
    address: str,
    port: int,
    reconciler: str = "lease",
) -> AsyncIterator[tuple[InProcess, Client]]:
    """A server of a model, at an address."""
    store = await stack.enter_async_context(modelled(model, restamp, port))

    @asynccontextmanager
    async def opened(*_: object) -> AsyncIterator[Any]:
        yield store

    config = in_memory(directory / str(port))
    serving = replace(
        config.serving, advertise_address=address, secure_port=port, endpoint_reconciler=reconciler
    )
    parts = Parts(open_store=opened)
    async with (
        open_api(config=replace(config, serving=serving), parts=parts, kept=True) as server,
        server.connect() as client,
    ):
        yield server, client


async def led_to(client: Client) -> tuple[list[str], list[str], int]:
    """Addresses of endpoints and of their slice, and the revision of the endpoints."""
    endpoints = (await client.request("GET", ENDPOINTS)).json()
    slice_ = (await client.request("GET", SLICE)).json()
    [subset] = endpoints["subsets"]
    return (
        [each["ip"] for each in subset["addresses"]],
        [ip for each in slice_["endpoints"] for ip in each["addresses"]],
        int(endpoints["metadata"]["resourceVersion"]),
    )


@pytest.mark.parametrize("second", [TWO, ONE])
async def test_endpoints_lead_to_all_servers(
    tmp_path: Path, autojump_clock: MockClock, second: str
) -> None:
    """Also where a server dies; and two that differ in ports do not write against each other."""
    async with etcd_model() as model, AsyncExitStack() as stack, AsyncExitStack() as one_stack:
        _, client = await stack.enter_async_context(served(model, tmp_path, stack, ONE, 6443))
        async with served(model, tmp_path, one_stack, second, 6444):
            await trio.sleep(30)
            addresses, slices, revision = await led_to(client)
            assert addresses == slices == sorted({ONE, second})
            await trio.sleep(60)
            assert (await led_to(client))[2] == revision
        await trio.sleep(60)
        addresses, slices, _ = await led_to(client)
        assert addresses == slices == [ONE]


async def test_what_is_there_is_an_endpoints_object(autojump_clock: MockClock) -> None:
    """As kube-apiserver's: with the address and a generation that grows."""
    async with etcd_model() as model, modelled(model, restamp) as store:
        one = MasterLeases(store, ONE)
        for _ in range(2):
            await one.renew()
            await trio.sleep(RENEW_S)
        [item] = (await store.range(Range.prefix(PREFIX))).items
        obj = orjson.loads(item.value)
        assert (obj["kind"], obj["metadata"]["generation"]) == ("Endpoints", 2)
        assert obj["subsets"] == [{"addresses": [{"ip": ONE}]}]


async def test_a_server_that_does_not_tell_is_not_led_to(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """With the reconciler none; nor does it touch the endpoints that others keep."""
    async with etcd_model() as model, AsyncExitStack() as stack, AsyncExitStack() as quiet_stack:
        _, client = await stack.enter_async_context(served(model, tmp_path, stack, ONE, 6443))
        async with served(model, tmp_path, quiet_stack, TWO, 6444, "none"):
            await trio.sleep(60)
            addresses, slices, _ = await led_to(client)
    assert addresses == slices == [ONE]


@pytest.mark.parametrize("bad", [ONE, TWO])
async def test_a_lease_that_cannot_be_read(
    tmp_path: Path, autojump_clock: MockClock, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Leaves the endpoints as they are, as with kube-apiserver; the server starts, and says so."""
    key = b"/t/" + PREFIX.encode() + bad.encode()
    async with etcd_model() as model, AsyncExitStack() as stack, AsyncExitStack() as other_stack:
        _, client = await stack.enter_async_context(served(model, tmp_path, stack, ONE, 6443))
        await trio.sleep(30)
        model.put(key, b"k8s:enc:?")
        async with served(model, tmp_path, other_stack, TWO, 6444):
            await trio.sleep(60)
            addresses, slices, _ = await led_to(client)
            assert addresses == slices == [ONE]
            told = [
                each for each in caplog.messages if "the lease of a server cannot be read" in each
            ]
            assert 2 <= len(told) <= 4  # by each server, and not each time that it looks
            model.delete(key)
            await trio.sleep(60)
            addresses, slices, _ = await led_to(client)
            assert addresses == slices == [ONE, TWO]
