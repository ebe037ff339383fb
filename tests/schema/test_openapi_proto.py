"""What both protobuf forms of OpenAPI documents have in common."""

import pytest

from kubetrio.schema.openapi_proto import Messages, numbered

COMMON = {"x-": "[NamedAny]", "any": "Any"}
TABLES = Messages(
    members={
        "Document": numbered(COMMON, "name", "any", "many", "one", "x-", many="Many", one="One"),
    },
    maps={"Many": (1, "string", 0)},
    lists={},
    choices={"One": lambda value: (1, "present int") if value is not None else (0, "")},
    large=frozenset({"Document", "Many"}),
)


@pytest.mark.parametrize(
    ("value", "yaml"),
    [
        ("list", "list\n"),
        ("", '""\n'),
        ("*", "'*'\n"),
        ("true", '"true"\n'),
        (1, "1\n"),
        (False, "false\n"),
        ({}, "{}\n"),
        ([], "[]\n"),
        (["name", "port"], "- name\n- port\n"),
        ({"version": "v1", "group": ""}, 'version: v1\ngroup: ""\n'),
        ([{"a": "b", "c": {"d": "e"}}], "- a: b\n  c:\n    d: e\n"),
    ],
)
def test_a_value_of_any_type(value: object, yaml: str) -> None:
    """It is YAML in block style, members in their order, quoted only where it must be."""
    text = yaml.encode()
    inner = b"\x12%c%b" % (len(text), text)
    assert TABLES.encode({"any": value}) == b"\x12%c%b" % (len(inner), inner)


def test_fields_in_order_of_their_numbers() -> None:
    """Whatever the order of the members."""
    assert (
        TABLES.encode({"many": {"k": "v"}, "name": "n"}) == b"\n\x01n\x1a\x08\n\x06\n\x01k\x12\x01v"
    )


def test_nothing_chosen() -> None:
    """A value that none of the choices has a field for leaves an empty message."""
    assert TABLES.encode({"one": None}) == b'"\x00'
    assert TABLES.encode({"one": 0}) == b'"\x02\x08\x00'
