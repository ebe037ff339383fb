"""An OpenAPI v3 document as protobuf says what the JSON says."""

from collections.abc import Generator
from typing import Any

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.schema import openapi
from kubetrio.schema.openapi3_proto import MESSAGES
from kubetrio.schema.steps import finish
from kubetrio.wire.protowire import delimited

PATH = "apis/apps/v1"
DOCUMENT = openapi.document(registry(), PATH, version="1.36")


@pytest.mark.parametrize(
    ("message", "member", "number"),
    [
        ("Document", "x-", 9),
        ("Info", "summary", 8),
        ("Components", "x-", 10),
        ("PathItem", "trace", 11),
        ("PathItem", "x-", 14),
        ("Operation", "x-", 13),
        ("Parameter", "x-", 14),
        ("Header", "x-", 12),
        ("MediaType", "x-", 5),
        ("Link", "x-", 7),
        ("Schema", "required", 23),
        ("Schema", "x-", 36),
        ("SecurityScheme", "x-", 9),
    ],
)
def test_numbers_are_gnostics(message: str, member: str, number: int) -> None:
    """Those at the end of a message: any one left out before shifts them."""
    assert MESSAGES.members[message][member][0] == number


def schema(value: dict[str, Any]) -> bytes:
    """The bytes of a schema, out of a document with nothing else."""
    whole = MESSAGES.encode({"components": {"schemas": {"A": value}}})
    for key in (b"\x2a", b"\x0a", b"\x0a", b"\x0a"):
        assert whole[:1] == key
        whole = whole[2:]
    assert whole[:3] == b"A\x12%c" % (len(whole) - 3)
    return whole[3:]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({}, b""),
        ([], b""),
        ("", b"\x1a\x00"),
        ("TCP", b"\x1a\x03TCP"),
        (False, b"\x10\x00"),
        (0, b"\x09" + bytes(8)),
        (1, b"\x09" + bytes(6) + b"\xf0\x3f"),
    ],
)
def test_defaults(value: object, field: bytes) -> None:
    """Each type has a field of its own, which is there for a zero too; objects have none."""
    assert schema({"default": value}) == delimited(1, delimited(33, field))


def test_references() -> None:
    """A reference is the other choice wherever a schema may be."""
    reference = delimited(2, delimited(1, b"#/x"))
    assert schema({"$ref": "#/x"}) == reference
    assert schema({"allOf": [{"$ref": "#/x"}]}) == delimited(1, delimited(26, reference))
    assert schema({"items": {"$ref": "#/x"}}) == delimited(
        1, delimited(30, delimited(1, reference))
    )
    assert schema({"additionalProperties": {"$ref": "#/x"}}) == delimited(
        1, delimited(32, delimited(1, reference))
    )


def test_steps_make_the_document() -> None:
    """It is made of the same value as the JSON, a few paths or types at a time."""
    results = []

    def run() -> Generator[None]:
        steps = openapi.protobuf_steps(registry(), PATH, version="1.36")
        results.append((yield from steps))

    assert len(list(run())) > 20
    assert DOCUMENT is not None
    assert results == [finish(MESSAGES.steps(orjson.loads(DOCUMENT)))]
