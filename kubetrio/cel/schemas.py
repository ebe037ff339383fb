"""Rules of custom resources, checked against the types that a structural schema declares.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (validation rules: types,
escaping of names, accessible members); KEP-2876.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.escaping import escaped, is_reserved
from kubetrio.cel.sizes import Sizes, most_below

Schema = Mapping[str, Any]

FORMATS = {
    "byte": "bytes",
    "duration": "google.protobuf.Duration",
    "date": "google.protobuf.Timestamp",
    "date-time": "google.protobuf.Timestamp",
}
SCALARS = {"boolean": "bool", "number": "double", "integer": "int"}
_TEXT: Schema = {"type": "string"}
_ROOT_MEMBERS: Mapping[str, Schema] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}},
}
DYN = "dyn"


@dataclass(frozen=True, slots=True)
class Rules:
    """A place in a schema that has rules.

    Args:
        path: of the schema, below the root, such as ``.properties[spec]``.
        schema: what is there.
        kind: its type in the engine's notation.
        rules: the rules.
        loose: path of the list that keeps what is here from being told from what was, None for
            none.  Members of objects can be told, of atomic ones too.
        whole: whether it is a resource.
        most: how often it can be in one object, None for as often as a request can hold.
    """

    path: str
    schema: Schema
    kind: str
    rules: Sequence[Mapping[str, Any]]
    loose: str | None
    whole: bool
    most: int | None


@dataclass(frozen=True, slots=True)
class _Within:
    """What is above a part of a schema.

    Args:
        loose: as in `Rules`.
        most: as in `Rules`.
        whole: whether the part is a resource.
    """

    loose: str | None
    most: int | None
    whole: bool

    def below(self, schema: Schema, part: Schema, loose: str | None) -> _Within:
        """Return what is above a part of this part.

        Args:
            schema: of the part.
            part: of what is below.
            loose: path of the part, if what is below cannot be told from what was.
        """
        embedded = bool(part.get("x-kubernetes-embedded-resource"))
        loose = loose if self.loose is None else self.loose
        return _Within(loose, most_below(schema, self.most), embedded)


class SchemaTypes:
    """The types of a schema, and the places in it that have rules.

    Args:
        root: a structural schema.
        whole: whether it is that of a resource.
    """

    def __init__(self, root: Schema, *, whole: bool = True) -> None:
        self.messages: dict[str, dict[str, str]] = {}
        self.places: list[Rules] = []
        self._type(root, "", _Within(None, 1, whole))

    def _type(self, schema: Schema, path: str, around: _Within) -> str:
        """The type of a schema, empty when there is none; notes the places with rules."""
        if schema.get("x-kubernetes-int-or-string"):
            kind = DYN
        elif schema.get("type") == "array":
            kind = self._list(schema, path, around)
        elif schema.get("type") == "object" or around.whole:
            kind = self._object(schema, path, around)
        elif schema.get("type") == "string":
            kind = FORMATS.get(schema.get("format") or "", "string")
        else:
            kind = SCALARS.get(schema.get("type") or "", "")
        if rules := schema.get("x-kubernetes-validations"):
            rules_here = Rules(
                path, schema, kind or DYN, rules, around.loose, around.whole, around.most
            )
            self.places.append(rules_here)
        return kind

    def _list(self, schema: Schema, path: str, around: _Within) -> str:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return ""
        below = f"{path}.items"
        loose = None if schema.get("x-kubernetes-list-type") == "map" else path
        inner = self._type(items, below, around.below(schema, items, loose))
        return f"list<{inner}>" if inner else ""

    def _object(self, schema: Schema, path: str, around: _Within) -> str:
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            below = f"{path}.additionalProperties"
            inner = self._type(others, below, around.below(schema, others, None))
            return f"map<string,{inner}>" if inner else ""
        properties = dict(schema.get("properties") or {})
        if around.whole:
            known = properties.get("metadata") or {}
            meta = {**_ROOT_MEMBERS["metadata"]["properties"], **(known.get("properties") or {})}
            properties = {
                **properties,
                **_ROOT_MEMBERS,
                "metadata": {"type": "object", "properties": meta},
            }
        name = f"object{len(self.messages)}"
        fields = self.messages[name] = {}
        for member, inner in sorted(properties.items()):
            below = f"{path}.properties[{member}]"
            kind = self._type(inner, below, around.below(schema, inner, None))
            if kind and (field := escaped(member)):
                fields[field] = kind
                if is_reserved(member):
                    fields[member] = kind
        return name


def untyped(types: SchemaTypes, sizes: Sizes, faulty: Container[int] = frozenset()) -> list[str]:
    """Paths of places with rules whose values have no type, below the root.

    Args:
        types: of the structural schema of a resource.
        sizes: of its parts.
        faulty: identities of parts of it that are left out.
    """
    return [
        place.path
        for place in types.places
        if place.path
        and id(place.schema) not in faulty
        and sizes.of(place.schema, whole=place.whole) is None
    ]
