"""Request bodies: one object, whatever it is written in; fields nobody knows."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.api.bodies import decode_object
from kubetrio.api.encoding import serializers
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import Client
from kubetrio.wire import cborwire, yamlwire
from kubetrio.wire.negotiate import Accepted

GVK = GroupVersionKind("", "v1", "ConfigMap")
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
OBJECT: dict[str, Any] = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "n"},
    "data": {"a": "1"},
}


def protobuf(obj: dict[str, Any]) -> bytes:
    return serializers.dump(obj, Accepted(serializer="protobuf", media_type="x"))


def test_every_media_type_is_the_same_object() -> None:
    """JSON, YAML, CBOR and protobuf."""
    assert decode_object(orjson.dumps(OBJECT), GVK, "json").value == OBJECT
    assert decode_object(yamlwire.encode(OBJECT), GVK, "yaml").value == OBJECT
    assert decode_object(cborwire.encode(OBJECT), GVK, "cbor").value == OBJECT
    assert decode_object(protobuf(OBJECT), GVK, "protobuf").value == OBJECT


@pytest.mark.parametrize("codec", ["json", "yaml", "cbor", "protobuf"])
def test_a_body_that_is_none(codec: Any) -> None:
    """400."""
    with pytest.raises(ApiError) as caught:
        decode_object(b"\xff{", GVK, codec)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("query", "status", "warned"),
    [
        ("", 201, True),
        ("?fieldValidation=Warn", 201, True),
        ("?fieldValidation=Ignore", 201, False),
        ("?fieldValidation=Strict", 400, False),
    ],
)
async def test_unknown_fields(client: Client, query: str, status: int, warned: bool) -> None:
    """Warned of, ignored or refused (docs: "API concepts", field validation)."""
    answer = await client.request("POST", CONFIGMAPS + query, json={**OBJECT, "nonsense": 1})
    assert answer.status == status
    assert (b'unknown field \\"nonsense\\"' in answer.head.get(b"warning")) is warned


async def test_a_media_type_nobody_knows(client: Client) -> None:
    """415."""
    answer = await client.request("POST", CONFIGMAPS, {"Content-Type": "text/csv"}, b"a,b")
    assert answer.status == 415


async def test_delete_options_of_another_kind(client: Client) -> None:
    """400; an object sent by mistake deletes nothing."""
    await client.request("POST", CONFIGMAPS, json=OBJECT)
    assert (await client.request("DELETE", CONFIGMAPS + "/n", json=OBJECT)).status == 400
    assert (await client.request("GET", CONFIGMAPS + "/n")).status == 200


async def test_repeated_keys_of_yaml_are_warnings(client: Client) -> None:
    """One for each line that strict decoding would complain of."""
    body = b"metadata: {name: one}\ndata:\n  a: u\n  a: v\n"
    media = {"Content-Type": "application/yaml"}
    answer = await client.request("POST", CONFIGMAPS, media, body)
    assert answer.status == 201
    assert answer.head.get(b"warning") == rb'299 - "line 4: key \"a\" already set in map"'


async def test_malformed_yaml(client: Client) -> None:
    """Nothing was read as JSON, so nothing is said of it."""
    media = {"Content-Type": "application/yaml"}
    answer = await client.request("POST", CONFIGMAPS, media, b"a: [1,\n")
    assert answer.json()["message"] == (
        "the object provided is unrecognized (must be of type ConfigMap): "
        "yaml: line 1: did not find expected node content (613a205b312c0a)"
    )
    gone = await client.request("DELETE", f"{CONFIGMAPS}/one", media, b"a: [")
    assert gone.json()["message"] == "yaml: line 1: did not find expected node content"


async def test_the_media_type_of_no_options_does_not_matter(client: Client) -> None:
    """A DELETE without a body may name any."""
    media = {"Content-Type": "text/plain"}
    assert (await client.request("DELETE", f"{CONFIGMAPS}/one", media)).status == 404
    assert (await client.request("DELETE", f"{CONFIGMAPS}/one", media, b"{}")).status == 415


BAD = {"accept": "text/plain", "media": "text/csv", "query": "dryRun=x", "body": "{"}


@pytest.mark.parametrize(
    ("method", "path", "wrong", "code"),
    [
        ("POST", "", "accept media query body", 406),
        ("POST", "", "media query body", 415),
        ("POST", "", "query body", 422),
        ("POST", "", "body", 400),
        ("PUT", "/n", "accept media query body", 406),
        ("PUT", "/n", "media query body", 422),
        ("PUT", "/n", "media body", 415),
        ("PATCH", "/n", "accept media query body", 415),
        ("PATCH", "/n", "accept query body", 406),
        ("PATCH", "/n", "query body", 422),
        ("DELETE", "/n", "accept body", 406),
        ("DELETE", "", "accept body", 406),
    ],
)
async def test_of_several_mistakes_one_is_told(
    client: Client, method: str, path: str, wrong: str, code: int
) -> None:
    """What the answer may be, what the body is, the options, the body: in that order or another."""
    await client.request("POST", CONFIGMAPS, json=OBJECT)
    mistakes = {name: BAD[name] for name in wrong.split()}
    good = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {
        "Content-Type": mistakes.get("media", good),
        "Accept": mistakes.get("accept", "application/json"),
    }
    target = f"{CONFIGMAPS}{path}?{mistakes.get('query', '')}"
    answer = await client.request(method, target, headers, mistakes.get("body", "{}").encode())
    assert answer.status == code


async def test_the_selector_of_a_collection_is_read_before_the_body(client: Client) -> None:
    """A deletion says what it is about first."""
    answer = await client.request("DELETE", f"{CONFIGMAPS}?labelSelector==", {}, b"{")
    assert "found '='" in answer.json()["message"]
