"""Encoders: what `resources` uses to answer in the representation a client asked for.

`JsonEncoder` is the hot path: stored bytes are response bytes.  `ObjectEncoder` does everything
else, from decoded objects: other media types, other versions, Tables and metadata only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache

import orjson

from kubetrio.api import serializers, tables
from kubetrio.api.cache import ByteCache
from kubetrio.api.request import Request
from kubetrio.machinery.names import GroupVersion
from kubetrio.resources.objects import Object, head
from kubetrio.resources.representation import Encoder, ListMeta, ListWriter
from kubetrio.schema.convert import convert
from kubetrio.schema.registry import ResourceType
from kubetrio.store.model import KeyValue
from kubetrio.wire import cborwire, framing, jsonwire, negotiate
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import encode_event

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def bookmark_object(resource: ResourceType, revision: int, *, initial_end: bool) -> Object:
    """The object of a bookmark: kind, revision, and members that are never left out."""
    meta: Object = {"resourceVersion": str(revision)}
    if initial_end:
        meta["annotations"] = {INITIAL_EVENTS_END: "true"}
    identity: Object = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**identity, "metadata": meta, **_zero_members(resource)}


@cache
def _zero_members(resource: ResourceType) -> Object:
    """Members that Go prints for an object that was never filled in (``spec``, ``status``)."""
    from kubetrio.schema.structural import Report, compile_type

    if not resource.schema_name:
        return {}
    zero = compile_type(resource.schema_name).decode({}, Report())
    return {k: v for k, v in zero.items() if k not in ("kind", "apiVersion", "metadata")}


class JsonListWriter:
    """Writes a list of stored objects without looking into them.

    Args:
        resource: the resource.
        skip: bytes of a stored object in front of what an item shows.
    """

    def __init__(self, resource: ResourceType, skip: int) -> None:
        self._resource = resource
        self._skip = skip
        self._empty = True

    def open(self, meta: ListMeta) -> bytes:
        """Kind, apiVersion and metadata."""
        return b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
            self._resource.list_kind.encode(),
            self._resource.api_version.encode(),
            orjson.dumps(meta.as_dict()),
        )

    def joined(self, body: bytes) -> bytes:
        """Items carry neither kind nor apiVersion; the brace they begin with is ours."""
        if not body:
            return b""
        first, self._empty = self._empty, False
        return (b"{" if first else b",{") + body

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Items one by one."""
        return self.joined(b",{".join([value.value[self._skip :] for value in values]))

    def close(self) -> bytes:
        """The end, with the newline that Go's encoder writes."""
        return b"]}\n"


class JsonEncoder:
    """JSON in the stored version, without a decode or an encode.

    Args:
        resource: a resource in its storage version.
    """

    stored = True
    separator = b",{"
    content_type = b"application/json"
    stream_type = b"application/json"

    def __init__(self, resource: ResourceType) -> None:
        self.identity: Hashable = self
        self._resource = resource
        self.skip = len(head(resource))

    def object(self, value: bytes) -> bytes:
        """The stored bytes and a newline."""
        return value + b"\n"

    def list_writer(self) -> ListWriter:
        """See `Encoder`."""
        return JsonListWriter(self._resource, self.skip)

    def event(self, kind: str, value: bytes) -> bytes:
        """One line."""
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), value)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """See `Encoder`."""
        obj = bookmark_object(self._resource, revision, initial_end=initial_end)
        return self.event("BOOKMARK", orjson.dumps(obj))

    def error(self, status: Object) -> bytes:
        """See `Encoder`."""
        return self.event("ERROR", jsonwire.encode(status))


class ObjectListWriter:
    """Collects encoded items and writes the list at its end, where its length is known.

    Args:
        encode_item: a stored object as an item.
        finish: metadata and items to the whole list.
    """

    def __init__(
        self,
        encode_item: Callable[[bytes], bytes],
        finish: Callable[[ListMeta, list[bytes]], bytes],
    ) -> None:
        self._encode_item = encode_item
        self._finish = finish
        self._items: list[bytes] = []
        self._meta = ListMeta(resource_version="")

    def open(self, meta: ListMeta) -> bytes:
        """Remember the metadata."""
        self._meta = meta
        return b""

    def joined(self, body: bytes) -> bytes:
        """Nothing is joined by the store for this writer."""
        del body
        return b""

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Encode and keep items."""
        encode = self._encode_item
        self._items += [encode(value.value) for value in values]
        return b""

    def close(self) -> bytes:
        """The whole list."""
        return self._finish(self._meta, self._items)


class ObjectEncoder:
    """Any representation, from decoded objects.

    Args:
        resource: the resource in the version of the request.
        accepted: media type and shape asked for.
        include_object: what Table rows carry.
        now: wall clock, seconds since the epoch, for ages.
        cache: encoded objects by what they were made from.
    """

    stored = False
    separator = b""
    skip = 0

    def __init__(
        self,
        resource: ResourceType,
        accepted: Accepted,
        include_object: tables.IncludeObject,
        now: Callable[[], float],
        cache: ByteCache,
    ) -> None:
        self._resource = resource
        self._accepted = accepted
        self._include_object = include_object
        self._now = now
        self._cache = cache
        self._columns_sent = False
        self.content_type = accepted.media_type.encode()
        self.stream_type = accepted.media_type.encode()

    @property
    def identity(self) -> Hashable:
        """Tables are told apart: each watch begins with its own columns."""
        accepted = self._accepted
        if accepted.as_kind == "Table":
            return self
        return (self._resource, accepted.serializer, accepted.as_kind, accepted.as_version)

    # ------------------------------------------------------------------ shapes

    def decoded(self, value: bytes) -> Object:
        """A stored object in the version of the request."""
        return request_version(orjson.loads(value), self._resource)

    def _shaped(self, obj: Object, *, with_columns: bool = True) -> Object:
        accepted = self._accepted
        version = "v1beta1" if accepted.as_version == "v1beta1" else "v1"
        if accepted.as_kind == "Table":
            return tables.table(
                [obj],
                self._printer(),
                include_object=self._include_object,
                table_version=version,  # type: ignore[arg-type]
                now=self._now(),
                with_columns=with_columns,
            )
        if accepted.as_kind:
            return tables.partial_object(obj, version)  # type: ignore[arg-type]
        return obj

    def _printer(self) -> tables.Printer:
        resource = self._resource
        return tables.printer(resource.group, resource.version, resource.resource)

    def object(self, value: bytes) -> bytes:
        """See `Encoder`."""
        return serializers.dump(self._shaped(self.decoded(value)), self._accepted)

    # ------------------------------------------------------------------ lists

    def list_writer(self) -> ListWriter:
        """See `Encoder`."""
        if self._accepted.as_kind == "Table":
            return ObjectListWriter(lambda value: value, self._table_list)
        match self._accepted.serializer:
            case "protobuf":
                return ObjectListWriter(self._proto_item, self._proto_list)
            case "cbor":
                return ObjectListWriter(self._cbor_item, self._cbor_list)
            case _:
                return ObjectListWriter(lambda value: value, self._text_list)

    def _list_identity(self) -> tuple[str, str]:
        accepted = self._accepted
        if accepted.as_kind:
            return "PartialObjectMetadataList", f"meta.k8s.io/{accepted.as_version}"
        return self._resource.list_kind, self._resource.api_version

    def _item(self, value: bytes) -> Object:
        obj = self._shaped(self.decoded(value))
        if not self._accepted.as_kind:
            obj = {key: v for key, v in obj.items() if key not in ("kind", "apiVersion")}
        return obj

    def _text_list(self, meta: ListMeta, items: list[bytes]) -> bytes:
        kind, version = self._list_identity()
        whole = {
            "kind": kind,
            "apiVersion": version,
            "metadata": meta.as_dict(),
            "items": [self._item(value) for value in items],
        }
        return serializers.dump(whole, self._accepted)

    def _proto_item(self, value: bytes) -> bytes:
        def encode() -> bytes:
            obj = self._shaped(self.decoded(value))
            name = serializers.type_name(obj["apiVersion"], obj["kind"])
            return serializers.protobuf().encode(obj, name)

        return self._cache.get((self.identity, value), encode)

    def _proto_list(self, meta: ListMeta, items: list[bytes]) -> bytes:
        kind, version = self._list_identity()
        return serializers.protobuf().encode_list(version, kind, meta.as_dict(), items)

    def _cbor_item(self, value: bytes) -> bytes:
        obj = self._shaped(self.decoded(value))
        shape = serializers.binary_shape(obj["apiVersion"], obj["kind"])
        return cborwire.encode(self._item(value), shape)

    def _cbor_list(self, meta: ListMeta, items: list[bytes]) -> bytes:
        kind, version = self._list_identity()
        return cborwire.encode_list(version, kind, meta.as_dict(), items)

    def _table_list(self, meta: ListMeta, items: list[bytes]) -> bytes:
        version = "v1beta1" if self._accepted.as_version == "v1beta1" else "v1"
        whole = tables.table(
            [self.decoded(value) for value in items],
            self._printer(),
            list_meta=meta.as_dict(),
            include_object=self._include_object,
            table_version=version,  # type: ignore[arg-type]
            now=self._now(),
        )
        return serializers.dump(whole, self._accepted)

    # ------------------------------------------------------------------ events

    def _frame(self, kind: str, obj: Object) -> bytes:
        match self._accepted.serializer:
            case "protobuf":
                name = serializers.type_name(obj["apiVersion"], obj["kind"])
                wrapped = serializers.protobuf().encode_object(obj, name)
                return framing.delimited(encode_event(kind, wrapped))
            case "cbor":
                shape = serializers.binary_shape(obj["apiVersion"], obj["kind"])
                return cborwire.encode_event(kind, cborwire.encode(obj, shape))
            case _:
                return framing.json_event(kind.encode(), jsonwire.encode(obj))

    def event(self, kind: str, value: bytes) -> bytes:
        """See `Encoder`."""
        obj = self._shaped(self.decoded(value), with_columns=not self._columns_sent)
        self._columns_sent = True
        return self._frame(kind, obj)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """See `Encoder`."""
        obj = bookmark_object(self._resource, revision, initial_end=initial_end)
        shaped = self._shaped(obj, with_columns=not self._columns_sent)
        self._columns_sent = True
        return self._frame("BOOKMARK", shaped)

    def error(self, status: Object) -> bytes:
        """See `Encoder`."""
        return self._frame("ERROR", status)


@cache
def json_encoder(resource: ResourceType) -> JsonEncoder:
    """The JSON encoder of a resource, made once."""
    return JsonEncoder(resource)


def encoder_for(
    request: Request,
    resource: ResourceType,
    offer: negotiate.Offer,
    now: Callable[[], float],
    cache: ByteCache,
) -> Encoder:
    """The encoder for what a client accepts.

    Args:
        request: the request.
        resource: the resource in the version of the request.
        offer: what the endpoint can do.
        now: wall clock for ages.
        cache: encoded objects.

    Raises:
        ApiError: 400 or 406.
    """
    accepted = accept(request, offer)
    plain = accepted.serializer == "json" and not accepted.pretty and not accepted.as_kind
    if plain and resource.stored_as == resource.group_version:
        return json_encoder(resource)
    if accepted.as_kind == "Table":
        include = tables.include_object_of(request.query.get("includeObject", ""))
        return ObjectEncoder(resource, accepted, include, now, cache)
    is_list = request.info.verb in ("list", "deletecollection")
    if accepted.as_kind and request.info.verb != "watch":
        wants_list = accepted.as_kind.endswith("List")
        if wants_list != is_list:
            kind = resource.list_kind if is_list else resource.kind
            package = GO_PACKAGES.get(resource.group, resource.group.split(".")[0])
            raise negotiate.metadata_shape_mismatch(
                accepted.as_kind, f"*{package}.{kind}", is_list=is_list
            )
    return ObjectEncoder(resource, accepted, "Metadata", now, cache)


GO_PACKAGES = {"": "core", "rbac.authorization.k8s.io": "rbac"}


def accept(request: Request, offer: negotiate.Offer) -> Accepted:
    """What a client accepts of an offer, pretty-printing decided too.

    Raises:
        ApiError: 406.
    """
    header = request.headers.get(b"accept")
    accepted = negotiate.negotiate(header.decode("latin-1") if header else None, offer)
    if accepted.serializer == "json" and not accepted.pretty and not offer.stream:
        agent = request.headers.get(b"user-agent", b"").decode("latin-1")
        pretty = request.query.get("pretty") if request.query else None
        if negotiate.wants_pretty(pretty, agent):
            return Accepted(
                serializer="json",
                media_type=accepted.media_type,
                pretty=True,
                as_kind=accepted.as_kind,
                as_group=accepted.as_group,
                as_version=accepted.as_version,
            )
    return accepted


def stored_version(obj: Object, resource: ResourceType) -> Object:
    """An object of a request, its defaults filled in, in the version that is stored."""
    stored: GroupVersion = resource.stored_as
    if stored == resource.group_version:
        return obj
    return convert(obj, resource.group_version, stored)


def request_version(obj: Object, resource: ResourceType) -> Object:
    """A stored object in the version of a request."""
    if resource.stored_as == resource.group_version:
        return obj
    return convert(obj, resource.stored_as, resource.group_version)
