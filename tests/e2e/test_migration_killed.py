"""A server's objects moved to a real etcd and back, by processes that are killed meanwhile."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPSConnection
from operator import le
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
import yaml

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.requests import Get
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.kubeapiserver import ask, ask_on
from kubetrio.testing.process import ServerProcess, start

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(binary() is None, reason=MISSING)]
FOLDER = "/api/v1/namespaces/default"
OBJECTS = 600
TIMEOUT_S = 120


class Own(NamedTuple):
    """A server, as `ask` takes it."""

    process: ServerProcess

    @property
    def headers(self) -> dict[str, str]:
        """No headers: the certificate says who asks."""
        return {}

    def connection(self) -> HTTPSConnection:
        """An administrator's connection."""
        made = self.process.data_dir / "pki"
        context = ssl.create_default_context(cafile=str(made / "ca.crt"))
        context.load_cert_chain(made / "admin.crt", made / "admin.key")
        return HTTPSConnection("127.0.0.1", self.process.port, timeout=60, context=context)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd of one member."""
    with etcd(tmp_path / "etcd") as running:
        yield running


def command(direction: str, data: Path, cluster: Etcd, *flags: str) -> list[str]:
    where = ("--data-dir", str(data), "--etcd-servers", cluster.urls[0])
    return [sys.executable, "-m", "kubetrio", "migrate", direction, *where, *flags]


def migrate(direction: str, data: Path, cluster: Etcd, *flags: str) -> str:
    """Copy to the end; return what is printed."""
    done = subprocess.run(
        command(direction, data, cluster, *flags),
        check=False, capture_output=True, text=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def killed(
    direction: str, data: Path, cluster: Etcd, reached: Callable[[int], bool], *flags: str
) -> int:
    """Begin a copy, and kill it at a number of keys in etcd; return its exit code.

    Args:
        direction: of the copy.
        data: data directory.
        cluster: etcd.
        reached: whether it is to be killed, given the number of keys.
        flags: further flags.
    """
    process = subprocess.Popen(command(direction, data, cluster, *flags), stderr=subprocess.DEVNULL)

    async def look() -> None:
        async with open_client(ClientSettings(endpoints=tuple(cluster.urls)), Env()) as client:
            everything = Get(key=b"/registry/", end=b"/registry0", count_only=True)
            while process.poll() is None:
                if reached((await client.range(everything)).total):
                    process.kill()
                    return
                await trio.sleep(0.002)

    trio.run(look)
    return process.wait(timeout=TIMEOUT_S)


def exported(data: Path, *flags: str) -> dict[str, Any]:
    """All objects of a data directory, as they are stored."""
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", "export", "--all", "--raw", "--secrets",
         "--data-dir", str(data), *flags],
        check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    return {
        f"{obj['kind']} {obj['metadata'].get('namespace')}/{obj['metadata']['name']}": obj
        for obj in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)
    }


def unnumbered(objects: dict[str, Any]) -> str:
    """Objects without resourceVersions, as text; members of maps in the order of their names."""
    for obj in objects.values():
        del obj["metadata"]["resourceVersion"]
    return json.dumps(objects, indent=1, sort_keys=True)


def test_there_and_back_again(cluster: Etcd, tmp_path: Path) -> None:
    """Killed at many moments; nothing is lost, uids and revisions are kept, and servers go on."""
    config = tmp_path / "encryption.yaml"
    config.write_text(
        "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
        "- resources: [secrets]\n  providers: [{aesgcm: {keys: [{name: a, secret: "
        "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=}]}}, {identity: {}}]\n"
    )
    flags = ("--encryption-provider-config", str(config))
    one, two = tmp_path / "one", tmp_path / "two"
    server = Own(start(one, tmp_path / "one.log", *flags))
    try:
        with closing(server.connection()) as connection:
            for number in range(OBJECTS):
                kind, more = ("Secret", "stringData") if number % 3 == 0 else ("ConfigMap", "data")
                body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"n{number}"}}
                path, content = f"{FOLDER}/{kind.lower()}s", {**body, more: {"a": str(number)}}
                assert ask_on(connection, {}, "POST", path, content).status == 201
                if number % 5 == 0:
                    gone = f"{path}/n{number}"
                    assert ask_on(connection, {}, "DELETE", gone).status == 200
    finally:
        server.process.stop()
    before = exported(one, *flags)
    for part in (1, 100, 250, 400):
        assert killed("to-etcd", one, cluster, partial(le, part), *flags) == -9
    assert "from an interrupted copy" in migrate("to-etcd", one, cluster, *flags)
    incomplete = two / "kubetrio.db.migration"
    assert killed("from-etcd", two, cluster, lambda _: incomplete.exists(), *flags) == -9
    assert not (two / "kubetrio.db").exists()
    migrate("from-etcd", two, cluster, *flags)
    after = exported(two, *flags)
    moved = [
        name
        for name, obj in before.items()
        if obj["metadata"]["resourceVersion"] != after[name]["metadata"]["resourceVersion"]
    ]
    assert len(moved) <= 5, moved
    assert unnumbered(before) == unnumbered(after)
    replica = Own(
        start(tmp_path / "three", tmp_path / "three.log", "--etcd-servers", cluster.urls[0], *flags)
    )
    back = Own(start(two, tmp_path / "two.log", *flags))
    try:
        for each in (replica, back):
            read = ask(each, "GET", f"{FOLDER}/secrets/n3").body
            assert read["metadata"]["uid"] == before["Secret default/n3"]["metadata"]["uid"]
            assert read["data"] == {"a": "Mw=="}
            old = ask(each, "GET", f"{FOLDER}/configmaps?watch=1&resourceVersion=5")
            assert '"code":410' in json.dumps(old.body).replace(" ", "")
    finally:
        replica.process.kill()
        back.process.kill()
