"""The Service and endpoints of the server itself, on one that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from kubetrio.client.client import Client
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess, in_memory, open_api

Object = dict[str, Any]
ENDPOINTS, SLICE = ("v1", "Endpoints"), ("discovery.k8s.io/v1", "EndpointSlice")
SERVICE = ("v1", "Service")


@pytest.fixture
async def kept() -> AsyncIterator[InProcess]:
    """A server that does what servers do of their own accord."""
    async with open_api(kept=True) as server:
        await wait_all_tasks_blocked()
        yield server


async def read(client: Client, what: tuple[str, str]) -> Object:
    """One of the objects when all is quiet."""
    await wait_all_tasks_blocked()
    return await client.get(client.kind(*what), "kubernetes", "default")


@pytest.mark.parametrize("what", [SERVICE, ENDPOINTS, SLICE])
async def test_what_is_deleted_comes_back(kept: InProcess, what: tuple[str, str]) -> None:
    """At once, and as it was."""
    client = kept.client()
    before = await read(client, what)
    await client.delete(client.kind(*what), "kubernetes", "default")
    after = await read(client, what)
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    for member in ("spec", "subsets", "endpoints", "ports"):
        assert before.get(member) == after.get(member)


async def test_endpoints_lead_to_the_server(kept: InProcess) -> None:
    """Whatever somebody else writes into them."""
    client = kept.client()
    for what, change in (
        (ENDPOINTS, {"subsets": [{"addresses": [{"ip": "192.0.2.7"}]}]}),
        (SLICE, {"endpoints": [{"addresses": ["192.0.2.7"]}]}),
    ):
        before = await read(client, what)
        await client.patch(client.kind(*what), "kubernetes", change, "default")
        after = await read(client, what)
        assert before["metadata"]["uid"] == after["metadata"]["uid"]
        for member in ("subsets", "endpoints", "ports"):
            assert before.get(member) == after.get(member)


async def test_a_service_that_is_there_is_left_alone(kept: InProcess) -> None:
    """As in kube-apiserver: it is made, and not corrected."""
    client = kept.client()
    change = {"spec": {"sessionAffinity": "ClientIP"}, "metadata": {"labels": {"mine": "1"}}}
    await client.patch(client.kind(*SERVICE), "kubernetes", change, "default")
    after = await read(client, SERVICE)
    assert after["spec"]["sessionAffinity"] == "ClientIP"
    assert after["metadata"]["labels"]["mine"] == "1"


async def test_nothing_is_written_without_need(kept: InProcess) -> None:
    """A server on which nobody writes stays at its revision."""
    before = kept.api.storage.store.revision
    await wait_all_tasks_blocked()
    assert kept.api.storage.store.revision == before


async def test_endpoints_are_what_others_write(tmp_path: Path) -> None:
    """With the reconciler none, as in kube-apiserver: the Service is made, and nothing else."""
    config = in_memory(tmp_path)
    serving = replace(config.serving, endpoint_reconciler="none")
    async with open_api(config=replace(config, serving=serving), kept=True) as server:
        client = server.client()
        assert (await read(client, SERVICE))["spec"]["clusterIP"] == "10.0.0.1"
        for what in (ENDPOINTS, SLICE):
            with pytest.raises(ApiError) as refused:
                await read(client, what)
            assert refused.value.code == 404
        written = {
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default"},
            "subsets": [{"addresses": [{"ip": "192.0.2.7"}]}],
        }  # fmt: skip
        await client.create(written)
        assert (await read(client, ENDPOINTS))["subsets"] == written["subsets"]
