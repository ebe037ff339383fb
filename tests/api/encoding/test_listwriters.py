"""A list written item by item has the bytes of a list that is printed at once."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.encoding import serializers
from kubetrio.api.encoding.listwriters import (
    CollectedListWriter,
    FramedListWriter,
    Kept,
    ProtobufItems,
    frame_of,
)
from kubetrio.resources.representation import ListMeta, ListWriter
from kubetrio.store.model import KeyValue
from kubetrio.wire import protowire
from kubetrio.wire.negotiate import Accepted
from kubetrio.wire.protowire import ListMessage, unwrap

META = ListMeta(resource_version="7", continue_token="more")
JSON = Accepted(serializer="json", media_type="application/json")
PRETTY = Accepted(serializer="json", media_type="application/json", pretty=True)
YAML = Accepted(serializer="yaml", media_type="application/yaml")
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES), max_size=4)
# The second has members on both sides of its items in the order of YAML.
HEADS = (
    {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [{"name": "<A>"}]},
    {"kind": "ThingList", "apiVersion": "v1", "metadata": META.as_dict()},
)


def stored(objects: list[Any]) -> list[KeyValue]:
    return [KeyValue(f"/{n}", orjson.dumps(obj), n, n) for n, obj in enumerate(objects)]


def written(writer: ListWriter, values: list[KeyValue], step: int, *, whole: bool) -> bytes:
    parts = [writer.open(META)]
    parts += [writer.items(values[at : at + step]) for at in range(0, len(values), step)]
    return b"".join([*parts, *([writer.close()] if whole else writer.tail())])


@shortened(50)
@pytest.mark.parametrize("accepted", [JSON, PRETTY, YAML], ids=["json", "pretty", "yaml"])
@pytest.mark.parametrize(("head", "member"), [(HEADS[0], "rows"), (HEADS[1], "items")])
@given(objects=OBJECTS, step=st.integers(1, 3), whole=st.booleans())
def test_a_frame_with_items_is_the_list(
    accepted: Accepted,
    head: dict[str, Any],
    member: str,
    objects: list[Any],
    step: int,
    whole: bool,
) -> None:
    """In every text format, read in pieces of any size."""

    def empty(meta: ListMeta) -> dict[str, Any]:
        assert meta == META
        return {**head, member: []}

    writer = FramedListWriter(
        lambda meta: frame_of(empty(meta), accepted),
        orjson.loads,
        lambda meta: serializers.dump(empty(meta), accepted),
    )
    expected = serializers.dump({**head, member: objects}, accepted)
    if accepted is YAML:
        # What ends a document behind text that ends with empty lines says nothing at the very end.
        expected = expected.removesuffix(b"...\n")
    assert written(writer, stored(objects), step, whole=whole) == expected


@given(
    items=st.lists(st.binary(max_size=300)),
    version=st.sampled_from(["v1", "v1beta1"]),
    step=st.integers(1, 3),
)
def test_a_protobuf_list_in_pieces_is_the_list(items: list[bytes], version: str, step: int) -> None:
    """With its metadata in front of the items, or behind them in the one list that has it so."""
    codec = serializers.protobuf()
    group, kind = f"meta.k8s.io/{version}", "PartialObjectMetadataList"
    values = [KeyValue("", item, 1, 1) for item in items]
    results = set()
    for whole in (True, False):
        message = ListMessage(codec, group, kind)
        writer = CollectedListWriter(ProtobufItems(bytes, message))
        results.add(written(writer, values, step, whole=whole))
    assert results == {codec.encode_list(group, kind, META.as_dict(), items)}
    envelope = unwrap(results.pop())
    assert (envelope.api_version, envelope.kind) == (group, kind)
    assert envelope.raw.startswith(b"\n" if version == "v1" or items else b"\x12")
    assert len(envelope.raw) > sum(map(len, items))


def test_pieces_of_a_large_protobuf_list_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody holds the whole of it."""
    monkeypatch.setattr(protowire, "PIECE_BYTES", 1000)
    message = ListMessage(serializers.protobuf(), "v1", "ConfigMapList")
    for _ in range(100):
        message.add(b"x" * 90)
    pieces = list(message.pieces(META.as_dict()))
    assert len(pieces) > 8
    assert max(map(len, pieces)) < 1000 + 90 + 10
    assert len(unwrap(b"".join(pieces)).raw) > 9000


def test_a_collected_list_is_made_of_what_was_kept() -> None:
    """Of the metadata that it was opened with."""
    kept = Kept(bytes.upper, lambda meta, items: b"%d %b" % (len(meta), b"".join(items)))
    values = [KeyValue("", text, 1, 1) for text in (b"a", b"b", b"c")]
    assert written(CollectedListWriter(kept), values, 2, whole=False) == b"2 ABC"
