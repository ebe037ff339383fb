"""Writers of lists; each piece is made of the objects it shows, and none waits for all of them.

Text formats have a place for items, so that a list goes out while it is read.  Protobuf and CBOR
say its length in front: their items are encoded as they come and written at the end, in pieces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import orjson

from kubetrio.resources.representation import ListMeta, ListWriter
from kubetrio.schema.kind import Kind
from kubetrio.store.model import KeyValue
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import ListMessage

Object = dict[str, Any]


def list_metadata(resource: Kind, meta: ListMeta) -> dict[str, Any]:
    """Metadata of a list; those of custom resources always have where the next page begins."""
    shown = meta.as_dict()
    return shown if resource.builtin else {"continue": "", **shown}


class JsonListWriter:
    """Writes a list of stored objects without looking into them.

    Args:
        resource: the resource.
        skip: bytes of a stored object in front of what an item shows.
    """

    def __init__(self, resource: Kind, skip: int) -> None:
        self._resource = resource
        self._skip = skip
        self._brace = b"{" if skip else b""
        self._empty = True

    def open(self, meta: ListMeta) -> bytes:
        """Kind, apiVersion and metadata."""
        return b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
            self._resource.list_kind.encode(),
            self._resource.api_version.encode(),
            orjson.dumps(list_metadata(self._resource, meta)),
        )

    def lead(self) -> bytes:
        """Where items carry neither kind nor apiVersion, the brace they begin with is ours."""
        first, self._empty = self._empty, False
        return self._brace if first else b"," + self._brace

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Items one by one."""
        if not values:
            return b""
        between = b"," + self._brace
        return self.lead() + between.join([value.value[self._skip :] for value in values])

    def close(self) -> bytes:
        """The end, with the newline that Go's encoder writes."""
        return b"]}\n"

    def tail(self) -> Iterator[bytes]:
        """See `ListWriter`."""
        yield self.close()


@dataclass(frozen=True, slots=True)
class Frame:
    """A list without its items, as text.

    Args:
        begin: what comes in front of the first item.
        between: what comes between two.
        end: what comes behind the last.
        item: an item as text.
    """

    begin: bytes
    between: bytes
    end: bytes
    item: Callable[[Object], bytes]


def frame_of(whole: Object, accepted: Accepted) -> Frame:
    """The frame of a list in a text format.

    Args:
        whole: a list whose last member is where items go.
        accepted: JSON, indented or not, or YAML.
    """
    member = next(reversed(whole))
    if accepted.serializer == "yaml":
        return _yaml_frame(whole, member)
    empty = {**whole, member: []}
    if accepted.pretty:
        begin = jsonwire.encode_indented(empty).removesuffix(b"]\n}") + b"\n"
        return Frame(begin, b",\n", b"\n  ]\n}", _indented)
    return Frame(jsonwire.encode(empty).removesuffix(b"]}"), b",", b"]}\n", jsonwire.encode)


def _indented(obj: Object) -> bytes:
    # Line breaks inside strings are escaped, so these are those between members.
    return b"    " + jsonwire.encode_indented(obj).replace(b"\n", b"\n    ")


def _yaml_frame(whole: Object, member: str) -> Frame:
    from kubetrio.wire import yamlorder, yamlwire

    keys = yamlorder.sorted_keys(whole)
    at = keys.index(member)
    before, behind = ({key: whole[key] for key in part} for part in (keys[:at], keys[at + 1 :]))
    begin = (yamlwire.encode(before) if before else b"") + b"%b:\n" % member.encode()
    end = yamlwire.encode(behind) if behind else b""
    # A list in a mapping is not indented, so that its items look as those of a list alone.  Behind
    # text that ends with empty lines stands the end of the document, which here is none.
    return Frame(begin, b"", end, lambda obj: yamlwire.encode([obj]).removesuffix(b"...\n"))


class _Later:
    """Begins to write when the first items are there: nothing is joined by the store for it."""

    def __init__(self) -> None:
        self._meta = ListMeta(resource_version="")

    def open(self, meta: ListMeta) -> bytes:
        """Remember the metadata."""
        self._meta = meta
        return b""

    def lead(self) -> bytes:
        """See `ListWriter`; there are no joined bytes."""
        return b""


class FramedListWriter(_Later):
    """Writes items into a frame.

    Args:
        frame: the frame of a list with this metadata.
        item: a stored object as the list shows it.
        empty: the whole list if it has no items: formats write that differently.
    """

    def __init__(
        self,
        frame: Callable[[ListMeta], Frame],
        item: Callable[[bytes], Object],
        empty: Callable[[ListMeta], bytes],
    ) -> None:
        super().__init__()
        self._make_frame = frame
        self._item = item
        self._empty = empty
        self._frame: Frame | None = None

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Items, behind what comes in front of the first."""
        if not values:
            return b""
        frame = self._frame
        if frame is None:
            frame = self._frame = self._make_frame(self._meta)
            before = frame.begin
        else:
            before = frame.between
        return before + frame.between.join(
            [frame.item(self._item(value.value)) for value in values]
        )

    def close(self) -> bytes:
        """The end, or the whole of a list without items."""
        return self._empty(self._meta) if self._frame is None else self._frame.end

    def tail(self) -> Iterator[bytes]:
        """See `ListWriter`."""
        yield self.close()


class Collected(Protocol):
    """A list that is written when all its items are known."""

    def add(self, value: bytes) -> None:
        """Take a stored object."""
        ...

    def pieces(self, meta: ListMeta) -> Iterator[bytes]:
        """The list."""
        ...


class CollectedListWriter(_Later):
    """Writes a list at its end, where its length is known.

    Args:
        collected: takes the items.
    """

    def __init__(self, collected: Collected) -> None:
        super().__init__()
        self._collected = collected

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Encode and keep items."""
        for value in values:
            self._collected.add(value.value)
        return b""

    def close(self) -> bytes:
        """The whole list."""
        return b"".join(self.tail())

    def tail(self) -> Iterator[bytes]:
        """See `ListWriter`."""
        return self._collected.pieces(self._meta)


class Kept:
    """Items in a form of their own, and what makes a list of them.

    Args:
        encode_item: a stored object as it is kept.
        finish: metadata and items to the whole list.
    """

    def __init__(
        self,
        encode_item: Callable[[bytes], bytes],
        finish: Callable[[Object, list[bytes]], bytes],
    ) -> None:
        self._encode_item = encode_item
        self._finish = finish
        self._items: list[bytes] = []

    def add(self, value: bytes) -> None:
        """See `Collected`."""
        self._items.append(self._encode_item(value))

    def pieces(self, meta: ListMeta) -> Iterator[bytes]:
        """See `Collected`."""
        yield self._finish(meta.as_dict(), self._items)


class ProtobufItems:
    """Items of a protobuf list, encoded as they come.

    Args:
        encode_item: a stored object as a message without envelope.
        message: the list.
    """

    def __init__(self, encode_item: Callable[[bytes], bytes], message: ListMessage) -> None:
        self._encode_item = encode_item
        self._message = message

    def add(self, value: bytes) -> None:
        """See `Collected`."""
        self._message.add(self._encode_item(value))

    def pieces(self, meta: ListMeta) -> Iterator[bytes]:
        """See `Collected`."""
        return self._message.pieces(meta.as_dict())


class Step(NamedTuple):
    """A part of a list that is still to be written.

    Args:
        large: whether that takes long.
        write: gives its bytes.
    """

    large: bool
    write: Callable[[], bytes]


class StagedListWriter:
    """Writes small objects at once, and leaves large ones, and what comes behind, to others.

    The reader of a list does not wait for each object, so what takes long is kept until a page is
    read.  All steps are to be done, in order, before the next page is written.

    Args:
        writer: writes the list.
        steps: where what is left is put.
        inline_bytes: size of the largest objects that are written at once.
    """

    def __init__(self, writer: ListWriter, steps: deque[Step], inline_bytes: int) -> None:
        self._writer = writer
        self._steps = steps
        self._inline_bytes = inline_bytes
        self.open = writer.open
        self.lead = writer.lead
        self.tail = writer.tail

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Those in front of the first large one; the others are steps."""
        written, begin = b"", 0
        for number, value in enumerate(values):
            if len(value.value) > self._inline_bytes:
                written += self._small(values[begin:number])
                self._steps.append(Step(True, partial(self._writer.items, [value])))
                begin = number + 1
        return written + self._small(values[begin:] if begin else values)

    def _small(self, values: Sequence[KeyValue]) -> bytes:
        if not values or not self._steps:
            return self._writer.items(values) if values else b""
        self._steps.append(Step(False, partial(self._writer.items, values)))
        return b""

    def close(self) -> bytes:
        """See `ListWriter`."""
        if not self._steps:
            return self._writer.close()
        self._steps.append(Step(True, self._writer.close))
        return b""
