"""How large the values of a schema can be: what estimates of cost begin with.

What a schema does not bound is bounded by the largest request, 3 MiB of JSON.

Source: k8s.io/apiserver/pkg/cel/common/schemas.go (``SchemaDeclType``) and pkg/cel/limits.go; docs
"Extend the Kubernetes API with CustomResourceDefinitions" (resource use by validation functions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubetrio.cel.escaping import escaped
from kubetrio.cel.ranges import MOST, times

Schema = Mapping[str, Any]

REQUEST = 3 * 1024 * 1024  # bytes
_TEXT = 2  # bytes of ""
_OBJECT = 2  # bytes of {} or []
_PAIR = 6  # bytes of a member of a map beside its value
_FIELD = 4  # bytes of a member of an object beside its name and value
_RUNE = 4  # bytes
_FORMATS: Mapping[str, tuple[int, int]] = {
    "duration": (3, 32),
    "date": (12, 12),
    "date-time": (21, 32),
}
"""Bytes of the shortest value of a format, and what its longest counts as."""
_SCALARS: Mapping[str, int] = {"boolean": 4, "number": 1, "integer": 1}
"""Bytes of the shortest value."""


@dataclass(frozen=True, slots=True)
class Sized:
    """The size of values.

    Args:
        most: how many items, members or bytes there can be; 0 for what has none.
        shortest: bytes of the shortest value in JSON.
        item: what is in a list or map.
        key: what the keys of a map are.
        fields: what is in an object, by escaped name.
    """

    most: int = 0
    shortest: int = 0
    item: Sized | None = None
    key: Sized | None = None
    fields: Mapping[str, Sized] = field(default_factory=dict)

    def at(self, path: Sequence[str]) -> Sized | None:
        """What is at a path: names of fields, ``@items``, ``@values`` and ``@keys``."""
        sized: Sized | None = self
        for name in path:
            if sized is None:
                return None
            if name in ("@items", "@values"):
                sized = sized.item
            elif name == "@keys":
                sized = sized.key
            else:
                sized = sized.fields.get(name)
        return sized

    @property
    def cardinality(self) -> int:
        """How many such values one request can hold, with a comma between them."""
        return REQUEST // (self.shortest + 1)


_KEY = Sized(shortest=_TEXT)
_ANY_TEXT: Schema = {"type": "string"}
_META: Schema = {
    "type": "object",
    "properties": {"name": _ANY_TEXT, "generateName": _ANY_TEXT},
}
_ROOT: Mapping[str, Schema] = {"kind": _ANY_TEXT, "apiVersion": _ANY_TEXT, "metadata": _META}


def size_of(schema: Schema, *, whole: bool) -> Sized | None:
    """The size of the values of a schema, None for values that expressions do not see.

    Args:
        schema: a structural schema.
        whole: whether it is that of a resource.
    """
    return Sizes().of(schema, whole=whole)


class Sizes:
    """The sizes of the parts of one schema, each found out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], Sized | None] = {}

    def of(self, schema: Schema, *, whole: bool) -> Sized | None:
        """See `size_of`; the schema is one, and stays as it is, as long as this is asked."""
        key = id(schema), whole
        if key not in self._known:
            self._known[key] = _size(schema, self, whole=whole)
        return self._known[key]

    def part(self, schema: Schema) -> Sized | None:
        """Return the size of a part of a value, as `of` does."""
        return self.of(schema, whole=bool(schema.get("x-kubernetes-embedded-resource")))


def _size(schema: Schema, sizes: Sizes, *, whole: bool) -> Sized | None:
    if schema.get("x-kubernetes-int-or-string"):
        return Sized(_length(schema), 1)
    kind = schema.get("type") or ""
    if kind == "array":
        return _list(schema, sizes)
    if kind == "object":
        return _object(schema, sizes, whole=whole)
    if kind == "string":
        return _text(schema)
    shortest = _SCALARS.get(kind)
    return None if shortest is None else Sized(shortest=shortest)


def _bound(schema: Schema, name: str) -> int | None:
    bound = schema.get(name)
    return None if bound is None else max(int(bound), 0)


def _length(schema: Schema) -> int:
    bound = _bound(schema, "maxLength")
    return REQUEST - _TEXT if bound is None else bound * _RUNE & MOST


def _list(schema: Schema, sizes: Sizes) -> Sized | None:
    items = schema.get("items")
    inner = sizes.part(items) if isinstance(items, Mapping) else None
    if inner is None:
        return None
    bound = _bound(schema, "maxItems")
    most = (REQUEST - _OBJECT) // (inner.shortest + 1) if bound is None else bound
    return Sized(most, _OBJECT, inner)


def _object(schema: Schema, sizes: Sizes, *, whole: bool) -> Sized | None:
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        inner = sizes.part(others)
        if inner is None:
            return None
        bound = _bound(schema, "maxProperties")
        most = (REQUEST - _OBJECT) // (inner.shortest + _PAIR) if bound is None else bound
        return Sized(most, _OBJECT, inner, _KEY)
    properties = schema.get("properties") or {}
    if whole and not _has_meta(properties):
        properties = {**properties, **_ROOT}
    required = set(schema.get("required") or ())
    fields: dict[str, Sized] = {}
    shortest = _OBJECT
    for name, part in properties.items():
        inner = sizes.part(part)
        if inner is None:
            continue
        if known := escaped(name):
            fields[known] = inner
        if name in required and part.get("default") is None:
            shortest += len(name.encode()) + inner.shortest + _FIELD
    return Sized(0, shortest, fields=fields)


def _has_meta(properties: Mapping[str, Schema]) -> bool:
    """Whether a resource declares what is declared for it else."""
    meta = properties.get("metadata") or {}
    inside = meta.get("properties") or {}
    texts = [properties.get("kind"), properties.get("apiVersion")]
    texts += [inside.get("name"), inside.get("generateName")]
    return meta.get("type") == "object" and all(
        (one or {}).get("type") == "string" for one in texts
    )


def _text(schema: Schema) -> Sized:
    name = schema.get("format") or ""
    if name in _FORMATS:
        shortest, most = _FORMATS[name]
        return Sized(most, shortest)
    bound = _bound(schema, "maxLength")
    if name == "byte":
        return Sized(REQUEST - _TEXT if bound is None else bound, _TEXT)
    if bound is None and (values := schema.get("enum")):
        return Sized(max(len(one.encode()) if isinstance(one, str) else 0 for one in values), _TEXT)
    return Sized(_length(schema), _TEXT)


def most_below(schema: Schema, most: int | None) -> int | None:
    """How often a part of a schema can be there, None for as often as a request can hold.

    Args:
        schema: what the part is in.
        most: how often that can be there.
    """
    if most is None:
        return None
    factor: int | None = 1
    if schema.get("type") == "array":
        factor = _bound(schema, "maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        factor = _bound(schema, "maxProperties")
    return None if factor is None else times(most, factor)
