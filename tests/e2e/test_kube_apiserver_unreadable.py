"""Values that neither can read, beside a real kube-apiserver on one real etcd.

A newer server may have written them, or they are damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any, NamedTuple

import pytest
import trio
from beside import Own

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.requests import Delete, Get, Put
from kubetrio.testing import kubeapiserver
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.kubeapiserver import Answer, HasConnection, ask, kube_apiserver
from kubetrio.testing.process import start
from kubetrio.wire import protowire

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(binary() is None, reason=MISSING),
    pytest.mark.skipif(kubeapiserver.binary() is None, reason=kubeapiserver.MISSING),
]

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            },
        }],
    },
}  # fmt: skip
TRIES = 300  # of 0.1 s
BUILD = "k8s.io/kubernetes/"
"""What the place of a scheme begins with in a kube-apiserver that was built from a module."""


def said(api_version: str, kind: str, **more: object) -> bytes:
    meta = {"name": "bad", "uid": "11111111-2222-3333-4444-555555555555"}
    return json.dumps({"kind": kind, "apiVersion": api_version, "metadata": meta, **more}).encode()


BUILT_IN: dict[str, bytes] = {
    "version": said("v9", "ConfigMap"),
    "kind": said("v1", "Gadget"),
    "other-kind": said("v1", "Secret"),
    "protobuf-version": protowire.wrap("v9", "ConfigMap", b""),
    "protobuf-kind": protowire.wrap("v1", "Gadget", b""),
    "protobuf-other-kind": protowire.wrap("v1", "Secret", b""),
    "protobuf-short": protowire.wrap("v1", "ConfigMap", b"\x0a\xff"),
    "protobuf-damaged": protowire.wrap("v1", "ConfigMap", b"garbage garbage"),
    "envelope": b"k8s\0\x0a\xffgarbage",
    "envelope-empty": b"k8s\0",
    "garbage": b"garbage",
    "json-short": b'{"kind":"ConfigMap","apiVersion":',
    "json-list": b"[]",
    "type": said("v1", "ConfigMap", data=5),
}
CUSTOM: dict[str, bytes] = {
    "custom-version": said("example.org/v9", "Widget"),
    "custom-group": said("elsewhere.org/v1", "Widget"),
    "custom-no-kind": b'{"apiVersion":"example.org/v1","metadata":{"name":"bad"}}',
    "custom-no-version": b'{"kind":"Widget","metadata":{"name":"bad"}}',
    "custom-protobuf": protowire.wrap("example.org/v1", "Widget", b""),
    "custom-garbage": b"garbage",
    "custom-short": b'{"kind":"Widget","apiVersion":',
    "custom-list": b"[]",
}


class Setting(NamedTuple):
    """What runs.

    Args:
        cluster: etcd.
        kube: the kube-apiserver.
        own: a server of this project.
    """

    cluster: Etcd
    kube: HasConnection
    own: HasConnection

    def write(self, key: str, value: bytes | None) -> None:
        """Write a key of etcd, or delete it."""
        name = key.encode()
        change = Delete(name) if value is None else Put(name, value)

        async def write_it() -> None:
            settings = ClientSettings(endpoints=tuple(self.cluster.urls))
            async with open_client(settings, Env()) as client:
                await client.txn([], [change])

        trio.run(write_it)

    def stored(self, key: str) -> bytes:
        """What etcd has of a key."""

        async def read() -> bytes:
            settings = ClientSettings(endpoints=tuple(self.cluster.urls))
            async with open_client(settings, Env()) as client:
                [kv] = (await client.range(Get(key=key.encode()))).kvs
                return kv.value

        return trio.run(read)

    def until(self, server: HasConnection, path: str, status: int) -> Answer:
        """Ask until a GET is answered so."""
        for _ in range(TRIES):
            answer = ask(server, "GET", path)
            if answer.status == status:
                return answer
            trio.run(trio.sleep, 0.1)
        raise AssertionError(f"{path}: {answer}")


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    """A kube-apiserver and a server of this project on one etcd, with a custom resource."""
    folder = tmp_path_factory.mktemp("u")
    with ExitStack() as stack:
        cluster = stack.enter_context(etcd(folder / "etcd"))
        url = cluster.urls[0]
        kube = stack.enter_context(kube_apiserver(folder / "kube", url))
        process = start(folder / "own", folder / "own.log", "--etcd-servers", url)
        stack.callback(process.kill)
        made = Setting(cluster, kube, Own(process))
        assert ask(kube, "POST", DEFINITIONS, DEFINITION).status == 201
        for name in (*BUILT_IN, *CUSTOM, "fine"):
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            assert ask(kube, "POST", "/api/v1/namespaces", space).status == 201
        for server in (kube, made.own):
            made.until(server, "/apis/example.org/v1/widgets", 200)
        for name, value in BUILT_IN.items():
            made.write(f"/registry/configmaps/{name}/bad", value)
        for name, value in CUSTOM.items():
            made.write(f"/registry/example.org/widgets/{name}/bad", value)
        yield made


def compare(setting: Setting, method: str, path: str, body: Json | None = None) -> Answer:
    """Ask both, and return what both answer."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    theirs, ours = (ask(server, method, path, body, kind) for server in (setting.kube, setting.own))
    theirs = Answer(theirs.status, json.loads(json.dumps(theirs.body).replace(BUILD, "")))
    assert ours == theirs, (method, path)
    return ours


def compare_all(setting: Setting, path: str, body: Json) -> None:
    there = f"{path}/bad"
    refused = compare(setting, "GET", there)
    assert (refused.status, "reason" in refused.body) == (500, False)
    assert compare(setting, "GET", path) == refused
    assert compare(setting, "GET", f"{path}?limit=500") == refused
    assert compare(setting, "GET", f"{path}?labelSelector=a%3Db") == refused
    assert compare(setting, "DELETE", there) == refused
    unsafe = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", **unsafe}
    # The gate AllowUnsafeMalformedObjectDeletion is off, so the option is passed over.
    assert compare(setting, "DELETE", there, options) == refused
    assert compare(setting, "PATCH", there, {"metadata": {"labels": {"a": "b"}}}) == refused
    assert compare(setting, "PUT", there, body) == refused
    assert compare(setting, "POST", path, body).status == 409


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_kind_is_refused_as_there(setting: Setting, name: str) -> None:
    """Reads, lists, writes and creates, in the words of kube-apiserver; the key stays."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}}
    compare_all(setting, f"/api/v1/namespaces/{name}/configmaps", body)
    assert setting.stored(f"/registry/configmaps/{name}/bad") == BUILT_IN[name]


@pytest.mark.parametrize("name", CUSTOM)
def test_a_custom_resource_is_refused_as_there(setting: Setting, name: str) -> None:
    """Also in a version that its definition does not have, or not yet."""
    body = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "bad"}}
    compare_all(setting, f"/apis/example.org/v1/namespaces/{name}/widgets", body)
    assert setting.stored(f"/registry/example.org/widgets/{name}/bad") == CUSTOM[name]


def test_the_rest_of_a_collection_is_served(setting: Setting) -> None:
    """Objects beside it are read, made, changed and deleted by both."""
    for writer, reader in ((setting.kube, setting.own), (setting.own, setting.kube)):
        path = "/api/v1/namespaces/fine/configmaps"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}
        made = ask(writer, "POST", path, body)
        assert made.status == 201
        assert ask(reader, "GET", f"{path}/good").body == made.body
        assert ask(reader, "DELETE", f"{path}/good").status == 200
        assert ask(writer, "GET", f"{path}/good").status == 404
    assert ask(setting.own, "GET", "/readyz").status == 200


def watching(server: HasConnection, path: str) -> tuple[HTTPConnection, Any]:
    connection = server.connection()
    connection.request("GET", f"{path}?watch=1&resourceVersion=0", headers=server.headers)
    return connection, connection.getresponse()


def test_watches_and_dependents_do_not_hear_of_it(setting: Setting) -> None:
    """An owner that a newer server has changed is no deleted owner: what it owns stays."""
    path = "/api/v1/namespaces/fine/configmaps"
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    owner = ask(setting.kube, "POST", path, body).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference["uid"] = owner["metadata"]["uid"]
    body["metadata"] = {"name": "owned", "ownerReferences": [reference]}
    assert ask(setting.kube, "POST", path, body).status == 201
    setting.until(setting.own, f"{path}/owned", 200)
    connection, stream = watching(setting.own, path)
    key = "/registry/configmaps/fine/owner"
    before = setting.stored(key)
    setting.write(key, BUILT_IN["version"])
    setting.until(setting.own, f"{path}/owner", 500)
    # The collector looks at the owner when what it owns changes, and after its restart.
    labels = {"metadata": {"labels": {"seen": "yes"}}}
    kind = "application/merge-patch+json"
    assert ask(setting.own, "PATCH", f"{path}/owned", labels, kind).status == 200
    body["metadata"] = {"name": "also-owned", "ownerReferences": [reference]}
    assert ask(setting.own, "POST", path, body).status == 201
    for _ in range(30):
        assert ask(setting.own, "GET", f"{path}/owned").status == 200
        assert ask(setting.own, "GET", f"{path}/also-owned").status == 200
        trio.run(trio.sleep, 0.1)
    setting.write(key, before)
    setting.until(setting.own, f"{path}/owner", 200)
    seen: list[tuple[str, str]] = []
    while not seen or seen[-1] != ("MODIFIED", "owner"):
        event = json.loads(stream.readline())
        seen.append((event["type"], event["object"]["metadata"]["name"]))
    assert ("DELETED", "owner") not in seen
    connection.close()
    setting.write(key, None)
    setting.until(setting.own, f"{path}/owned", 404)


def test_an_old_encoding_is_written_anew(setting: Setting) -> None:
    """By an update that changes nothing, once, as there; a fresh value is not written again."""
    for server, name in ((setting.kube, "by-kube"), (setting.own, "by-own")):
        path = f"/api/v1/namespaces/fine/configmaps/{name}"
        key = f"/registry/configmaps/fine/{name}"
        meta = {"name": name, "namespace": "fine", "uid": "11111111-2222-3333-4444-555555555555"}
        meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"a": "b"}}
        setting.write(key, json.dumps(obj).encode())
        first = setting.until(server, path, 200)
        second = ask(server, "PUT", path, first.body)
        assert second.status == 200
        assert setting.stored(key).startswith(protowire.MAGIC)
        was, now = (each.body["metadata"]["resourceVersion"] for each in (first, second))
        assert was != now
        assert ask(server, "PUT", path, second.body).body == second.body
