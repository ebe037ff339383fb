"""Servers on a real etcd, as processes: replicas share what is stored, and outlive each other."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.requests import Get
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.process import ServerProcess, start

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
TRIES = 200  # of 0.1 s


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd of one member."""
    if binary() is None:
        pytest.skip(MISSING)
    with etcd(tmp_path / "etcd") as running:
        yield running


@pytest.fixture
def replicas(cluster: Etcd, tmp_path: Path) -> Iterator[list[ServerProcess]]:
    """Two servers on it."""
    with ExitStack() as stack:
        servers = []
        for name in ("one", "two"):
            flags = ("--etcd-servers", cluster.urls[0], "--request-timeout", "5s")
            server = start(tmp_path / name, tmp_path / f"{name}.log", *flags)
            stack.callback(server.kill)
            servers.append(server)
        yield servers


class Answer(NamedTuple):
    """What a server answers."""

    status: int
    body: Any


def connection_to(server: ServerProcess) -> HTTPSConnection:
    """An administrator's connection, which stays open from answer to answer."""
    made = server.data_dir / "pki"
    context = ssl.create_default_context(cafile=str(made / "ca.crt"))
    context.load_cert_chain(made / "admin.crt", made / "admin.key")
    return HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context)


def ask_on(connection: HTTPSConnection, method: str, path: str, body: Any = None) -> Answer:
    """Ask on a connection; status 0 where nothing answers."""
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
    except (OSError, HTTPException) as error:
        return Answer(0, str(error))
    parsed = json.loads(text) if text.startswith(b"{") else text.decode()
    return Answer(response.status, parsed)


def ask(server: ServerProcess, method: str, path: str, body: Any = None) -> Answer:
    """Ask as administrator, on a connection of its own; status 0 where nothing answers."""
    with closing(connection_to(server)) as connection:
        return ask_on(connection, method, path, body)


def until(server: ServerProcess, path: str, status: int) -> None:
    """Ask until a status comes."""
    seen = Answer(-1, None)

    async def look() -> None:
        nonlocal seen
        for _ in range(TRIES):
            seen = ask(server, "GET", path)
            if seen.status == status:
                return
            await trio.sleep(0.1)

    trio.run(look)
    assert seen.status == status, seen.body


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_replicas_have_one_state(replicas: list[ServerProcess]) -> None:
    """What one has written the other reads, changes and deletes; conflicts are found."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(closing(connection_to(each))) for each in replicas)
        for number in range(20):
            name = f"c{number}"
            assert ask_on(one, "POST", CONFIGMAPS, config_map(name, a="1")).status == 201
            read = ask_on(two, "GET", f"{CONFIGMAPS}/{name}")
            assert read.body["data"] == {"a": "1"}
            newer = {**read.body, "data": {"a": "2"}}
            assert ask_on(two, "PUT", f"{CONFIGMAPS}/{name}", newer).status == 200
            assert ask_on(one, "PUT", f"{CONFIGMAPS}/{name}", newer).status == 409
            assert ask_on(one, "DELETE", f"{CONFIGMAPS}/{name}").status == 200
            assert ask_on(two, "GET", f"{CONFIGMAPS}/{name}").status == 404
    lists = [ask(server, "GET", CONFIGMAPS).body["items"] for server in replicas]
    assert lists[0] == lists[1]


def test_a_killed_replica_costs_the_other_nothing(
    replicas: list[ServerProcess], tmp_path: Path, cluster: Etcd
) -> None:
    """What it has acknowledged is there; a new one begins with all of it."""
    one, two = replicas
    made = [config_map(f"c{number}") for number in range(10)]
    assert [ask(one, "POST", CONFIGMAPS, each).status for each in made] == [201] * 10
    one.kill()
    names = {each["metadata"]["name"] for each in ask(two, "GET", CONFIGMAPS).body["items"]}
    assert names >= {each["metadata"]["name"] for each in made}
    flags = ("--etcd-servers", cluster.urls[0])
    three = start(tmp_path / "three", tmp_path / "three.log", *flags)
    try:
        assert (
            ask(three, "GET", CONFIGMAPS).body["items"]
            == (ask(two, "GET", CONFIGMAPS).body["items"])
        )
    finally:
        three.kill()


@pytest.mark.slow
def test_replicas_outlive_their_etcd(replicas: list[ServerProcess], cluster: Etcd) -> None:
    """Without it nothing is answered that may be old; when it is back, all is as before."""
    one, two = replicas
    assert ask(one, "POST", CONFIGMAPS, config_map("before")).status == 201
    [member] = cluster.members
    member.kill()
    until(one, "/readyz", 500)
    assert ask(two, "GET", f"{CONFIGMAPS}/before").status in (500, 503, 504)
    assert ask(two, "POST", CONFIGMAPS, config_map("during")).status in (500, 503, 504)
    cluster.restart(member)
    until(one, "/readyz", 200)
    until(two, "/readyz", 200)
    assert ask(two, "GET", f"{CONFIGMAPS}/before").status == 200
    assert ask(one, "POST", CONFIGMAPS, config_map("after")).status == 201
    assert ask(two, "GET", f"{CONFIGMAPS}/after").status == 200


def test_etcd_has_what_kube_apiserver_would_have(
    replicas: list[ServerProcess], cluster: Etcd
) -> None:
    """Keys by resource; protobuf in an envelope, without a resourceVersion."""
    assert ask(replicas[0], "POST", CONFIGMAPS, config_map("c", a="1")).status == 201

    async def read() -> bytes:
        settings = ClientSettings(endpoints=tuple(cluster.urls))
        async with open_client(settings, Env()) as client:
            answer = await client.range(Get(key=b"/registry/configmaps/default/c"))
            return answer.kvs[0].value

    value = trio.run(read)
    assert value.startswith(b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12")
    assert b"resourceVersion" not in value
