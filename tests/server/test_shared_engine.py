"""Two whole servers on one engine that both write to: what they share is stored."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.allocation.storedports import KEY as PORTS
from kubetrio.informers.election import Election
from kubetrio.server.parts import Parts
from kubetrio.store.model import Event
from kubetrio.testing.client import Client
from kubetrio.testing.lagging import RemoteStore, lagging
from kubetrio.testing.server import InProcess, in_memory, open_api

SERVICES = "/api/v1/namespaces/default/services"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
LEASE_S = Election(name="", identity="").lease_s
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubetrio-controllers"


class Two:
    """Two servers, and a client of each.

    Args:
        servers: the servers.
        clients: of them.
        remote: the engine that they share.
    """

    def __init__(
        self, servers: list[InProcess], clients: list[Client], remote: RemoteStore
    ) -> None:
        self.servers = servers
        self.clients = clients
        self.remote = remote


@asynccontextmanager
async def two(
    directory: Path,
    delay_s: Callable[[], float] = lambda: 0.05,
    *,
    controllers: bool = False,
) -> AsyncIterator[Two]:
    """Two servers whose local states are behind what is stored."""
    remote = RemoteStore()
    async with AsyncExitStack() as stack:
        servers, clients = [], []
        for name in ("one", "two"):
            store = await stack.enter_async_context(lagging(remote, delay_s))
            server = await stack.enter_async_context(
                open_api(
                    config=in_memory(directory / name),
                    parts=Parts(open_store=lambda *_, store=store: store.opened()),
                    kept=controllers,
                )
            )
            servers.append(server)
            clients.append(await stack.enter_async_context(server.connect()))
        yield Two(servers, clients, remote)


def service(name: str, **port: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "ports": [{"port": 80, **port}]},
    }


def node_port(body: dict[str, Any]) -> int:
    port: int = body["spec"]["ports"][0]["nodePort"]
    return port


async def test_what_one_writes_the_other_reads(tmp_path: Path, autojump_clock: MockClock) -> None:
    """At once: a consistent read waits for the newest revision."""
    async with two(tmp_path) as both:
        one, other = both.clients
        for number in range(20):
            body = {"metadata": {"name": f"c{number}"}}
            assert (await one.request("POST", CONFIGMAPS, json=body)).status == 201
            assert (await other.request("GET", f"{CONFIGMAPS}/c{number}")).status == 200
            assert (await other.request("DELETE", f"{CONFIGMAPS}/c{number}")).status == 200
            assert (await one.request("GET", f"{CONFIGMAPS}/c{number}")).status == 404


async def test_node_ports_are_given_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The same port at both servers in the same moment: one has it, one is told."""
    async with two(tmp_path) as both:
        answers: list[tuple[int, Any]] = []

        async def create(client: Client, name: str, port: int) -> None:
            answer = await client.request("POST", SERVICES, json=service(name, nodePort=port))
            answers.append((answer.status, answer.json()))

        for round_ in range(5):
            answers.clear()
            async with trio.open_nursery() as nursery:
                for number, client in enumerate(both.clients):
                    nursery.start_soon(create, client, f"s{round_}-{number}", 30100 + round_)
            assert sorted(status for status, _ in answers) == [201, 422]
            [refused] = [body for status, body in answers if status == 422]
            assert refused["message"].endswith("provided port is already allocated")


async def test_node_ports_that_are_chosen_differ(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Both servers choose alike, since they have the same seed; addresses differ, too."""
    async with two(tmp_path) as both:
        made: list[Any] = []

        async def create(client: Client, name: str) -> None:
            answer = await client.request("POST", SERVICES, json=service(name))
            assert answer.status == 201, answer.json()
            made.append(answer.json())

        async with trio.open_nursery() as nursery:
            for number in range(10):
                for which, client in enumerate(both.clients):
                    nursery.start_soon(create, client, f"s{which}-{number}")
        assert len({node_port(body) for body in made}) == 20
        assert len({body["spec"]["clusterIP"] for body in made}) == 20


async def test_a_port_is_free_when_its_service_is_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """At the other server, too; and when a service no longer asks for it."""
    async with two(tmp_path) as both:
        one, other = both.clients
        wanted = service("a", nodePort=30200)
        assert (await one.request("POST", SERVICES, json=wanted)).status == 201
        assert (await other.request("DELETE", f"{SERVICES}/a")).status == 200
        assert (await one.request("POST", SERVICES, json=wanted)).status == 201
        body = (await other.request("GET", f"{SERVICES}/a")).json()
        body["spec"]["ports"][0]["nodePort"] = 30201
        assert (await other.request("PUT", f"{SERVICES}/a", json=body)).status == 200
        again = service("b", nodePort=30200)
        assert (await one.request("POST", SERVICES, json=again)).status == 201


async def is_taken(server: InProcess, port: int) -> bool:
    """Whether the store says that a node port is taken."""
    stored = await server.api.storage.store.get(PORTS)
    assert stored is not None
    data = base64.b64decode(orjson.loads(stored.value)["data"])
    return bool(int.from_bytes(data, "big") >> (port - 30000) & 1)


async def test_what_another_server_takes_is_not_let_go_of(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Neither by an update that keeps a port, nor by a dry run that fails after it."""
    async with two(tmp_path) as both:
        one, other = both.servers
        kept, tried = service("a", nodePort=30210), service("b", nodePort=30211)
        async with one.api.writes.allocators.writing(deepcopy(kept), kept, dry_run=False):
            # Meanwhile the service gave it up, and a service that is not stored yet has it.
            await other.api.writes.allocators._stored_ports.take([30210])
        assert await is_taken(one, 30210)

        async def refused() -> None:
            async with one.api.writes.allocators.writing(tried, None, dry_run=True):
                await other.api.writes.allocators._stored_ports.take([30211])
                assert await is_taken(one, 30211)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await refused()
        assert await is_taken(one, 30211)


async def test_what_a_stored_service_has_is_kept(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Though its writer was cancelled before it heard that the service is stored."""
    async with two(tmp_path, lambda: 1.0) as both:
        one, other = both.servers
        key = "/registry/services/specs/default/a"

        async def create() -> None:
            async with one.connect() as client:
                await client.request("POST", SERVICES, json=service("a", nodePort=30220))

        stored_there = trio.Event()

        def note(events: Sequence[Event]) -> None:
            if any(event.key == key for event in events):
                stored_there.set()

        both.remote.on_commit(note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(create)
            await stored_there.wait()
            nursery.cancel_scope.cancel()
        stored = (await both.clients[1].request("GET", f"{SERVICES}/a")).json()
        assert await is_taken(other, 30220)
        path = f"/apis/networking.k8s.io/v1/ipaddresses/{stored['spec']['clusterIP']}"
        assert (await both.clients[1].request("GET", path)).status == 200


async def test_one_of_them_runs_the_controllers(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The other follows when it is gone: a namespace is emptied by whoever leads."""
    async with two(tmp_path, controllers=True) as both:
        one, other = both.clients
        await trio.sleep(2 * LEASE_S)
        first = (await one.request("GET", LEASE)).json()["spec"]["holderIdentity"]
        await trio.sleep(4 * LEASE_S)
        assert (await other.request("GET", LEASE)).json()["spec"]["holderIdentity"] == first
        body = {"metadata": {"name": "n"}}
        assert (await one.request("POST", "/api/v1/namespaces", json=body)).status == 201
        assert (await other.request("DELETE", "/api/v1/namespaces/n")).status == 200
        await trio.sleep(30)
        assert (await one.request("GET", "/api/v1/namespaces/n")).status == 404
