"""A replica that starts again goes on from the table it had, on a real etcd."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.remote import TABLE_NAME
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.process import ServerProcess, start

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(binary() is None, reason=MISSING)]
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
GOES_ON, COMPARES = "goes on from its copy", "takes what has not changed from its copy"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd of one member."""
    with etcd(tmp_path / "etcd") as running:
        yield running


def ask(server: ServerProcess, method: str, path: str, body: Any = None) -> list[Any]:
    """Ask a server; returns the documents of the answer, of which a watch has many."""
    connection = HTTPSConnection("127.0.0.1", server.port, timeout=30)
    connection.sock = server.connect()
    with closing(connection):
        connection.request(
            method, path, None if body is None else json.dumps(body),
            {"Content-Type": "application/json"},
        )  # fmt: skip
        response = connection.getresponse()
        text = response.read()
        assert response.status < 400, text
        return [json.loads(line) for line in text.splitlines()]


def write(server: ServerProcess, name: str) -> str:
    """Create a ConfigMap; returns its revision."""
    body = {"metadata": {"name": name}, "data": {"text": f"text of {name}"}}
    [made] = ask(server, "POST", CONFIGMAPS, body)
    return str(made["metadata"]["resourceVersion"])


def watched(server: ServerProcess, after: str, names: list[str]) -> str:
    """Watch until names have come, each once and in order; returns the last revision."""
    path = f"{CONFIGMAPS}?watch=1&resourceVersion={after}&timeoutSeconds=2"
    events = ask(server, "GET", path)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", name) for name in names
    ]
    return str(events[-1]["object"]["metadata"]["resourceVersion"])


def compact(cluster: Etcd, revision: int) -> None:
    """Have etcd forget what is older than a revision."""

    async def do() -> None:
        async with open_client(ClientSettings(endpoints=cluster.urls), Env()) as client:
            await client.compact(revision)

    trio.run(do)


@pytest.mark.slow
def test_watchers_go_on_when_a_replica_starts_again(cluster: Etcd, tmp_path: Path) -> None:
    """After a stop in order, and after a kill when etcd has compacted what came since the copy."""
    flags = ("--etcd-servers", ",".join(cluster.urls))
    other = start(tmp_path / "other", tmp_path / "other.log", *flags)
    one = start(tmp_path / "one", tmp_path / "one.log", *flags)
    try:
        secret = {"metadata": {"name": "s"}, "stringData": {"password": "not on the disk"}}
        [sealed] = ask(one, "POST", SECRETS, secret)
        first = write(one, "a")
        assert one.stop() == 0
        table = one.data_dir / TABLE_NAME
        data = table.read_bytes()
        assert stat.S_IMODE(table.stat().st_mode) == 0o600
        assert b"text of a" in data
        assert sealed["data"]["password"].encode() not in data
        write(other, "b")

        one = start(one.data_dir, tmp_path / "two.log", *flags)
        assert GOES_ON in one.log.read_text()
        write(one, "c")
        second = watched(one, first, ["b", "c"])
        assert ask(one, "GET", f"{SECRETS}/s") == [sealed]

        one.kill()
        assert table.read_bytes() == data
        last = write(other, "d")
        compact(cluster, int(last))
        one = start(one.data_dir, tmp_path / "three.log", *flags)
        assert COMPARES in one.log.read_text()
        third = write(one, "e")
        assert watched(one, last, ["e"]) == third
        assert int(second) < int(last)
        for path in (CONFIGMAPS, SECRETS, "/api/v1/namespaces", "/apis/apps/v1/deployments"):
            [mine], [its] = ask(one, "GET", path), ask(other, "GET", path)
            assert mine["items"] == its["items"]
    finally:
        one.kill()
        other.kill()
