"""Objects as Kubernetes protobuf: messages, the envelope around them, lists and watch events.

The bytes are those of kube-apiserver: fields ascending, Go values written even if zero, maps in
order of their keys, ``apiVersion`` and ``kind`` in the envelope only.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kubetrio.wire import protoscan
from kubetrio.wire.descriptors import META, Descriptors, Rows, message_name
from kubetrio.wire.protocompile import Compiler, Kind
from kubetrio.wire.protoscan import read_length, read_varint
from kubetrio.wire.protovalues import varint

Json = dict[str, Any]

MAGIC = b"k8s\x00"
"""What an enveloped object begins with."""
NO_MAGIC = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"

STATUS = f"{META}Status"
"""Type of a ``Status``."""
PARTIAL_METADATA = f"{META}PartialObjectMetadata"
"""Type of the metadata of an object, in either version of its group."""

MAX_ENVELOPE_FIELDS = 1000
"""Fields of an envelope: it has four, and each beyond them costs time for nothing."""

_LIST_META = f"{META}ListMeta"
# Field numbers of metadata and items; one list has them the other way round.
_LIST_FIELDS = {("meta.k8s.io/v1beta1", "PartialObjectMetadataList"): (2, 1)}
_USUAL_LIST_FIELDS = (1, 2)
_DELIMITED = 2
PIECE_BYTES = 512 * 1024
"""Bytes of a large list that are put together at a time."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An object in its envelope (``runtime.Unknown``).

    Args:
        api_version: group and version, as in JSON.
        kind: kind, as in JSON.
        raw: bytes of the message.
        content_encoding: how ``raw`` is encoded beyond its type; empty for objects.
        content_type: media type of ``raw``; empty for protobuf.
    """

    api_version: str
    kind: str
    raw: bytes
    content_encoding: str = ""
    content_type: str = ""


def delimited(number: int, data: bytes) -> bytes:
    """A field that is bytes, a text or a message, on the wire.

    Args:
        number: number of the field.
        data: its bytes.
    """
    return b"%b%b%b" % (varint(number << 3 | _DELIMITED), varint(len(data)), data)


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """Put the bytes of a message into the envelope.

    Args:
        api_version: group and version, as in JSON.
        kind: kind, as in JSON.
        raw: bytes of the message.
    """
    begin, end = _envelope(api_version, kind, len(raw))
    return b"%b%b%b" % (begin, raw, end)


def _envelope(api_version: str, kind: str, size: int) -> tuple[bytes, bytes]:
    """What stands around a message of so many bytes."""
    type_meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    raw = varint(2 << 3 | _DELIMITED) + varint(size)
    return b"%b%b%b" % (MAGIC, delimited(1, type_meta), raw), b"\x1a\x00\x22\x00"


def unwrap(data: bytes) -> Envelope:
    """Take the envelope off.

    Raises:
        ValueError: no envelope, or a malformed one; kube-apiserver's message.
    """
    if not data:
        raise ValueError("empty data")
    if not data.startswith(MAGIC):
        raise ValueError(NO_MAGIC)
    parts = _parts(data, len(MAGIC), len(data))
    names = _parts(parts.get(1, b""), 0, len(parts.get(1, b"")))
    return Envelope(
        api_version=names.get(1, b"").decode("utf-8", "replace"),
        kind=names.get(2, b"").decode("utf-8", "replace"),
        raw=parts.get(2, b""),
        content_encoding=parts.get(3, b"").decode("utf-8", "replace"),
        content_type=parts.get(4, b"").decode("utf-8", "replace"),
    )


def _parts(data: bytes, position: int, end: int) -> dict[int, bytes]:
    """Delimited fields of a message that has no others of interest; of repeated ones the last."""
    parts: dict[int, bytes] = {}
    budget = MAX_ENVELOPE_FIELDS
    while position < end:
        tag, position = read_varint(data, position)
        budget -= 1
        if budget < 0:
            raise ValueError(protoscan.TOO_MANY)
        match tag & 7:
            case 2:
                start, position = read_length(data, position, end)
                parts[tag >> 3] = data[start:position]
            case 0:
                _, position = read_varint(data, position)
            case 1:
                position += 8
            case 5:
                position += 4
            case wire_type:
                raise ValueError(f"proto: illegal wireType {wire_type}")
    if position > end:
        raise ValueError("unexpected EOF")
    return parts


def encode_event(event_type: str, wrapped: bytes) -> bytes:
    """One watch event, without the length before it.

    Args:
        event_type: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.
        wrapped: the object in its envelope.
    """
    return delimited(1, event_type.encode()) + delimited(2, delimited(1, wrapped))


def decode_event(data: bytes) -> tuple[str, bytes]:
    """Type and enveloped object of a watch event.

    Raises:
        ValueError: malformed.
    """
    parts = _parts(data, 0, len(data))
    inner = parts.get(2, b"")
    return parts.get(1, b"").decode("utf-8", "replace"), _parts(inner, 0, len(inner)).get(1, b"")


class ProtobufCodec:
    """Objects to messages and back, for every type the rows describe.

    Plans and classes are made when a type is first used (some milliseconds) and kept.

    Args:
        rows: message name to its rows, such as ``schema.builtin.message``.
    """

    def __init__(self, rows: Rows) -> None:
        self.descriptors = Descriptors(rows)
        self._compiler = Compiler(self.descriptors)
        self._known: dict[str, tuple[Any, Kind]] = {}
        self._layouts: dict[str, _Layout] = {}

    def _type(self, type_name: str) -> tuple[Any, Kind]:
        known = self._known.get(type_name)
        if known is None:
            message = message_name(type_name)
            kind = self._compiler.plan(message)
            known = self._known[type_name] = (self.descriptors.message_class(message), kind)
        return known

    def prepare(self, type_name: str) -> None:
        """Have what a type needs made now, so that another thread finds all of it.

        Raises:
            KeyError: no such type.
        """
        self._type(type_name)
        self._layout(message_name(type_name))

    def encode(self, obj: Json, type_name: str) -> bytes:
        """The message of an object, without envelope.

        Args:
            obj: the object as JSON; members its type does not have are left out.
            type_name: its type, such as ``io.k8s.api.core.v1.Pod``.

        Raises:
            KeyError: no such type.
            ValueError: a member has a value that does not fit its type.
        """
        message_class, kind = self._type(type_name)
        message = message_class.FromString(kind.template)
        try:
            kind.fill(message, obj)
            raw: bytes = message.SerializeToString()
        except RecursionError:
            raise ValueError("exceeded max depth") from None
        except _runtime_errors() as error:
            raise ValueError(str(error)) from error
        return raw

    def decode(self, raw: bytes, type_name: str) -> Json:
        """The object of a message, without ``apiVersion`` and ``kind``.

        Args:
            raw: bytes of the message, without envelope.
            type_name: its type, such as ``io.k8s.api.core.v1.Pod``.

        Raises:
            KeyError: no such type.
            ValueError: malformed, too deep or too large (``protoscan``).
        """
        message_class, kind = self._type(type_name)
        if len(raw) > protoscan.UNCHECKED_BYTES:
            protoscan.check(raw, self._layout(message_name(type_name)))
        try:
            obj: Json = kind.read(message_class.FromString(raw))
        except _runtime_errors() as error:
            if isinstance(error, ValueError):
                raise
            # The runtime does not say what is wrong; this is what it nearly always is.
            raise ValueError("unexpected EOF") from error
        return obj

    def encode_object(self, obj: Json, type_name: str) -> bytes:
        """An object in its envelope; arguments and errors as for ``encode``."""
        return wrap(obj.get("apiVersion", ""), obj.get("kind", ""), self.encode(obj, type_name))

    def encode_list(
        self, api_version: str, kind: str, list_meta: Json, items: Iterable[bytes]
    ) -> bytes:
        """A list in its envelope, of items that are encoded already.

        Args:
            api_version: of the list.
            kind: of the list, such as ``PodList``.
            list_meta: the list's ``metadata``.
            items: messages of the items, without envelope.
        """
        message = ListMessage(self, api_version, kind)
        for item in items:
            message.add(item)
        return b"".join(message.pieces(list_meta))

    def _layout(self, message: str) -> _Layout:
        known = self._layouts.get(message)
        if known is None:
            known = self._layouts[message] = _Layout()
            for field in self.descriptors.fields(message):
                inner = None if field.scalar else self._layout(field.type)
                if field.map:
                    inner = _Layout({2: inner} if inner else {})
                if inner is not None:
                    known.nested[field.number] = inner
        return known


class ListMessage:
    """A list that grows item by item and is written in pieces, once its length is known.

    Args:
        codec: encodes the metadata.
        api_version: of the list.
        kind: of the list, such as ``PodList``.
    """

    def __init__(self, codec: ProtobufCodec, api_version: str, kind: str) -> None:
        self._codec = codec
        self._api_version = api_version
        self._kind = kind
        numbers = _LIST_FIELDS.get((api_version, kind), _USUAL_LIST_FIELDS)
        self._meta_number, self._items_number = numbers
        self._tag = varint(self._items_number << 3 | _DELIMITED)
        self._pieces: deque[bytes] = deque()
        self._last: list[bytes] = []
        self._last_size = self._size = 0

    def framed(self, item: bytes) -> bytes:
        """The message of an item as it stands in the list."""
        return b"%b%b%b" % (self._tag, varint(len(item)), item)

    def around(self, list_meta: Json, size: int) -> tuple[bytes, bytes]:
        """What stands before and behind items of so many bytes, as `framed` makes them.

        Args:
            list_meta: the list's ``metadata``.
            size: bytes of all items.
        """
        meta = delimited(self._meta_number, self._codec.encode(list_meta, _LIST_META))
        before, behind = (meta, b"") if self._meta_number < self._items_number else (b"", meta)
        begin, end = _envelope(self._api_version, self._kind, size + len(meta))
        return begin + before, behind + end

    def add(self, item: bytes) -> None:
        """Append the message of an item, without envelope."""
        head = self._tag + varint(len(item))
        self._last += (head, item)
        self._last_size += len(head) + len(item)
        if self._last_size >= PIECE_BYTES:
            self._close_piece()

    def _close_piece(self) -> None:
        # Joined here and now: to let go of 100,000 items at the end takes long.
        self._pieces.append(b"".join(self._last))
        self._size += self._last_size
        self._last, self._last_size = [], 0

    def pieces(self, list_meta: Json) -> Iterator[bytes]:
        """The list in its envelope, in pieces of about `PIECE_BYTES`; nothing is left behind.

        Args:
            list_meta: the list's ``metadata``.
        """
        self._close_piece()
        before, behind = self.around(list_meta, self._size)
        yield before
        while self._pieces:
            yield self._pieces.popleft()
        yield behind


class _Layout:
    """Layouts of the messages a message has inside."""

    __slots__ = ("nested",)

    def __init__(self, nested: dict[int, _Layout | None] | None = None) -> None:
        self.nested: dict[int, _Layout | None] = {} if nested is None else nested


def _runtime_errors() -> tuple[type[Exception], ...]:
    """What filling and reading raise for values that do not fit."""
    from google.protobuf.message import DecodeError, EncodeError

    return (DecodeError, EncodeError, TypeError, ValueError, AttributeError, OverflowError)
