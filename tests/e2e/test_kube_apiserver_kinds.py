"""A real kube-apiserver and a replica on one etcd: each reads and watches what the other writes.

Objects of every built-in kind, and custom ones, are drawn by the strategies of the harness.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from beside import Own
from hypothesis import HealthCheck, given, settings

from kubetrio.harness import examples, strategies
from kubetrio.kinds.builtin import registry
from kubetrio.testing import kubeapiserver
from kubetrio.testing.etcd import MISSING, binary, etcd
from kubetrio.testing.kubeapiserver import HasConnection, ask, ask_on, kube_apiserver
from kubetrio.testing.process import start

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(binary() is None, reason=MISSING),
    pytest.mark.skipif(kubeapiserver.binary() is None, reason=kubeapiserver.MISSING),
]
Json = dict[str, Any]
MERGE = "application/merge-patch+json"
FEW = settings(
    max_examples=2, derandomize=True, database=None, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TRIES = 50
GROUP = "zoo.example.com"
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"beasts.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "beasts", "kind": "Beast"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {
                "legs": {"type": "integer", "minimum": 0, "maximum": 9},
                "weight": {"type": "number"},
                "name": {"type": "string"},
                "port": {"x-kubernetes-int-or-string": True},
                "notes": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "tags": {"type": "array", "items": {"type": "string"}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }}}],
    },
}  # fmt: skip


class Side(NamedTuple):
    """A server, and a connection to it."""

    server: HasConnection
    connection: HTTPConnection

    def ask(self, method: str, path: str, body: Any = None, *types: str) -> kubeapiserver.Answer:
        """Ask on the connection."""
        return ask_on(self.connection, self.server.headers, method, path, body, *types)


class Pair(NamedTuple):
    """The two servers."""

    kube: Side
    own: Side


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Neither runs controllers that would change what is written."""
    folder: Path = tmp_path_factory.mktemp("k")
    with ExitStack() as stack:
        url = stack.enter_context(etcd(folder / "etcd")).urls[0]
        kube = stack.enter_context(kube_apiserver(folder / "kube", url))
        flags = ("--etcd-servers", url, "--controllers=-*")
        process = start(folder / "own", folder / "own.log", *flags)
        stack.callback(process.kill)
        own = Own(process)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        made = ask(own, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
        assert made.status in (201, 409), made.body
        yield Pair(
            Side(kube, stack.enter_context(closing(kube.connection()))),
            Side(own, stack.enter_context(closing(own.connection()))),
        )


class Watching:
    """A watch, line by line."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response

    def until_gone(self, uid: str) -> list[Json]:
        """Events of an object, with that of its deletion; all there are until the watch ends."""
        events: list[Json] = []
        while line := self._response.readline():
            event = json.loads(line)
            if event["object"]["metadata"].get("uid") == uid:
                events.append(event)
                if event["type"] == "DELETED":
                    break
        return events


@contextmanager
def watching(side: Side, path: str, revision: str) -> Iterator[Watching]:
    """Watch a collection, as long as the block lasts."""
    with closing(side.server.connection()) as connection:
        query = f"watch=1&resourceVersion={revision}&timeoutSeconds=20"
        connection.request("GET", f"{path}?{query}", headers=side.server.headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        yield Watching(response)


def gone(side: Side, path: str) -> None:
    """Delete an object, whatever finalizers it has."""
    answer = side.ask("DELETE", path)
    assert answer.status in (200, 202), answer.body
    left = side.ask("GET", path)
    if left.status == 404:
        return
    if left.body.get("kind") == "Namespace":
        left.body["spec"]["finalizers"] = []
        answer = side.ask("PUT", f"{path}/finalize", left.body)
    else:
        answer = side.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    assert answer.status in (200, 404), answer.body


def same(one: Side, other: Side, path: str) -> Json:
    """Read an object from both until it is at one revision; it is the same, and is returned."""
    for _ in range(TRIES):
        first, second = one.ask("GET", path), other.ask("GET", path)
        assert (first.status, second.status) == (200, 200)
        revisions = [each.body["metadata"]["resourceVersion"] for each in (first, second)]
        if revisions[0] == revisions[1]:  # else a controller has written it between
            assert first.body == second.body
            return dict(first.body)
    raise AssertionError(f"{path} changes all the time")


def walk(writer: Side, other: Side, path: str, obj: Json) -> None:
    """Write with one and then the other; both read the same, and both watches see all of it."""
    listed = writer.ask("GET", f"{path}?limit=1").body["metadata"]["resourceVersion"]
    with watching(writer, path, listed) as one, watching(other, path, listed) as two:
        made = writer.ask("POST", path, obj)
        assert made.status == 201, made.body
        meta = made.body["metadata"]
        place = f"{path}/{meta['name']}"
        same(writer, other, place)
        labels = {"metadata": {"labels": {"changed": "yes"}}}
        changed = other.ask("PATCH", place, labels, MERGE)
        assert changed.status == 200, changed.body
        read = same(writer, other, place)
        assert read["metadata"]["labels"]["changed"] == "yes"
        for side in (writer, other):
            uids = [item["metadata"]["uid"] for item in side.ask("GET", path).body["items"]]
            assert uids.count(meta["uid"]) == 1
        gone(other, place)
        seen, also = one.until_gone(meta["uid"]), two.until_gone(meta["uid"])
        assert seen == also
        types = [event["type"] for event in seen]
        assert types[0] == "ADDED", types
        assert "MODIFIED" in types
        assert types[-1] == "DELETED", types


def stored(kind: str) -> bool:
    """Whether objects of a kind are stored, as reviews are not."""
    resources = registry().resources.values()
    return any(examples.named(each) == kind and not each.serves for each in resources)


@pytest.mark.parametrize("kind", [kind for kind in examples.kinds() if stored(kind)])
def test_every_built_in_kind(pair: Pair, kind: str) -> None:
    """Both ways."""
    path = strategies.path_of(kind)

    @FEW
    @given(strategies.objects(kind))
    def both_ways(obj: Json) -> None:
        walk(pair.kube, pair.own, path, obj)
        walk(pair.own, pair.kube, path, obj)

    both_ways()


def test_a_generated_name_is_a_label(pair: Pair) -> None:
    """A default that follows from it is set after it, as kube-apiserver does when it reads."""
    for side, other in (pair, pair[::-1]):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "g-"}}
        made = side.ask("POST", "/api/v1/namespaces", body).body["metadata"]
        assert made["labels"] == {"kubernetes.io/metadata.name": made["name"]}
        same(side, other, f"/api/v1/namespaces/{made['name']}")


def test_custom_resources(pair: Pair) -> None:
    """Defined by either, when the other serves the definition."""
    path = f"/apis/{GROUP}/v1/namespaces/default/beasts"
    made = pair.kube.ask(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION
    )
    assert made.status == 201, made.body
    for side in pair:
        for _ in range(200):  # a definition is served a moment after it is stored
            if ask(side.server, "GET", path).status == 200:
                break
        else:
            raise AssertionError("the custom resource is not served")

    @FEW
    @given(strategies.custom_objects(DEFINITION))
    def both_ways(obj: Json) -> None:
        walk(pair.kube, pair.own, path, obj)
        walk(pair.own, pair.kube, path, obj)

    both_ways()
