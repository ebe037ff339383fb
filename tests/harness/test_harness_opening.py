"""One call opens a whole server, from a seed."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.faults import Rule
from kubetrio.harness import BadAnswer, Fault, Harness, Setup, open_harness, run
from kubetrio.machinery.status import ApiError
from kubetrio.server import ResetError

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"
PATHS = [
    "/api/v1/configmaps", "/api/v1/serviceaccounts", "/apis/coordination.k8s.io/v1/leases",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/rbac.authorization.k8s.io/v1/roles",
]  # fmt: skip


def configmap(name: str) -> Object:
    """An object to write."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def answers(server: Harness) -> list[bytes]:
    """What a program does first: writes, a token, a day that passes, and what is there then."""
    heard = []
    async with server.connect() as client:
        made = await client.request("POST", MAPS, json={"metadata": {"generateName": "a-"}})
        heard += [made.body, (await client.request("POST", TOKEN, json={"spec": {}})).body]
        await server.clock.move(seconds=86400)
        heard += [(await client.request("GET", path)).body for path in PATHS]
    return heard


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_the_same_seed_gives_the_same_bytes(storage: str) -> None:
    """Tokens, authorities and the server's own Lease included; another seed gives others."""
    setup = Setup(seed=5, storage=storage)
    heard = run(answers, setup)
    assert b"kube-root-ca.crt" in heard[2]
    assert b'"status":{"token":"' in heard[1]
    assert b"apiserver-" in heard[4]
    assert run(answers, setup) == heard
    assert run(answers, setup.seeded(6)) != heard


async def test_the_handle_has_what_a_server_has(autojump_clock: MockClock) -> None:
    """Faults, snapshot, reset, settled and clock, by the same names."""
    async with open_harness() as server:
        client = server.client()
        snapshot = await server.snapshot()
        await client.create(configmap("a"))
        await server.reset(snapshot)
        server.faults.add(Rule(fault="503", resource="configmaps", count=1))
        for code in (503, 404):
            with pytest.raises(ApiError) as caught:
                await client.get(client.kind("v1", "ConfigMap"), "a", "default")
            assert caught.value.code == code
        before = server.env.now()
        await server.clock.move(seconds=60)
        await server.settled()
        assert server.env.now() - before == 60
        assert server.url == ""
        with pytest.raises(RuntimeError, match="no disk"):
            _ = server.disk


@pytest.mark.parametrize("storage", ["memory", "disk"])
async def test_a_restart_keeps_what_is_stored(storage: str, autojump_clock: MockClock) -> None:
    """Connections and snapshots end with the server; the handle goes on."""
    async with open_harness(Setup(storage=storage)) as server:
        made = await server.client().create(configmap("a"))
        snapshot, first = await server.snapshot(), server.server
        async with server.connect() as client:
            await server.restart()
            with pytest.raises((BadAnswer, OSError)):
                await client.request("GET", MAPS)
        assert server.server is not first
        again = server.client()
        assert await again.get(again.kind("v1", "ConfigMap"), "a", "default") == made
        with pytest.raises(ResetError, match="before its restart"):
            await server.reset(snapshot)


async def test_rules_of_the_setup_are_in_force_from_the_start(autojump_clock: MockClock) -> None:
    """Not for the server's own writes at its start, and again after a reset and a restart."""
    setup = Setup(faults=[Rule(fault="500", resource="configmaps", verb="create", count=1)])
    async with open_harness(setup) as server:
        snapshot = await server.snapshot()
        for again in (partial(server.reset, snapshot), server.restart, server.settled):
            with pytest.raises(ApiError, match="fault"):
                await server.client().create(configmap("a"))
            await again()


async def test_a_disk_that_fails_is_a_refusal(autojump_clock: MockClock) -> None:
    """The write is refused, and the server goes on when there is room again."""
    async with open_harness(Setup(storage="disk")) as server:
        server.disk.fault = Fault.FULL
        with pytest.raises(ApiError) as caught:
            await server.client().create(configmap("a"))
        assert caught.value.code >= 500
        server.disk.fault = Fault.NONE
        await trio.sleep(60)
        await server.client().create(configmap("b"))


def test_what_the_block_raises_leaves_it_as_it_is() -> None:
    """Not in a group."""

    async def fail(server: Harness) -> None:
        del server
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run(fail)


@pytest.mark.e2e
def test_a_socket_is_served_with_keys_of_its_own() -> None:
    """By a clock that runs, which can be moved."""

    async def look(server: Harness) -> tuple[str, object]:
        await server.clock.move(seconds=3600)
        return server.url, server.kubeconfig()

    setup = Setup(listen=True)
    (url, first), (_, second) = run(look, setup), run(look, setup)
    assert url.startswith("https://127.0.0.1:")
    assert first != second
