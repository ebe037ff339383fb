"""Encoders: what `resources` uses to answer in the representation a client asked for.

`JsonEncoder` is the hot path: stored bytes are response bytes.  `ObjectEncoder` does everything
else, from decoded objects: other media types, other versions, Tables and metadata only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import orjson

from kubetrio.api.encoding import serializers, tables
from kubetrio.api.encoding.accepting import accept, go_type
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.itemforms import (
    AgingForm,
    MadeForm,
    StoredForm,
    no_frame,
)
from kubetrio.api.encoding.listwriters import (
    CollectedListWriter,
    Frame,
    FramedListWriter,
    JsonListWriter,
    Kept,
    ProtobufItems,
    StagedListWriter,
    Step,
    frame_of,
    list_metadata,
)
from kubetrio.api.offloop import INLINE_BYTES
from kubetrio.api.request import Request
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import Object, head, read
from kubetrio.resources.representation import Ages, Around, ItemForm, ListMeta, ListWriter
from kubetrio.schema.kind import Kind, cached_on_kind
from kubetrio.schema.printing import Printer
from kubetrio.wire import cborwire, framing, gojson, jsonpieces, jsonwire, negotiate
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import ListMessage, encode_event

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def bookmark_object(resource: Kind, revision: int, *, initial_end: bool) -> Object:
    """The object of a bookmark: kind, revision, and members that are never left out."""
    meta: Object = {"resourceVersion": str(revision)}
    held = resource.type.held
    annotations = {} if held is None or held.zero is None else {held.annotation: held.zero}
    if initial_end:
        annotations[INITIAL_EVENTS_END] = "true"
    if annotations:
        meta["annotations"] = annotations
    identity: Object = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**identity, "metadata": meta, **_zero_members(resource)}


@cached_on_kind
def _zero_members(resource: Kind) -> Object:
    """Members that Go prints for an object that was never filled in (``spec``, ``status``)."""
    zero = resource.type.zero
    return {k: v for k, v in zero.items() if k not in ("kind", "apiVersion", "metadata")}


class JsonEncoder:
    """JSON in the stored version, without a decode or an encode.

    Args:
        resource: a resource in its storage version.
    """

    stored = True
    converts: Kind | None = None
    content_type = b"application/json"
    stream_type = b"application/json"

    def __init__(self, resource: Kind) -> None:
        self.identity: Hashable = self
        self._resource = resource
        # Items of custom resources say what they are.
        self.skip = len(head(resource)) if resource.builtin else 0
        self.separator = b",{" if self.skip else b","

    def check(self) -> None:
        """Accept every query."""

    def object(self, value: bytes) -> bytes:
        """The stored bytes and a newline."""
        return value + b"\n"

    def list_writer(self) -> ListWriter:
        """See `Encoder`."""
        return JsonListWriter(self._resource, self.skip)

    def list_form(self) -> ItemForm:
        """See `Encoder`."""
        return StoredForm(self._resource, self, 1, self._around)

    def counted_form(self) -> None:
        """See `Encoder`; JSON does not say how long it is."""

    def _around(self, meta: ListMeta, *_: int) -> tuple[bytes, bytes]:
        writer = self.list_writer()
        return writer.open(meta), writer.close()

    def state_form(self) -> ItemForm:
        """See `Encoder`."""
        added = partial(self.event, "ADDED")
        return MadeForm(self._resource, ("state", self), 0, no_frame, added)

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


class ObjectEncoder:
    """Any representation, from decoded objects.

    Args:
        resource: the resource in the version of the request.
        accepted: media type and shape asked for.
        include_object: what Table rows carry.
        now: wall clock, seconds since the epoch, for ages.
        cache: encoded objects by what they were made from.
        refusal: why nothing can be shown, raised when there is something to show.

    Attributes:
        steps: what its list writer has left to others.
    """

    stored = False
    separator = b""
    skip = 0

    def __init__(
        self,
        resource: Kind,
        accepted: Accepted,
        include_object: tables.IncludeObject,
        now: Callable[[], float],
        cache: ByteCache,
        refusal: ApiError | None = None,
    ) -> None:
        self._resource = resource
        self.converts = resource if resource.waiting is not None else None
        self._refusal = refusal
        self._accepted = accepted
        self._include_object = include_object
        self._now = now
        self._cache = cache
        self._columns_sent = False
        self.steps: deque[Step] = deque()
        self.content_type = accepted.media_type.encode()
        self.stream_type = accepted.media_type.encode()

    @property
    def identity(self) -> Hashable:
        """Tables are told apart: each watch begins with its own columns."""
        accepted = self._accepted
        if accepted.as_kind == "Table":
            return self
        return (self._resource, accepted.serializer, accepted.as_kind, accepted.as_version)

    def decoded(self, value: bytes) -> Object:
        """A stored object."""
        if len(value) <= jsonpieces.LARGE_BYTES:
            return read(self._resource, value)
        cached_on_kind = self._resource.type.free_form
        obj: Object = gojson.parse_printed(value) if cached_on_kind else gojson.parse_stored(value)
        return obj

    def prepare(self) -> None:
        """Have plans made here: those who make them must not be interrupted.

        To be called before anything is encoded in a thread.
        """
        accepted, resource = self._accepted, self._resource
        version, kind = resource.api_version, resource.kind
        if accepted.as_kind:
            version, kind = f"meta.k8s.io/{self._table_version}", "PartialObjectMetadata"
        if accepted.serializer == "protobuf":
            serializers.protobuf().prepare(serializers.type_name(version, kind))
        elif accepted.serializer == "cbor":
            serializers.binary_shape(version, kind)

    def _in_version(self, obj: Mapping[str, Any]) -> Object:
        return self._converted(dict(obj))

    def _converted(self, obj: Object) -> Object:
        """A decoded object in the version of the request, in which it may have come."""
        return obj if self.converts is not None else self._resource.from_stored(obj)

    def _shaped(self, obj: Object, *, with_columns: bool = True) -> Object:
        """A decoded object in the shape asked for.

        Tables and metadata are the same in all versions, unless the conversion waits.
        """
        accepted = self._accepted
        if accepted.as_kind == "Table":
            return tables.table(
                [obj],
                self._printer(),
                include_object=self._include_object,
                table_version=self._table_version,
                now=self._now(),
                with_columns=with_columns,
                shown=self._in_version,
            )
        if accepted.as_kind:
            return tables.partial_object(obj, self._table_version, self._printer().hidden)
        return self._converted(obj)

    @property
    def _table_version(self) -> tables.TableVersion:
        return "v1beta1" if self._accepted.as_version == "v1beta1" else "v1"

    def _printer(self) -> Printer:
        return self._resource.printer

    def check(self) -> None:
        """See `Encoder`."""
        if self._refusal is not None:
            raise self._refusal

    def object(self, value: bytes) -> bytes:
        """See `Encoder`."""
        self.check()
        return serializers.dump(self._shaped(self.decoded(value)), self._accepted)

    def list_writer(self) -> ListWriter:
        """See `Encoder`; large objects are left to ``steps``."""
        self.check()
        return StagedListWriter(self._list_writer(), self.steps, INLINE_BYTES)

    def _list_writer(self) -> ListWriter:
        text = self._accepted.serializer in ("json", "yaml")
        if self._accepted.as_kind == "Table":
            if text and self._printer().sort_key is None:
                return self._table_writer()
            return CollectedListWriter(Kept(lambda value: value, self._table_list))
        if text:
            return self._text_writer()
        if self._accepted.serializer == "cbor":
            return CollectedListWriter(Kept(self._cbor_item, self._cbor_list))
        message = ListMessage(serializers.protobuf(), *self._list_identity())
        return CollectedListWriter(ProtobufItems(self._proto_item, message))

    def list_form(self) -> ItemForm | None:
        """See `Encoder`."""
        accepted = self._accepted
        if self._refusal is not None or self.converts is not None or accepted.pretty:
            return None
        match accepted.serializer, accepted.as_kind:
            case "json", "Table" if self._printer().sort_key is None:
                rows = ("rows", self._resource, self._include_object, self._table_version)
                around, row = self._around_rows, self._row_text
                return AgingForm(self._resource, rows, 1, around, row, self._now)
            case _, "Table":
                return None
            case "json", _:
                return self._made(1, self._around_text, self._item_text)
            case "protobuf", _:
                return self._message_form(self._proto_message)
            case "cbor", _:
                return self._made(0, self._around_cbor, self._cbor_alone)
        return None

    def counted_form(self) -> ItemForm | None:
        """See `Encoder`; small objects come out of the cache."""
        form, serializer = self.list_form(), self._accepted.serializer
        if form is None or serializer not in ("protobuf", "cbor"):
            return None
        return form if serializer == "cbor" else self._message_form(self._proto_item)

    def _made(self, lead: int, around: Around, make: Callable[[bytes], bytes]) -> ItemForm:
        return MadeForm(self._resource, ("items", self.identity), lead, around, make)

    def state_form(self) -> ItemForm | None:
        """See `Encoder`; the first event of a watch of Tables is another than the next."""
        if self._accepted.as_kind == "Table" or self.converts is not None:
            return None
        added = partial(self.event, "ADDED")
        return MadeForm(self._resource, ("state", self.identity), 0, no_frame, added)

    def _message_form(self, encode: Callable[[bytes], bytes]) -> ItemForm:
        message = ListMessage(serializers.protobuf(), *self._list_identity())

        def make(value: bytes) -> bytes:
            return message.framed(encode(value))

        def around(meta: ListMeta, count: int, size: int) -> tuple[bytes, bytes]:
            del count
            return message.around(meta.as_dict(), size)

        return self._made(0, around, make)

    def _item_text(self, value: bytes) -> bytes:
        return b"," + jsonwire.encode(self._item(value))

    def _around_text(self, meta: ListMeta, *_: int) -> tuple[bytes, bytes]:
        frame = self._text_frame(meta)
        return frame.begin, frame.end

    def _row_text(self, value: bytes, now: float) -> tuple[bytes, Ages]:
        obj, include = self.decoded(value), self._include_object
        version, shown = self._table_version, self._in_version
        row = tables.table_row(obj, self._printer(), include, version, now, shown)
        return tables.row_text(row)

    def _around_rows(self, meta: ListMeta, *_: int) -> tuple[bytes, bytes]:
        frame = frame_of(self._table(meta.as_dict(), []), self._accepted)
        return frame.begin, frame.end

    def _cbor_alone(self, value: bytes) -> bytes:
        return self._cbor_item(value).removeprefix(cborwire.PREFIX)

    def _around_cbor(self, meta: ListMeta, count: int, size: int) -> tuple[bytes, bytes]:
        del size
        return cborwire.around_list(*self._list_identity(), meta.as_dict(), count)

    def _list_identity(self) -> tuple[str, str]:
        """Version and kind of lists."""
        accepted = self._accepted
        if accepted.as_kind:
            return f"meta.k8s.io/{accepted.as_version}", "PartialObjectMetadataList"
        return self._resource.api_version, self._resource.list_kind

    def _item(self, value: bytes) -> Object:
        obj = self._shaped(self.decoded(value))
        if not self._accepted.as_kind and self._resource.builtin:
            obj = {key: v for key, v in obj.items() if key not in ("kind", "apiVersion")}
        return obj

    def _text_writer(self) -> ListWriter:
        return FramedListWriter(
            self._text_frame,
            self._item,
            lambda meta: serializers.dump(self._empty(self._list_metadata(meta)), self._accepted),
        )

    def _text_frame(self, meta: ListMeta) -> Frame:
        return frame_of({**self._empty(self._list_metadata(meta)), "items": []}, self._accepted)

    def _list_metadata(self, meta: ListMeta) -> Object:
        return meta.as_dict() if self._accepted.as_kind else list_metadata(self._resource, meta)

    def _empty(self, meta: Object) -> Object:
        """A list without items; of metadata alone, Go never makes the slice."""
        version, kind = self._list_identity()
        items: list[Object] | None = None if self._accepted.as_kind else []
        return {"kind": kind, "apiVersion": version, "metadata": meta, "items": items}

    def _proto_item(self, value: bytes) -> bytes:
        if len(value) > INLINE_BYTES:
            return self._proto_message(value)  # in a thread: the cache is the event loop's
        return self._cache.get((self.identity, value), partial(self._proto_message, value))

    def _proto_message(self, value: bytes) -> bytes:
        obj = self._shaped(self.decoded(value))
        name = serializers.type_name(obj["apiVersion"], obj["kind"])
        return serializers.protobuf().encode(obj, name)

    def _cbor_item(self, value: bytes) -> bytes:
        obj = self._shaped(self.decoded(value))
        shape = serializers.binary_shape(obj["apiVersion"], obj["kind"])
        return cborwire.encode(self._item(value), shape)

    def _cbor_list(self, meta: Object, items: list[bytes]) -> bytes:
        if not items:
            return cborwire.encode(self._empty(meta))
        version, kind = self._list_identity()
        return cborwire.encode_list(version, kind, meta, items)

    def _table(self, meta: Object, items: list[bytes]) -> Object:
        return tables.table(
            [self.decoded(value) for value in items],
            self._printer(),
            list_meta=meta,
            include_object=self._include_object,
            table_version=self._table_version,
            now=self._now(),
            shown=self._in_version,
        )

    def _table_list(self, meta: Object, items: list[bytes]) -> bytes:
        return serializers.dump(self._table(meta, items), self._accepted)

    def _table_writer(self) -> ListWriter:
        printer, now = self._printer(), self._now()
        include, version = self._include_object, self._table_version

        def row(value: bytes) -> Object:
            obj = self.decoded(value)
            return tables.table_row(obj, printer, include, version, now, self._in_version)

        return FramedListWriter(
            lambda meta: frame_of(self._table(meta.as_dict(), []), self._accepted),
            row,
            lambda meta: self._table_list(meta.as_dict(), []),
        )

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
        if self._accepted.as_kind:
            obj = self._shaped(obj, with_columns=not self._columns_sent)
        self._columns_sent = True
        return self._frame("BOOKMARK", obj)

    def error(self, status: Object) -> bytes:
        """See `Encoder`."""
        return self._frame("ERROR", status)


AnyEncoder = JsonEncoder | ObjectEncoder


@cached_on_kind
def json_encoder(resource: Kind) -> JsonEncoder:
    """The JSON encoder of a resource, made once."""
    return JsonEncoder(resource)


def encoder_for(
    request: Request,
    resource: Kind,
    offer: negotiate.Offer,
    now: Callable[[], float],
    cache: ByteCache,
) -> AnyEncoder:
    """The encoder for what a client accepts.

    What does not fit to objects or lists is told later, when there is one: kube-apiserver shapes
    what the verb gave it.

    Args:
        request: the request.
        resource: the resource in the version of the request.
        offer: what the endpoint can do.
        now: wall clock for ages.
        cache: encoded objects.

    Raises:
        ApiError: 406.
    """
    accepted = accept(request, offer)
    plain = accepted.serializer == "json" and not accepted.pretty and not accepted.as_kind
    if plain and resource.stored is resource and resource.waiting is None:
        return json_encoder(resource)
    if accepted.as_kind == "Table":
        try:
            include = tables.include_object_of(request.query.get("includeObject", ""))
        except ApiError as error:
            return ObjectEncoder(resource, accepted, "Metadata", now, cache, error)
        return ObjectEncoder(resource, accepted, include, now, cache)
    refusal = None
    is_list = request.info.verb in ("list", "deletecollection")
    if accepted.as_kind and request.info.verb != "watch":
        wants_list = accepted.as_kind.endswith("List")
        if wants_list and not is_list and not resource.builtin:
            refusal = ApiError(500, "", "content is not a list")
        elif wants_list != is_list:
            refusal = negotiate.metadata_shape_mismatch(
                accepted.as_kind, go_type(resource, is_list=is_list), is_list=is_list
            )
    return ObjectEncoder(resource, accepted, "Metadata", now, cache, refusal)
