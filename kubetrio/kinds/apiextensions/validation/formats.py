"""Formats in schemas of CustomResourceDefinitions that mean nothing to the server.

Such a format is accepted and ignored; who writes it is warned.  Source: "Extend the Kubernetes
API with CustomResourceDefinitions" in the Kubernetes documentation; KEP-1111; the release notes of
1.34 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Json, member
from kubetrio.machinery.fielderrors import quote

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
    items = schema.get("items")
    yield from _schemas([items] if isinstance(items, dict) else items)
    for name in ("allOf", "anyOf", "oneOf"):
        yield from _schemas(schema.get(name))
    yield from _schemas([schema.get("not")])
    yield from _schemas(schema.get("properties"))
    yield from _schemas([schema.get("additionalProperties")])
    yield from _schemas(schema.get("patternProperties"))
    yield from _schemas([schema.get("additionalItems")])
    yield from _schemas(schema.get("definitions"))
    yield from _schemas(schema.get("dependencies"))


def is_known(kind: str, name: str) -> bool:
    """Whether a format means something for values of a type.

    Args:
        kind: the type, or empty.
        name: the format.
    """
    plain = name.replace("-", "") if kind in ("", "string") else name
    return plain in _FORMATS.get(kind, ())


def _unrecognized(schema: Mapping[str, Any]) -> Iterator[str]:
    name = schema.get("format")
    if name and not is_known(schema.get("type") or "", name):
        yield name
    for inner in parts(schema):
        yield from _unrecognized(inner)


def _unrecognized_in(definition: Json | None) -> dict[str, None]:
    """Names of the formats, each once, in the order in which they are met."""
    versions: Sequence[Json] = member(definition, "spec").get("versions") or ()
    schemas = [member(member(version, "schema"), "openAPIV3Schema") for version in versions]
    return dict.fromkeys(name for schema in schemas for name in _unrecognized(schema))


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
