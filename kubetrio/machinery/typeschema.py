"""What merging must know about a type: which parts are owned and patched one by one.

The vocabulary is that of the API's OpenAPI extensions (``x-kubernetes-list-type``,
``-list-map-keys``, ``-map-type``, ``-patch-strategy``, ``-patch-merge-key``), described in the
Kubernetes documentation under "Server-Side Apply: merge strategy" and in KEP-555.  Where the values
come from is not known here: ``schema.patchmeta`` makes them.

Types may contain themselves, so members are made when first asked for and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Any, Literal


class TypeKind(Enum):
    """The form of a value."""

    SCALAR = auto()
    MAP = auto()
    LIST = auto()
    DEDUCED = auto()
    """Nothing is declared: maps are as their type says, lists atomic, the rest is a scalar."""


Scalar = Literal["string", "numeric", "boolean", "untyped"]
ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]


def no_fields() -> Mapping[str, TypeSchema]:
    """The fields of a type that declares none."""
    return {}


def no_element() -> None:
    """The element of a type that has none."""
    return


@dataclass(frozen=True, kw_only=True, eq=False)
class TypeSchema:
    """One type, as it is used in one place; compared by identity.

    Args:
        kind: form of the value.
        scalar: which scalars fit, of a scalar.
        list_type: how items of a list are told apart: not at all (``atomic``), by value (``set``)
            or by their key fields (``map``).
        keys: names of the key fields of a ``map`` list.
        map_type: whether members of a map are owned one by one (``granular``).
        patch_strategy: directives of strategic merge patch: ``merge``, ``replace``, ``retainKeys``.
        patch_merge_key: name of the field that identifies items in a strategic merge patch.
        default: what an absent value means, or None; only defaults of key fields matter here.
        go_name: what Go calls a struct, for messages; empty where that is not known.
        load_fields: makes the declared members of a map.
        load_element: makes the type of list items, or of members that are not declared.
    """

    kind: TypeKind
    scalar: Scalar = "untyped"
    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    map_type: MapType = "granular"
    patch_strategy: frozenset[str] = frozenset()
    patch_merge_key: str = ""
    default: Any = None
    go_name: str = ""
    load_fields: Callable[[], Mapping[str, TypeSchema]] = no_fields
    load_element: Callable[[], TypeSchema | None] = no_element

    @cached_property
    def fields(self) -> Mapping[str, TypeSchema]:
        """Declared members of a map, by JSON name."""
        return self.load_fields()

    @cached_property
    def element(self) -> TypeSchema | None:
        """Type of list items, or of the members of a map that are not declared.

        None means that there may be no such members.
        """
        return self.load_element()

    @cached_property
    def atomic(self) -> bool:
        """Whether a value is owned as a whole."""
        if self.kind is TypeKind.LIST:
            return self.list_type == "atomic"
        return self.kind is not TypeKind.SCALAR and self.map_type == "atomic"

    @cached_property
    def key_defaults(self) -> Mapping[str, Any]:
        """Defaults of the key fields of a ``map`` list; a field without one is not there."""
        element = self.element
        if element is None:
            return {}
        defaults = {key: element.fields[key].default for key in self.keys if key in element.fields}
        return {key: value for key, value in defaults.items() if value is not None}

    def member(self, name: str) -> TypeSchema | None:
        """The type of one member of a map, or None when it may not be there."""
        return self.fields.get(name) or self.element


DEDUCED: TypeSchema = TypeSchema(kind=TypeKind.DEDUCED, load_element=lambda: DEDUCED)
"""The type of what has no schema."""

OPAQUE: TypeSchema = TypeSchema(
    kind=TypeKind.DEDUCED, map_type="atomic", load_element=lambda: OPAQUE
)
"""The type of what has no schema and one owner, such as ``RawExtension``."""
