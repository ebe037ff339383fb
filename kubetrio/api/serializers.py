"""Objects to bytes by media type, in full or in another shape."""

from __future__ import annotations

from functools import cache
from typing import Any

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.wire import cborwire, jsonwire
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import PARTIAL_METADATA, STATUS, ProtobufCodec

Object = dict[str, Any]
META_GROUP = "meta.k8s.io"
_META_TYPES = "io.k8s.apimachinery.pkg.apis.meta.v1"
DISCOVERY_KINDS = {
    "APIVersions": _META_TYPES,
    "APIGroup": _META_TYPES,
    "APIGroupList": _META_TYPES,
    "APIResourceList": _META_TYPES,
    "APIGroupDiscoveryList": "io.k8s.api.apidiscovery.v2",
}


@cache
def protobuf() -> ProtobufCodec:
    """The codec of built-in types."""
    return ProtobufCodec(builtin.message)


@cache
def type_name(api_version: str, kind: str) -> str:
    """Full type name of a kind that is sent to clients.

    Raises:
        KeyError: not a built-in kind.
    """
    if kind == "Status":
        return STATUS
    group, _, version = api_version.rpartition("/")
    if group == META_GROUP and kind == "PartialObjectMetadata":
        return PARTIAL_METADATA
    if kind in DISCOVERY_KINDS:
        return f"{DISCOVERY_KINDS[kind]}.{kind}"
    name = builtin.type_name_of(GroupVersionKind(group, version, kind))
    if not name:
        raise KeyError(f"{api_version} {kind}")
    return name


def pretty_json(value: Any) -> bytes:
    """Indented JSON."""
    return jsonwire.indented(value)


def dump(obj: Object, accepted: Accepted) -> bytes:
    """An object as a response body.

    Args:
        obj: the object with kind and apiVersion.
        accepted: what the client accepts.
    """
    match accepted.serializer:
        case "json":
            data = pretty_json(obj) if accepted.pretty else jsonwire.encode(obj)
            return data + b"\n"
        case "yaml":
            from kubetrio.wire import yamlwire

            return yamlwire.encode(obj)
        case "protobuf":
            return protobuf().encode_object(obj, type_name(obj.get("apiVersion", ""), obj["kind"]))
        case "cbor":
            return cborwire.encode(obj, binary_shape(obj["apiVersion"], obj["kind"]))


@cache
def binary_shape(api_version: str, kind: str) -> Any:
    """Which members of a kind are bytes, for CBOR."""
    from kubetrio.wire.descriptors import message_name

    return protobuf().descriptors.binary_shape(message_name(type_name(api_version, kind)))
