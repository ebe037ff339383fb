"""Messages with a JSON form of their own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.schema import builtin
from kubetrio.wire.protoscan import read_varint
from kubetrio.wire.protovalues import from_base64, number, varint
from kubetrio.wire.protowire import ProtobufCodec

CODEC = ProtobufCodec(builtin.message)
META = "io.k8s.apimachinery.pkg.apis.meta.v1."


@settings(max_examples=50)
@given(st.integers(-(2**63), 2**64 - 1))
def test_varint(value: int) -> None:
    """What is written is read, negative numbers modulo 2^64."""
    raw = varint(value)
    assert read_varint(raw, 0) == (value % 2**64, len(raw))


@pytest.mark.parametrize(
    ("text", "raw", "back"),
    [
        ("2024-01-01T00:00:00Z", "088081c8ac061000", "2024-01-01T00:00:00Z"),
        ("2024-01-01T02:00:00.9+02:00", "088081c8ac061000", "2024-01-01T00:00:00Z"),
        ("1970-01-01T00:00:00Z", "08001000", "1970-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "", None),
        ("9999-12-31T23:59:59Z", "08ff82d1ffaf071000", "9999-12-31T23:59:59Z"),
    ],
)
def test_time(text: str, raw: str, back: str | None) -> None:
    """Seconds and a zero are always written; the zero time is an empty message."""
    obj = {"time": text, "manager": "m"}
    encoded = CODEC.encode(obj, f"{META}ManagedFieldsEntry")
    assert bytes((0x22, len(raw) // 2)).hex() + raw in encoded.hex()
    assert CODEC.decode(encoded, f"{META}ManagedFieldsEntry").get("time") == back


def test_nanos_of_a_time_are_ignored() -> None:
    """A client's fraction of a second is not kept, as JSON could not show it."""
    raw = bytes.fromhex("2207" + "08011080e1eb17")
    assert CODEC.decode(raw, f"{META}ManagedFieldsEntry") == {"time": "1970-01-01T00:00:01Z"}


def test_micro_time() -> None:
    """Microseconds survive, nanoseconds are cut."""
    lease = {"renewTime": "9999-12-31T23:59:59.123456Z"}
    name = "io.k8s.api.coordination.v1.LeaseSpec"
    assert CODEC.decode(CODEC.encode(lease, name), name) == lease


def test_time_out_of_range() -> None:
    """A year JSON cannot write is refused."""
    raw = b"\x22" + bytes((11,)) + b"\x08" + varint(2**62) + b"\x10"
    with pytest.raises(ValueError):
        CODEC.decode(raw, f"{META}ManagedFieldsEntry")


@pytest.mark.parametrize("port", [0, 8080, -1, "http", ""])
def test_int_or_string(port: int | str) -> None:
    """All three fields are written, and the type tells them apart."""
    name = "io.k8s.api.core.v1.TCPSocketAction"
    raw = CODEC.encode({"port": port}, name)
    assert raw[2:].startswith(b"\x08\x01\x10" if isinstance(port, str) else b"\x08\x00\x10")
    assert CODEC.decode(raw, name) == {"port": port}


def test_impossible_int_or_string() -> None:
    """A third type is an error, in Go's words."""
    with pytest.raises(ValueError, match="impossible IntOrString"):
        CODEC.decode(b"\x0a\x02\x08\x02", "io.k8s.api.core.v1.TCPSocketAction")


def test_unset_quantity_is_zero() -> None:
    """A quantity that is a Go value is written as 0 and printed as 0."""
    name = "io.k8s.api.core.v1.ResourceFieldSelector"
    raw = CODEC.encode({"resource": "cpu"}, name)
    assert raw == b"\x0a\x00\x12\x03cpu\x1a\x03\x0a\x010"
    assert CODEC.decode(raw, name) == {"resource": "cpu", "divisor": "0"}


@pytest.mark.parametrize("raw", [b"{", b"[" * 300 + b"]" * 300, b"\xff"])
def test_bad_embedded_json(raw: bytes) -> None:
    """Embedded JSON must be JSON, and not nested beyond what can be printed."""
    name = "io.k8s.api.apps.v1.ControllerRevision"
    extension = b"\x0a" + varint(len(raw)) + raw
    message = b"\x12" + varint(len(extension)) + extension
    with pytest.raises(ValueError):
        CODEC.decode(message, name)


def test_schema_unions() -> None:
    """The unions of JSON schemas keep their alternatives apart."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    schema = {
        "items": [{"type": "string"}, {}],
        "additionalProperties": False,
        "additionalItems": {"type": "object"},
        "dependencies": {"a": ["b"], "c": {"type": "string"}},
        "default": {"x": [1, None]},
        "maximum": 1.5,
        "minimum": 0,
        "x-kubernetes-preserve-unknown-fields": False,
    }
    assert CODEC.decode(CODEC.encode(schema, name), name) == schema


def test_numbers() -> None:
    """Doubles are printed as Go prints them; JSON has no infinity."""
    assert repr(number(3.0)) == "3"
    assert repr(number(1e21)) == "1e+21"
    with pytest.raises(ValueError):
        number(float("nan"))


def test_base64_with_line_breaks() -> None:
    """Line breaks are skipped, anything else is not."""
    assert from_base64("aG\r\nk=") == b"hi"
    with pytest.raises(ValueError):
        from_base64("aG k=")
