"""A real kube-apiserver beside servers on one real etcd, all of which encrypt what is stored.

The files name several providers, each for another resource, so that one start of kube-apiserver
shows all of them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
from beside import Own

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.requests import Get, Put
from kubetrio.testing import kubeapiserver
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.kms import Plugin, serving
from kubetrio.testing.kubeapiserver import Answer, KubeApiServer, ask, kube_apiserver
from kubetrio.testing.process import start

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(binary() is None, reason=MISSING),
    pytest.mark.skipif(kubeapiserver.binary() is None, reason=kubeapiserver.MISSING),
]
pytest.importorskip("grpc", reason="the extra kms is not installed")
pytest.importorskip("nacl", reason="the extra secretbox is not installed")

Json = dict[str, Any]
PLAIN: Json = {"identity": {}}
FOLDER = "/api/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
TRIES = 200  # of 0.1 s


class Setting(NamedTuple):
    """What runs.

    Args:
        cluster: etcd.
        kube: the kube-apiserver.
        own: a server with the same file.
        newer: a server whose file has further keys in front.
    """

    cluster: Etcd
    kube: KubeApiServer
    own: Own
    newer: Own


def keys(provider: str, *letters: str) -> Json:
    items = [
        {"name": letter, "secret": base64.b64encode(letter.encode() * 32).decode()}
        for letter in letters
    ]
    return {provider: {"keys": items}}


def write(path: Path, rules: dict[str, Sequence[Json]]) -> str:
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {"resources": [resource], "providers": list(providers)}
            for resource, providers in rules.items()
        ],
    }
    path.write_text(json.dumps(content))
    return str(path)


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    """One kube-apiserver and two servers of this project on one etcd."""
    folder = tmp_path_factory.mktemp("e")
    socket = folder / "kms.sock"
    plugin: Json = {"apiVersion": "v2", "name": "plug", "endpoint": f"unix://{socket}"}
    kms: Json = {"kms": {**plugin, "timeout": "3s"}}
    both: dict[str, Sequence[Json]] = {
        "secrets": [keys("aescbc", "a", "b"), keys("aesgcm", "b"), PLAIN],
        "configmaps": [keys("aesgcm", "a", "b"), PLAIN],
        "serviceaccounts": [keys("secretbox", "a", "b"), PLAIN],
        "services": [keys("aesgcm", "a"), PLAIN],
        "leases.coordination.k8s.io": [kms, keys("aesgcm", "b"), PLAIN],
        "limitranges": [PLAIN, keys("aesgcm", "a")],
    }
    rotated: dict[str, Sequence[Json]] = {
        **both,
        "secrets": [keys("aesgcm", "b"), keys("aescbc", "a")],
        "configmaps": [keys("aesgcm", "b", "a"), PLAIN],
        "serviceaccounts": [PLAIN, keys("secretbox", "a", "b")],
        "leases.coordination.k8s.io": [keys("aesgcm", "b"), kms, PLAIN],
        "limitranges": [keys("aesgcm", "a"), PLAIN],
    }
    flag = "--encryption-provider-config"
    with ExitStack() as stack:
        stack.enter_context(serving(Plugin(), socket))
        cluster = stack.enter_context(etcd(folder / "etcd"))
        url, first = cluster.urls[0], write(folder / "both.json", both)
        kube = stack.enter_context(kube_apiserver(folder / "kube", url, flag, first))
        servers = []
        for name, file in (("own", first), ("newer", write(folder / "rotated.json", rotated))):
            process = start(
                folder / name, folder / f"{name}.log", "--etcd-servers", url, flag, file
            )
            stack.callback(process.kill)
            servers.append(Own(process))
        yield Setting(cluster, kube, *servers)


def stored(setting: Setting, key: str) -> bytes:
    """What etcd has of a key."""

    async def read() -> bytes:
        async with open_client(ClientSettings(endpoints=tuple(setting.cluster.urls)), Env()) as one:
            [kv] = (await one.range(Get(key=key.encode()))).kvs
            return kv.value

    return trio.run(read)


def put(setting: Setting, key: str, value: bytes) -> None:
    """Write a key of etcd."""

    async def write_it() -> None:
        async with open_client(ClientSettings(endpoints=tuple(setting.cluster.urls)), Env()) as one:
            await one.txn([], [Put(key.encode(), value)])

    trio.run(write_it)


OBJECTS: dict[str, tuple[str, str, Json, bytes, bytes]] = {
    "secrets": (
        FOLDER,
        "/registry/secrets/default",
        {"kind": "Secret", "stringData": {"a": "hunter2"}},
        b"k8s:enc:aescbc:v1:a:",
        b"k8s:enc:aesgcm:v1:b:",
    ),
    "configmaps": (
        FOLDER,
        "/registry/configmaps/default",
        {"kind": "ConfigMap", "data": {"a": "hunter2" * 5000}},
        b"k8s:enc:aesgcm:v1:a:",
        b"k8s:enc:aesgcm:v1:b:",
    ),
    "serviceaccounts": (
        FOLDER,
        "/registry/serviceaccounts/default",
        {"kind": "ServiceAccount", "automountServiceAccountToken": False},
        b"k8s:enc:secretbox:v1:a:",
        b"k8s\0",
    ),
    "services": (
        FOLDER,
        "/registry/services/specs/default",
        {"kind": "Service", "spec": {"type": "NodePort", "ports": [{"port": 80}]}},
        b"k8s:enc:aesgcm:v1:a:",
        b"k8s:enc:aesgcm:v1:a:",
    ),
    "leases": (
        LEASES.rpartition("/")[0],
        "/registry/leases/default",
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "x"}},
        b"k8s:enc:kms:v2:plug:",
        b"k8s:enc:aesgcm:v1:b:",
    ),
    "limitranges": (
        FOLDER,
        "/registry/limitranges/default",
        {"kind": "LimitRange", "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}},
        b"k8s\0",
        b"k8s:enc:aesgcm:v1:a:",
    ),
}
"""Of each resource: its path, its folder in etcd, an object, and how it is stored by each file."""


@pytest.mark.parametrize("resource", OBJECTS)
def test_each_reads_what_the_other_wrote(setting: Setting, resource: str) -> None:
    """Both ways: the same object, and the prefix of the same provider in etcd."""
    path, folder, body, prefix, _ = OBJECTS[resource]
    for writer, reader, name in (
        (setting.kube, setting.own, "from-kube"),
        (setting.own, setting.kube, "from-own"),
    ):
        obj = {"apiVersion": "v1", **body, "metadata": {"name": name}}
        made = ask(writer, "POST", f"{path}/{resource}", obj)
        assert made.status == 201, made.body
        assert stored(setting, f"{folder}/{name}").startswith(prefix)
        there = f"{path}/{resource}/{name}"
        assert ask(reader, "GET", there) == Answer(200, made.body)
        listed = [
            item
            for item in ask(reader, "GET", f"{path}/{resource}").body["items"]
            if item["metadata"]["name"] == name
        ]
        assert [item["metadata"] for item in listed] == [made.body["metadata"]]
        labels = {"metadata": {"labels": {"changed": "yes"}}}
        changed = ask(reader, "PATCH", there, labels, "application/merge-patch+json")
        assert changed.status == 200, changed.body
        assert ask(writer, "GET", there).body == changed.body


@pytest.mark.parametrize("resource", OBJECTS)
def test_keys_are_rotated_by_writing_again(setting: Setting, resource: str) -> None:
    """A server with another first provider writes with it what has not changed, once."""
    path, folder, body, before, after = OBJECTS[resource]
    obj = {"apiVersion": "v1", **body, "metadata": {"name": "rotated"}}
    made = ask(setting.kube, "POST", f"{path}/{resource}", obj)
    assert made.status == 201, made.body
    there, key = f"{path}/{resource}/rotated", f"{folder}/rotated"
    again = ask(setting.newer, "PUT", there, made.body)
    assert again.status == 200, again.body
    assert stored(setting, key).startswith(after)
    was, now = (each.body["metadata"]["resourceVersion"] for each in (made, again))
    assert (was != now) is (before != after)
    assert ask(setting.newer, "PUT", there, again.body).body == again.body
    assert ask(setting.kube, "GET", there) == Answer(200, again.body)
    back = ask(setting.kube, "PUT", there, again.body)
    assert back.status == 200, back.body
    assert stored(setting, key).startswith(before)
    assert ask(setting.newer, "GET", there) == Answer(200, back.body)


def test_what_cannot_be_read_is_answered_as_there(setting: Setting) -> None:
    """An unknown key, a value of another key's place, an unknown provider: GET, LIST and DELETE."""
    folder = "/registry/secrets/unreadable"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "unreadable"}}
    assert ask(setting.kube, "POST", "/api/v1/namespaces", space).status == 201
    path = "/api/v1/namespaces/unreadable/secrets"
    for body in ({"a": "one"}, {"a": "two"}):
        obj = {"apiVersion": "v1", "kind": "Secret", "stringData": body}
        made = ask(setting.newer, "POST", path, {**obj, "metadata": {"name": body["a"]}})
        assert made.status == 201, made.body
    elsewhere = stored(setting, f"{folder}/two")
    for name, value in {
        "bad": b"k8s:enc:aescbc:v1:other:abcdefgh",
        "moved": elsewhere,
        "other": b"k8s:enc:unknown:v1:a:abcdefgh",
    }.items():
        put(setting, f"{folder}/{name}", value)
    for method, where in (
        ("GET", f"{path}/bad"),
        ("GET", f"{path}/moved"),
        ("GET", f"{path}/other"),
        ("GET", f"{path}/one"),
        ("GET", path),
        ("DELETE", f"{path}/bad"),
    ):
        theirs, ours = ask(setting.kube, method, where), ask(setting.own, method, where)
        assert ours == theirs, where
        assert ours.status == (200 if where.endswith("/one") else 500)
