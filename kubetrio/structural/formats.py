"""Formats in schemas of CustomResourceDefinitions that mean nothing to the server.

Such a format is accepted and ignored; who writes it is warned.  Source: "Extend the Kubernetes
API with CustomResourceDefinitions" in the Kubernetes documentation; KEP-1111; the release notes of
1.34 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubetrio.gotext.text import quote
from kubetrio.machinery.members import member
from kubetrio.schema.rules import Json

_TEXTS = frozenset(
    [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "quantity",
        "k8sshortname",
        "k8slongname",
    ]
)
"""Formats of texts; dashes do not count."""
_FORMATS: Mapping[str, frozenset[str]] = {
    "": _TEXTS,
    "string": _TEXTS,
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


_PARTS = (
    ("items", True),
    ("allOf", False),
    ("anyOf", False),
    ("oneOf", False),
    ("not", True),
    ("properties", False),
    ("additionalProperties", True),
    ("patternProperties", False),
    ("additionalItems", True),
    ("definitions", False),
    ("dependencies", False),
)
"""Members of schemas that are schemas, in the order in which they are looked at.

With each, whether it is one schema, or else several by name or in a list; items are either.
"""


def _schemas(values: Any) -> Iterator[Json]:
    if isinstance(values, dict):
        values = [values[key] for key in sorted(values)]
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value


def parts(schema: Mapping[str, Any]) -> Iterator[Json]:
    """Every schema directly inside another one.

    Args:
        schema: a schema, structural or not.
    """
    for name, one in _PARTS:
        if name in schema:
            value = schema[name]
            yield from _schemas([value] if one and not isinstance(value, list) else value)


def is_known(kind: str, name: str) -> bool:
    """Whether a format means something for values of a type.

    Args:
        kind: the type, or empty.
        name: the format.
    """
    plain = name.replace("-", "") if kind in ("", "string") else name
    return plain in _FORMATS.get(kind, ())


def _note_unrecognized(schema: Mapping[str, Any], found: dict[str, None]) -> None:
    name = schema.get("format")
    if name and not is_known(schema.get("type") or "", name):
        found[name] = None
    for inner in parts(schema):
        _note_unrecognized(inner, found)


def _unrecognized_in(definition: Json | None) -> dict[str, None]:
    """Names of the formats, each once, in the order in which they are met."""
    versions: Sequence[Json] = member(definition, "spec").get("versions") or ()
    names: dict[str, None] = {}
    for version in versions:
        _note_unrecognized(member(member(version, "schema"), "openAPIV3Schema"), names)
    return names


def format_warnings(new: Json, old: Json | None) -> list[str]:
    """Warnings about formats that are not recognized; not about those already stored.

    Args:
        new: the definition as it would be stored.
        old: the definition as it is stored; None for a create.
    """
    known = _unrecognized_in(old)
    return [
        f"unrecognized format {quote(name)}" for name in _unrecognized_in(new) if name not in known
    ]
