"""Rules of custom resources, checked against the types that a structural schema declares.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (validation rules: types,
escaping of names, accessible members); KEP-2876.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.escaping import escaped
from kubetrio.cel.expressions import CompileError
from kubetrio.cel.places import Compiling, Place

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
        loose: path of the list that keeps what is here from being told from what was, or empty.
    """

    path: str
    schema: Schema
    kind: str
    rules: Sequence[Mapping[str, Any]]
    loose: str


class SchemaTypes:
    """The types of a schema, and the places in it that have rules.

    Args:
        root: a structural schema.
        whole: whether it is that of a resource.
    """

    def __init__(self, root: Schema, *, whole: bool = True) -> None:
        self.messages: dict[str, dict[str, str]] = {}
        self.places: list[Rules] = []
        self._type(root, "", "", whole=whole)

    def _type(self, schema: Schema, path: str, loose: str, *, whole: bool = False) -> str:
        """The type of a schema, empty when there is none; notes the places with rules."""
        if schema.get("x-kubernetes-int-or-string"):
            kind = DYN
        elif schema.get("type") == "array":
            kind = self._list(schema, path, loose)
        elif schema.get("type") == "object" or whole:
            kind = self._object(schema, path, loose, whole=whole)
        elif schema.get("type") == "string":
            kind = FORMATS.get(schema.get("format") or "", "string")
        else:
            kind = SCALARS.get(schema.get("type") or "", "")
        if rules := schema.get("x-kubernetes-validations"):
            self.places.append(Rules(path, schema, kind or DYN, rules, loose))
        return kind

    def _list(self, schema: Schema, path: str, loose: str) -> str:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return ""
        below = f"{path}.items"
        if schema.get("x-kubernetes-list-type") != "map":
            loose = loose or below
        embedded = bool(items.get("x-kubernetes-embedded-resource"))
        inner = self._type(items, below, loose, whole=embedded)
        return f"list<{inner}>" if inner else ""

    def _object(self, schema: Schema, path: str, loose: str, *, whole: bool) -> str:
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            embedded = bool(others.get("x-kubernetes-embedded-resource"))
            below = f"{path}.additionalProperties"
            inner = self._type(others, below, loose, whole=embedded)
            return f"map<string,{inner}>" if inner else ""
        properties = dict(schema.get("properties") or {})
        if whole:
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
            embedded = bool(inner.get("x-kubernetes-embedded-resource"))
            below = f"{path}.properties[{member}]"
            kind = self._type(inner, below, loose, whole=embedded)
            if kind and (field := escaped(member)):
                fields[field] = kind
        return name


def untyped(root: Schema) -> Iterator[str]:
    """Paths of places with rules whose values have no type, below the root.

    Args:
        root: the structural schema of a resource.
    """
    types = SchemaTypes(root)
    for place in types.places:
        schema = place.schema
        if not schema.get("type") and not schema.get("x-kubernetes-int-or-string") and place.path:
            yield place.path


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a rule.

    Args:
        place: where the rule is.
        index: which rule it is there.
        member: the member of the rule that is wrong.
        text: what is wrong.
        below: a path that ends the text, below that of the root.
    """

    place: Rules
    index: int
    member: str
    text: str
    below: str = ""


def rule_problems(root: Schema) -> Iterator[Finding]:
    """What is wrong with the rules of a schema.

    Args:
        root: a structural schema that is good apart from its rules.

    Raises:
        Missing: there are rules and no engine.
    """
    types = SchemaTypes(root)
    if not types.places:
        return
    places = []
    for place in types.places:
        optional = any(rule.get("optionalOldSelf") for rule in place.rules)
        places.append(Place(place.kind, optional_old=optional))
    compiling = Compiling(types.messages, places)
    for at, place in enumerate(types.places):
        for index, rule in enumerate(place.rules):
            yield from _rule(compiling, at, place, index, rule)


def _rule(
    compiling: Compiling, at: int, place: Rules, index: int, rule: Mapping[str, Any]
) -> Iterator[Finding]:
    optional = bool(rule.get("optionalOldSelf"))
    text = (rule.get("rule") or "").strip()
    try:
        checked = compiling.check(text, at, optional_old=optional)
    except CompileError as error:
        yield Finding(place, index, "rule", str(error))
        return
    if checked.type != "bool":
        yield Finding(place, index, "rule", "cel expression must evaluate to a bool")
        return
    if "oldSelf" in checked.uses and place.loose:
        detail = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        yield Finding(place, index, "rule", detail, below=place.loose)
    message = (rule.get("messageExpression") or "").strip()
    if not message:
        return
    try:
        checked = compiling.check(message, at, optional_old=optional)
    except CompileError as error:
        yield Finding(place, index, "messageExpression", f"messageExpression {error}")
        return
    if checked.type != "string":
        text = "messageExpression must evaluate to a string"
        yield Finding(place, index, "messageExpression", text)
