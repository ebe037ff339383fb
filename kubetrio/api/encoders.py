"""Representations by media type.  JSON of the stored version is the stored bytes themselves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache

import orjson

from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import Object, head
from kubetrio.resources.representation import ListMeta
from kubetrio.schema.registry import ResourceType
from kubetrio.wire.jsonwire import encode


class JsonEncoder:
    """JSON, without a decode or an encode.

    Args:
        resource: the resource, in its storage version.
    """

    stored = True
    separator = b",{"
    content_type = b"application/json"
    stream_type = b"application/json"

    def __init__(self, resource: ResourceType) -> None:
        self.identity: Hashable = ("json", resource.group, resource.version, resource.kind)
        self._resource = resource
        self.skip = len(head(resource))

    def object(self, value: bytes) -> bytes:
        """The stored bytes and the newline that Go's encoder writes."""
        return value + b"\n"

    def items(self, values: Sequence[bytes]) -> bytes:
        """Items of a list carry neither kind nor apiVersion."""
        skip = self.skip
        return self.separator.join([value[skip:] for value in values])

    def list_open(self, meta: ListMeta, *, empty: bool) -> bytes:
        """Kind, apiVersion, metadata, and the first brace of the first item."""
        members: Object = {"resourceVersion": meta.resource_version}
        if meta.continue_token:
            members["continue"] = meta.continue_token
        if meta.remaining is not None:
            members["remainingItemCount"] = meta.remaining
        return b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[%b' % (
            self._resource.list_kind.encode(),
            self._resource.api_version.encode(),
            orjson.dumps(members),
            b"" if empty else b"{",
        )

    def list_close(self, *, empty: bool) -> bytes:
        """The end of a list."""
        del empty
        return b"]}\n"

    def event(self, kind: str, value: bytes) -> bytes:
        """One line."""
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), value)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """A bookmark carries the kind and the revision."""
        meta: Object = {"resourceVersion": str(revision)}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self._resource
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        return self.event("BOOKMARK", orjson.dumps({**obj, **_zero_members(resource)}))

    def error(self, status: Object) -> bytes:
        """An ERROR event with a Status."""
        return self.event("ERROR", encode(status))


@cache
def _zero_members(resource: ResourceType) -> Object:
    """Members that Go prints for an object that was never filled in (``spec``, ``status``)."""
    from kubetrio.schema.structural import Report, compile_type

    if not resource.schema_name:
        return {}
    zero = compile_type(resource.schema_name).decode({}, Report())
    return {k: v for k, v in zero.items() if k not in ("kind", "apiVersion", "metadata")}


@cache
def json_encoder(resource: ResourceType) -> JsonEncoder:
    """The JSON encoder of a resource, made once."""
    return JsonEncoder(resource)


def encoder_for(resource: ResourceType, accept: str) -> JsonEncoder:
    """The encoder for what a client accepts.

    Raises:
        ApiError: 406.
    """
    if not accept or "json" in accept or "*" in accept:
        return json_encoder(resource)
    raise ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json",
    )
