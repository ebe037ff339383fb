"""The engine of etcd: a whole server on a model of it, with encryption, and refused flags."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.datadir.etcdmapping import object_mapping
from kubetrio.encryption.control import Encryption
from kubetrio.encryption.providers import read
from kubetrio.env import Env, seeded
from kubetrio.server.engines.etcd import opened
from kubetrio.server.parts import Parts
from kubetrio.store.cipher import Cipher
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.testing.client import Client
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model
from kubetrio.testing.server import in_memory, open_api

SECRETS = "/api/v1/namespaces/default/secrets"
ONE = f"{SECRETS}/one"
PLACE = b"/registry/secrets/default/one"
SETTINGS = ReplicaSettings(client=ClientSettings(endpoints=("http://etcd",)))
HEAD = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
PLAIN = "{identity: {}}"


def keys(provider: str, *letters: str) -> str:
    """One provider with keys by a letter each."""
    items = [
        f"{{name: {letter}, secret: {base64.b64encode(letter.encode() * 32).decode()}}}"
        for letter in letters
    ]
    return f"{{{provider}: {{keys: [{', '.join(items)}]}}}}"


def prepared(directory: Path) -> Path:
    """A path for a configuration."""
    directory.mkdir(exist_ok=True)
    return directory / "encryption.yaml"


def mapping_of(cipher: Cipher) -> Mapping:
    return object_mapping("/registry", "application/vnd.kubernetes.protobuf", cipher)


def write(path: Path, *providers: str) -> None:
    path.write_text(f"{HEAD}- resources: [secrets]\n  providers: [{', '.join(providers)}]\n")


@asynccontextmanager
async def served(
    directory: Path, model: EtcdModel, *providers: str, seed: int = 7
) -> AsyncIterator[Client]:
    """A server on a model, which reads its configuration of encryption again when it changes."""
    path = prepared(directory)
    write(path, *providers)
    config, env = in_memory(directory / "data"), seeded(seed)
    encryption = Encryption(path, read(path, reload=True), env, reload=True)

    @asynccontextmanager
    async def on_model(*_: Any) -> AsyncIterator[Any]:
        async with (
            encryption.cipher() as cipher,
            open_store(SETTINGS, mapping_of(cipher), env, dial=model.dial) as store,
        ):
            yield store

    async with (
        open_api(config=config, parts=Parts(open_store=on_model)) as server,
        server.connect() as client,
    ):
        yield client


def secret(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "stringData": {"password": "hunter2"}, **more}


def prefix(model: EtcdModel) -> bytes:
    """What the value of the Secret begins with."""
    newest = model.state()[PLACE].value
    head, _, _ = newest.partition(b":")
    return newest[: len(b"k8s:enc:aesgcm:v1:a:")] if head == b"k8s" else newest[:4]


async def test_servers_with_one_configuration(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What one has encrypted the other reads, lists and watches."""
    async with (
        etcd_model() as model,
        served(tmp_path / "a", model, keys("aesgcm", "a")) as one,
        served(tmp_path / "b", model, keys("aesgcm", "a"), seed=8) as two,
    ):
        made = await one.request("POST", SECRETS, json=secret())
        assert made.status == 201
        assert prefix(model) == b"k8s:enc:aesgcm:v1:a:"
        assert b"hunter2" not in model.state()[PLACE].value
        assert (await two.request("GET", ONE)).json() == made.json()
        listed = (await two.request("GET", SECRETS)).json()["items"]
        assert [item["data"] for item in listed] == [made.json()["data"]]
        changed = {**made.json(), "type": "Opaque", "data": {"password": "bmV3"}}
        assert (await two.request("PUT", ONE, json=changed)).status == 200
        assert (await one.request("GET", ONE)).json()["data"] == {"password": "bmV3"}


@pytest.mark.parametrize("then", [keys("aesgcm", "b"), keys("aescbc", "a"), PLAIN])
async def test_keys_are_rotated_by_writing_again(
    tmp_path: Path, autojump_clock: MockClock, then: str
) -> None:
    """An update that changes nothing writes with the first provider, once."""
    before = keys("aesgcm", "a")
    async with etcd_model() as model, served(tmp_path / "a", model, before) as client:
        made = (await client.request("POST", SECRETS, json=secret())).json()
        write(tmp_path / "a" / "encryption.yaml", then, before)
        await trio.sleep(30)
        read_back = (await client.request("GET", ONE)).json()
        assert read_back == made
        again = (await client.request("PUT", ONE, json=made)).json()
        assert again["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
        assert prefix(model) != b"k8s:enc:aesgcm:v1:a:"
        once_more = (await client.request("PUT", ONE, json=again)).json()
        assert once_more == again


async def test_a_key_that_is_missing(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Reads and writes of the value answer 500 in kube-apiserver's words, until it is back."""
    right, wrong = keys("aesgcm", "a"), keys("aesgcm", "b")
    async with etcd_model() as model:
        async with served(tmp_path / "a", model, right) as client:
            assert (await client.request("POST", SECRETS, json=secret())).status == 201
        async with served(tmp_path / "b", model, wrong, PLAIN) as client:
            why = "no matching key was found for the provided AES transformer"
            for method in ("GET", "DELETE"):
                answer = await client.request(method, ONE)
                assert answer.status == 500
                assert answer.json()["message"] == f"Internal error occurred: {why}"
            answer = await client.request("GET", SECRETS)
            assert answer.status == 500
            assert answer.json()["message"] == (
                f'Internal error occurred: unable to transform key "{PLACE.decode()}": {why}'
            )
            write(tmp_path / "b" / "encryption.yaml", wrong, right)
            await trio.sleep(30)
            assert (await client.request("GET", ONE)).status == 200
            assert len((await client.request("GET", SECRETS)).json()["items"]) == 1


async def test_a_prefix_that_is_empty(tmp_path: Path) -> None:
    """It is refused before etcd is asked."""
    config = in_memory(tmp_path)
    storage = replace(config.storage, etcd_prefix="/", etcd_servers=("http://127.0.0.1:1",))
    with pytest.raises(StoreUnavailable, match="--etcd-prefix: it is empty"):
        async with opened(replace(config, storage=storage), Env()):
            raise AssertionError("it is not opened")
