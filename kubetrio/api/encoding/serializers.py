"""Objects to bytes by media type, in full or in another shape."""

from __future__ import annotations

from functools import cache, lru_cache
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


def dump(obj: Object, accepted: Accepted) -> bytes:
    """An object as a response body.

    Args:
        obj: the object with kind and apiVersion.
        accepted: what the client accepts.
    """
    match accepted.serializer:
        case "json":
            # Go's encoder ends with a newline; what indents does not.
            return (
                jsonwire.encode_indented(obj) if accepted.pretty else jsonwire.encode(obj) + b"\n"
            )
        case "yaml":
            from kubetrio.wire import yamlwire

            return yamlwire.encode(obj)
        case "protobuf":
            return protobuf().encode_object(obj, type_name(obj.get("apiVersion", ""), obj["kind"]))
        case "cbor":
            return cborwire.encode(obj, binary_shape(obj["apiVersion"], obj["kind"]))


@lru_cache(1024)
def binary_shape(api_version: str, kind: str) -> Any:
    """Which members of a kind are bytes, for CBOR; None where none are, as in custom resources."""
    from kubetrio.wire.descriptors import message_name

    try:
        name = type_name(api_version, kind)
    except KeyError:
        return None
    return protobuf().descriptors.binary_shape(message_name(name))
