"""Structural schemas at work: what of an object stays, what is filled in, metadata inside objects.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (field pruning, defaulting,
nullable, RawExtension); k8s.io/apiextensions-apiserver/pkg/apiserver/schema (pruning, defaulting,
objectmeta).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import Cause
from kubetrio.resources.objects import MOST_BYTES
from kubetrio.runtime.effort import MOST_STEPS, Effort
from kubetrio.schema.objecttype import BuiltinType
from kubetrio.schema.structural import Report
from kubetrio.schema.structural_values import double
from kubetrio.structural.schemaparts import DEFAULTS, EMBEDS, LazyParts, Marks
from kubetrio.wire.gojson import Float
from kubetrio.wire.jsonwire import encode

Json = dict[str, Any]

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
METADATA = BuiltinType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", as_json=True)
_FRACTIONS = frozenset({float, Float})


class Node:
    """One place in a structural schema, with what it asks of values there.

    Args:
        schema: ``JSONSchemaProps`` as JSON; it must not change.
        root: whether it is the schema of a whole resource.
        marks: of the resource's schema, when it is large.

    Attributes:
        defaults: whether anything here or below has a default.
        fills: the properties that have one.
        size: bytes of the default.
        embeds: whether there are resources inside of what is here.
    """

    __slots__ = (
        "default",
        "defaults",
        "embedded",
        "embeds",
        "fills",
        "has_others",
        "items",
        "nullable",
        "others",
        "preserve",
        "properties",
        "schema",
        "size",
    )

    defaults: bool
    embeds: bool

    def __init__(
        self, schema: Mapping[str, Any], *, root: bool = False, marks: Marks | None = None
    ) -> None:
        get = schema.get
        self.schema = schema
        self.embedded = bool(get("x-kubernetes-embedded-resource"))
        self.preserve = bool(get("x-kubernetes-preserve-unknown-fields"))
        self.nullable = bool(get("nullable"))
        self.default = get("default")
        self.size = 0 if self.default is None else len(encode([self.default]))
        make = partial(Node, marks=marks)
        schemas = get("properties") or {}
        self.properties: dict[str, Node] = (
            {name: make(inner) for name, inner in schemas.items()}
            if marks is None
            else LazyParts(schemas, make, marks)
        )
        self.fills = [
            (name, self.properties.get(name) or make(inner))
            for name, inner in schemas.items()
            if inner.get("default") is not None
        ]
        others, items = get("additionalProperties"), get("items")
        self.has_others = others is not None
        self.others = make(others) if isinstance(others, Mapping) else None
        self.items = make(items) if isinstance(items, Mapping) else None
        if marks is None:
            below = [*self.properties.values(), *filter(None, (self.others, self.items))]
            self.defaults = self.default is not None or any(one.defaults for one in below)
            self.embeds = (self.embedded and not root) or any(one.embeds for one in below)
        else:
            self.defaults = marks.has(schema, DEFAULTS)
            self.embeds = marks.has(schema, EMBEDS)
        if root:
            self.embedded = True

    def child(self, key: str) -> Node | None:
        """The schema of a member, None where there is none."""
        return self.properties.get(key, self.others)


# --- pruning ---

MOST_PATHS = 1000
"""Of what was dropped: a hundred are told, and each is made anew on each level above it."""


def prune(node: Node | None, obj: Json) -> list[str]:
    """Drop what a schema does not know, in place.

    Args:
        node: the schema of the whole resource, None for none.
        obj: the object; its own metadata stay.

    Returns:
        Paths of what was dropped, sorted; of very much some.
    """
    paths = _prune(node or _NOTHING, obj, root=True)
    return sorted(paths) if paths else []


def prune_part(node: Node, value: Any) -> bool:
    """Drop what a schema does not know of a part of a resource, in place; whether that is any."""
    return bool(_prune(node, value))


def _prune(node: Node | None, value: Any, *, root: bool = False) -> list[str] | None:
    """Paths, below the value, of what was dropped."""
    kind = type(value)
    if kind is dict:
        return _prune_object(node, value, root)
    if kind is not list:
        return None
    if node is not None and node.preserve and node.items is None:
        return None
    items = None if node is None else node.items
    found: list[str] | None = None
    skip = node is not None and node.preserve
    for index, item in enumerate(value):
        inner = _skip(items, item) if skip else _prune(items, item)
        if inner:
            found = found if found is not None else []
            found += [f"[{index}]{_joined(path)}" for path in inner[: MOST_PATHS - len(found)]]
    return found


def _skip(node: Node | None, value: Any) -> list[str] | None:
    """Prune what is declared in items of what is preserved; the rest of them stays."""
    if node is None or type(value) not in (dict, list):
        return None
    if type(value) is dict:
        return _prune_object(node, value, False, keep=True)
    paths: list[str] = []
    for index, item in enumerate(value):
        inner = _skip(node.items, item) or []
        paths += [f"[{index}]{_joined(path)}" for path in inner[: MOST_PATHS - len(paths)]]
    return paths


def _prune_object(
    node: Node | None, value: Json, root: bool, *, keep: bool = False
) -> list[str] | None:
    if node is None:
        gone = list(value)
        value.clear()
        return gone
    keep = keep or node.preserve
    embedded, properties = node.embedded, node.properties
    paths: list[str] | None = None
    gone = []
    for key, item in value.items():
        if embedded and key in META_FIELDS:
            continue
        inner = properties.get(key)
        if inner is not None or node.has_others:
            if type(item) in _CONTAINERS:
                below = _prune(inner or node.others, item)
                if below:
                    paths = paths if paths is not None else []
                    some = below[: MOST_PATHS - len(paths)]
                    paths += [f"{key}{_joined(path)}" for path in some]
        elif not keep:
            gone.append(key)
    for key in gone:
        del value[key]
    if gone:
        if root:
            gone = [key for key in gone if key not in META_FIELDS]
        paths = gone if paths is None else paths + gone
    return None if paths is None else paths[:MOST_PATHS]


_CONTAINERS = frozenset({dict, list})


def _joined(path: str) -> str:
    return path if path.startswith("[") else f".{path}"


_NOTHING = Node({}, root=True)


def drop_nulls(node: Node, value: Any) -> None:
    """Drop members that are null where null is not allowed and nothing is filled in, in place."""
    kind = type(value)
    if kind is dict:
        gone = []
        for key, item in value.items():
            if item is not None and type(item) not in _CONTAINERS:
                continue
            inner = node.child(key)
            if inner is None:
                continue
            if item is not None:
                drop_nulls(inner, item)
            elif not inner.nullable and inner.default is None:
                gone.append(key)
        for key in gone:
            del value[key]
    elif kind is list and node.items is not None:
        for item in value:
            if type(item) in _CONTAINERS:
                drop_nulls(node.items, item)


# --- defaulting ---


class TooLarge(Exception):
    """Defaults would make an object larger than they may."""


DEFAULT_STEPS = 4
"""What a default takes in all: it is checked, owned and written too."""


class Room:
    """What defaults may add to objects.

    Args:
        size: bytes of JSON.

    Attributes:
        left: how much of that is left.
    """

    __slots__ = ("_effort", "left")

    def __init__(self, size: int = MOST_BYTES) -> None:
        self.left = size
        self._effort = Effort(MOST_STEPS * DEFAULT_STEPS)

    def default_of(self, node: Node) -> Any:
        """A copy of a default.

        Raises:
            TooLarge: there is no room for it.
        """
        self.left -= node.size
        if self.left < 0:
            raise TooLarge
        self._effort.spend(DEFAULT_STEPS * (1 + (node.size >> 3)))
        return copy_json(node.default)


def fill_in(node: Node | None, value: Any, room: Room | None = None) -> None:
    """Fill in defaults, in place; twice is as once.

    Args:
        node: the schema, None for none.
        value: a JSON value.
        room: for defaults; None for as much as may be stored.

    Raises:
        TooLarge: there is not enough room; some are filled in.
    """
    _fill_in(node, value, Room() if room is None else room)


def _fill_in(node: Node | None, value: Any, room: Room) -> None:
    if node is None or not node.defaults:
        return
    kind = type(value)
    if kind is dict:
        _fill_object(node, value, room)
    elif kind is list and node.items is not None and node.items.defaults:
        items = node.items
        for index, item in enumerate(value):
            if item is None and not items.nullable:
                value[index] = room.default_of(items)
            _fill_in(items, value[index], room)


def _fill_object(node: Node, value: Json, room: Room) -> None:
    properties = node.properties
    for key, inner in node.fills:
        if key not in value or (value[key] is None and not inner.nullable):
            value[key] = room.default_of(inner)
    others = node.others if node.others is not None and node.others.defaults else None
    for key in value:
        known = properties.get(key)
        if known is not None:
            if known.defaults:
                _fill_in(known, value[key], room)
        elif others is not None:
            if value[key] is None and not others.nullable:
                value[key] = room.default_of(others)
            _fill_in(others, value[key], room)


def fill_in_member(node: Node, value: Json, name: str) -> None:
    """Fill in the defaults of one member of an object, in place.

    Raises:
        TooLarge: they are larger than what may be stored.
    """
    inner = node.properties.get(name)
    if inner is None or not inner.defaults:
        return
    room = Room()
    if inner.default is not None and (
        name not in value or (value[name] is None and not inner.nullable)
    ):
        value[name] = room.default_of(inner)
    if name in value:
        _fill_in(inner, value[name], room)


# --- resources inside ---


class Malformed(ValueError):
    """Metadata inside of an object cannot be read.

    Args:
        cause: what is wrong, and where.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(str(cause))
        self.cause = cause


def coerce(node: Node | None, obj: Json, *, drop: bool = False) -> list[str]:
    """Read metadata of resources inside of an object as those of any object, in place.

    Args:
        node: the schema of the whole resource.
        obj: the object.
        drop: drop what cannot be read.

    Returns:
        Paths of members of metadata that do not exist.

    Raises:
        Malformed: something cannot be read, unless that is dropped.
    """
    unknown: list[str] = []
    if node is not None and node.embeds:
        _coerce(node, obj, "", unknown, drop, root=True)
    return sorted(unknown)


def coerce_part(node: Node, value: Any, path: str) -> None:
    """Read metadata of resources in a part of an object, in place; it may be one itself.

    Args:
        node: the schema of the part.
        value: the part.
        path: its path.

    Raises:
        Malformed: something cannot be read.
    """
    _coerce(node, value, path, [], False)


def _coerce(
    node: Node | None, value: Any, path: str, unknown: list[str], drop: bool, *, root: bool = False
) -> None:
    if node is None or not (node.embeds or node.embedded):
        return
    if type(value) is dict:
        if node.embedded and not root:
            _coerce_resource(value, path, unknown, drop)
        for key, item in list(value.items()):
            known = node.properties.get(key)
            if known is not None:
                _coerce(known, item, f"{path}.{key}" if path else key, unknown, drop)
            elif node.others is not None:
                _coerce(node.others, item, f"{path}[{key}]", unknown, drop)
    elif type(value) is list:
        for index, item in enumerate(value):
            _coerce(node.items, item, f"{path}[{index}]", unknown, drop)


def _coerce_resource(value: Json, path: str, unknown: list[str], drop: bool) -> None:
    for name in ("apiVersion", "kind"):
        if name in value and type(value[name]) is not str:
            if not drop:
                raise Malformed(invalid(f"{path}.{name}", value[name], "must be a string"))
            del value[name]
    if "metadata" not in value:
        return
    meta = value["metadata"]
    report = Report()
    try:
        value["metadata"] = METADATA.decode(meta, report) or {}
    except ValueError as error:
        if not drop:
            raise Malformed(invalid(f"{path}.metadata", meta, str(error))) from None
        value["metadata"] = readable_metadata(meta)
    if value["metadata"].get("creationTimestamp", "") is None:
        del value["metadata"]["creationTimestamp"]
    for text in report.strict:
        _, _, rest = text.partition('"')
        unknown.append(f"{path}.metadata.{rest.removesuffix(chr(34))}")


def readable_metadata(meta: Any) -> Json:
    """What of metadata can be read, member by member."""
    metadata: Json = {}
    for key, item in meta.items() if type(meta) is dict else ():
        try:
            metadata.update(METADATA.decode({key: item}, Report()))
        except ValueError:
            continue
    return metadata


# --- numbers ---


def _float64(number: float) -> Float:
    """A number as a ``float64``, which it is until it is stored, though it may be whole.

    Raises:
        ValueError: no float64 holds it.
    """
    value = double(number)
    return value if type(value) is Float else Float(str(value))


def as_go_numbers(value: Any) -> None:
    """Have numbers as Go reads and prints them: int64 where that holds them, or float64.

    Args:
        value: a JSON object or list, changed in place.

    Raises:
        ValueError: a number that no float64 holds.
    """
    for key, item in value.items() if type(value) is dict else enumerate(value):
        kind = type(item)
        if kind in _CONTAINERS:
            as_go_numbers(item)
        elif kind in _FRACTIONS or (kind is int and not is_int64(item)):
            value[key] = _float64(item)
