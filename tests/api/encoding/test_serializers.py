"""Objects to bytes by media type."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.api.encoding import serializers
from kubetrio.wire import cborwire, yamlwire
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import PARTIAL_METADATA, STATUS, unwrap

SECRET: dict[str, Any] = {
    "kind": "Secret",
    "apiVersion": "v1",
    "metadata": {"name": "n", "creationTimestamp": "2023-11-14T22:13:20Z"},
    "data": {"a": "YWJj"},
    "type": "Opaque",
}


def dump(serializer: Any, *, pretty: bool = False) -> bytes:
    accepted = Accepted(serializer=serializer, media_type="x", pretty=pretty)
    return serializers.dump(SECRET, accepted)


def test_json_ends_with_a_newline_unless_it_is_indented() -> None:
    """Go's encoder ends a line, its ``MarshalIndent`` does not; both say the same."""
    plain, pretty = dump("json"), dump("json", pretty=True)
    assert plain.endswith(b"}\n")
    assert pretty.endswith(b"\n}")
    assert orjson.loads(plain) == orjson.loads(pretty) == SECRET


def test_yaml_is_the_object() -> None:
    """Members in alphabetical order, as Go's library writes them."""
    body = dump("yaml")
    assert yamlwire.decode(body).value == SECRET
    assert body.startswith(b"apiVersion: v1\n")


def test_protobuf_is_the_object() -> None:
    """In the envelope of Kubernetes."""
    envelope = unwrap(dump("protobuf"))
    assert (envelope.api_version, envelope.kind) == ("v1", "Secret")
    name = serializers.type_name("v1", "Secret")
    found = serializers.protobuf().decode(envelope.raw, name)
    assert {"kind": "Secret", "apiVersion": "v1", **found} == SECRET


def test_cbor_is_the_object() -> None:
    """Bytes are bytes there, not base64."""
    body = dump("cbor")
    assert cborwire.decode(body) == SECRET
    assert b"abc" in body
    assert b"YWJj" not in body


@pytest.mark.parametrize(
    ("version", "kind", "name"),
    [
        ("v1", "Status", STATUS),
        ("meta.k8s.io/v1", "PartialObjectMetadata", PARTIAL_METADATA),
        ("meta.k8s.io/v1beta1", "PartialObjectMetadata", PARTIAL_METADATA),
        ("v1", "Pod", "io.k8s.api.core.v1.Pod"),
        ("apps/v1", "Deployment", "io.k8s.api.apps.v1.Deployment"),
    ],
)
def test_types_of_kinds(version: str, kind: str, name: str) -> None:
    """Those that are stored, and those that only travel."""
    assert serializers.type_name(version, kind) == name


def test_a_kind_nobody_knows() -> None:
    """Has no messages."""
    with pytest.raises(KeyError):
        serializers.type_name("example.com/v1", "Thing")
