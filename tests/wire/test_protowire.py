"""Envelopes, lists and watch events in protobuf."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.schema import builtin
from kubetrio.testing.effort import calls
from kubetrio.wire import protowire
from kubetrio.wire.protowire import NO_MAGIC, Envelope, ProtobufCodec, unwrap, wrap

CODEC = ProtobufCodec(builtin.message)
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# As sent by a client to a kube-apiserver, which took it.
RECORDED = base64.b64decode(
    "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhoKEAoCcGISABoAWgYKAWESAWISBgoBaxIBdhoAIgA="
)


def test_recorded_object() -> None:
    """A recorded body is read as the object it was, and its envelope is made anew."""
    envelope = unwrap(RECORDED)
    assert (envelope.api_version, envelope.kind) == ("v1", "ConfigMap")
    assert CODEC.decode(envelope.raw, CONFIG_MAP) == {
        "metadata": {"name": "pb", "labels": {"a": "b"}},
        "data": {"k": "v"},
    }
    assert wrap("v1", "ConfigMap", envelope.raw) == RECORDED


def numbers(raw: bytes) -> list[int]:
    """Field numbers of a message, in order, repetitions once."""
    from kubetrio.wire.protoscan import read_length, read_varint

    found, position = [], 0
    while position < len(raw):
        tag, position = read_varint(raw, position)
        found.append(tag >> 3)
        read = read_length(raw, position, len(raw)) if tag & 7 == 2 else read_varint(raw, position)
        position = read[1]
    return list(dict.fromkeys(found))


def test_fields_kube_apiserver_writes() -> None:
    """The fields seen in answers of a kube-apiserver are the fields written."""
    meta = {
        "name": "n", "uid": "u", "resourceVersion": "1",
        "creationTimestamp": "2024-01-01T00:00:00Z", "labels": {"a": "b"},
        "managedFields": [{"manager": "m"}],
    }  # fmt: skip
    raw = CODEC.encode(
        {"metadata": meta, "status": {"phase": "Active"}}, "io.k8s.api.core.v1.Namespace"
    )
    assert numbers(raw) == [1, 2, 3]
    assert numbers(CODEC.encode(meta, f"{META}ObjectMeta")) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 17]
    failure = {"status": "Failure", "details": {"name": "x"}, "code": 404}
    assert numbers(CODEC.encode(failure, protowire.STATUS)) == [1, 2, 3, 4, 5, 6]
    assert numbers(CODEC.encode({"groups": []}, f"{META}APIGroupList")) == []
    wrapped = CODEC.encode_object({"apiVersion": "v1", "kind": "Status"}, protowire.STATUS)
    assert numbers(wrapped[4:]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty data"),
        (b"hello world", NO_MAGIC),
        (b"k8s\x00\x0a\x0f", "unexpected EOF"),
        (RECORDED[:-9], "unexpected EOF"),
        (b"k8s\x00\x0f", "proto: illegal wireType 7"),
        (b"k8s\x00" + b"\xff" * 11, "proto: integer overflow"),
        (b"k8s\x00\x09", "unexpected EOF"),
    ],
)
def test_bad_envelopes(data: bytes, message: str) -> None:
    """Errors have kube-apiserver's words."""
    with pytest.raises(ValueError) as caught:
        unwrap(data)
    assert str(caught.value) == message


@settings(max_examples=30)
@given(st.text(max_size=300), st.text(max_size=20), st.binary(max_size=300))
def test_envelope_round_trip(api_version: str, kind: str, raw: bytes) -> None:
    """What is wrapped is unwrapped."""
    assert unwrap(wrap(api_version, kind, raw)) == Envelope(api_version, kind, raw)


def test_list_of_encoded_items() -> None:
    """A list put together is the list encoded as one."""
    items = [{"metadata": {"name": name}, "data": {"k": "v" * 200}} for name in "abc"]
    meta = {"resourceVersion": "5", "continue": "x", "remainingItemCount": 0}
    made = CODEC.encode_list(
        "v1", "ConfigMapList", meta, (CODEC.encode(i, CONFIG_MAP) for i in items)
    )
    whole = {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": meta, "items": items}
    assert made == CODEC.encode_object(whole, f"{CONFIG_MAP}List")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_list_of_metadata(version: str) -> None:
    """The list of the beta version has its fields the other way round."""
    items = [{"metadata": {"name": "a"}}]
    raw = [CODEC.encode(item, protowire.PARTIAL_METADATA) for item in items]
    kind = "PartialObjectMetadataList"
    made = CODEC.encode_list(f"meta.k8s.io/{version}", kind, {"resourceVersion": "5"}, raw)
    back = CODEC.decode(unwrap(made).raw, f"io.k8s.apimachinery.pkg.apis.meta.{version}.{kind}")
    assert back["metadata"] == {"resourceVersion": "5"}
    assert back["items"] == items


def test_event() -> None:
    """An event is a type and an object in its envelope, itself without one."""
    event = protowire.encode_event("ADDED", RECORDED)
    assert event[:7] == b"\x0a\x05ADDED"
    assert protowire.decode_event(event) == ("ADDED", RECORDED)


def test_unknown_type() -> None:
    """A type that does not exist is a KeyError, every time."""
    for _ in range(2):
        with pytest.raises(KeyError):
            CODEC.encode({}, "io.k8s.api.core.v1.Nope")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["core.v1.Pod", "core.v1.Event", "batch.v1.Job"]))
def test_any_bytes(data: bytes, name: str) -> None:
    """Bytes of any kind are read or refused with a ValueError."""
    with suppress(ValueError):
        CODEC.decode(data, f"io.k8s.api.{name}")
    with suppress(ValueError):
        unwrap(b"k8s\x00" + data)
    with suppress(ValueError):
        protowire.decode_event(data)


def test_strings_that_are_not_utf8() -> None:
    """Bytes that are no UTF-8 are replaced, in strings, lists and maps."""
    raw = b"\x0a\x0e\x0a\x01\xff\x5a\x06\x0a\x01\xff\x12\x01\xff\x72\x01\xff"
    assert CODEC.decode(raw, CONFIG_MAP) == {
        "metadata": {"name": "\ufffd", "labels": {"\ufffd": "\ufffd"}, "finalizers": ["\ufffd"]}
    }


@pytest.mark.parametrize("fields", [b"\x1a\x00", b"\x30\x01", b"\x0a\x00"])
def test_fields_of_an_envelope_are_bounded(fields: bytes) -> None:
    """It has four; a million empty ones would cost a second."""
    body = protowire.MAGIC + fields * 1_000_000
    made = calls(lambda: protowire.unwrap(body))
    assert sum(made.values()) < 10 * protowire.MAX_ENVELOPE_FIELDS
    with pytest.raises(ValueError, match="proto: message has too many fields"):
        protowire.unwrap(body)


@given(
    st.lists(st.tuples(st.sampled_from(["name", "namespace", "labels"]), st.sampled_from("abc"))),
    st.integers(0, 3),
)
def test_of_fields_that_come_twice_the_last_counts(
    members: list[tuple[str, str]], unknown: int
) -> None:
    """Maps and messages inside are merged, and what is not known is nothing, as for Go."""
    wanted: dict[str, object] = {}
    labels: dict[str, str] = {}
    raw = protowire.delimited(90 + unknown, b"x") * unknown
    for name, value in members:
        part: object = value
        if name == "labels":
            part = {value: value}
            labels[value] = value
        raw += CODEC.encode({name: part}, f"{META}ObjectMeta")
        wanted[name] = labels if name == "labels" else value
    found = CODEC.decode(raw, f"{META}ObjectMeta")
    found.pop("creationTimestamp", None)
    # A message says of each text that it is empty, unless it says something else.
    last = {"name": "", "namespace": ""} | wanted
    for name in ("name", "namespace"):
        if name in wanted and members[-1][0] != name:
            last[name] = ""
    assert found == {name: value for name, value in last.items() if value}


def test_of_envelopes_that_come_twice_the_last_counts() -> None:
    """The kind that is decoded is the kind that is stored."""
    both = wrap("v1", "Secret", b"") + wrap("v1", "ConfigMap", b"x")[4:]
    assert unwrap(both) == unwrap(wrap("v1", "ConfigMap", b"x"))
