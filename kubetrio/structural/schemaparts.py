"""Parts of large schemas, made when they are needed: objects have few of what a schema allows.

What is made of a part of a schema takes 20 microseconds, and a definition of a megabyte has 25,000
of them.  What must be known of all of them beforehand is found out in one pass over the schema; it
counts its steps, so that it leaves the event loop (`runtime/effort.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from kubetrio.runtime.effort import Effort

T = TypeVar("T")
D = TypeVar("D")

SMALL: Final = 200
"""Parts of a schema that are made at once: some milliseconds."""
AT_ONCE: Final = 128
"""Parts that are made between two looks."""
DEFAULTS: Final = 1
EMBEDS: Final = 2
LISTS: Final = 4
RULES: Final = 8
_STEPS: Final = 8  # of the pass, for a part
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def making() -> Effort:
    """The effort of what is made of a schema once: it is no object's, and may be any."""
    return Effort(sys.maxsize)


@dataclass(slots=True, eq=False)
class Marks:
    """What is in or below the parts of a large schema.

    Args:
        flags: by the identity of a part; none for those of which there is nothing to say.
        made: how much was made of parts; who has it made looks up every now and then.
    """

    flags: Mapping[int, int]
    made: int = 0

    def count(self) -> None:
        """Something is made of a part."""
        self.made += 1
        if self.made % AT_ONCE == 0:
            making().look_up()

    def has(self, schema: Mapping[str, Any], flag: int) -> bool:
        """Whether something is in a part of the schema, or below it."""
        return bool(self.flags.get(id(schema), 0) & flag)


def marks_of(schema: Mapping[str, Any]) -> Marks | None:
    """What is in the parts of a schema; None for a small one.

    Args:
        schema: the schema of a resource.
    """
    look = _Look()
    look.at(schema, root=True)
    return Marks(look.flags) if look.count > SMALL else None


def parts_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of the parts of a value."""
    yield from (schema.get("properties") or {}).values()
    for name in ("additionalProperties", "items"):
        inner = schema.get(name)
        if isinstance(inner, Mapping):
            yield inner


class _Look:
    """One pass over a schema."""

    def __init__(self) -> None:
        self.count = 0
        self.flags: dict[int, int] = {}
        self._effort = making()

    def at(self, schema: Mapping[str, Any], *, root: bool = False) -> int:
        self.count += 1
        self._effort.spend(_STEPS)
        get = schema.get
        flags = 0
        for inner in parts_of(schema):
            flags |= self.at(inner)
        if get("default") is not None:
            flags |= DEFAULTS
        if get(_EMBEDDED) and not root:
            flags |= EMBEDS
        if get("x-kubernetes-list-type") in ("set", "map"):
            flags |= LISTS
        if get("x-kubernetes-validations"):
            flags |= RULES
        if flags:
            self.flags[id(schema)] = flags
        return flags


class LazyParts(dict[str, T]):
    """What is made of the properties of a schema, each when it is asked for by name.

    Args:
        schemas: the properties.
        make: makes something of one of them.
        marks: of the resource's schema.
    """

    __slots__ = ("_make", "_marks", "_schemas")

    def __init__(
        self,
        schemas: Mapping[str, Mapping[str, Any]],
        make: Callable[[Mapping[str, Any]], T],
        marks: Marks,
    ) -> None:
        super().__init__()
        self._schemas = schemas
        self._make = make
        self._marks = marks

    def get(self, key: str, default: D | None = None) -> T | D | None:  # type: ignore[override]
        """What is made of a property."""
        part = super().get(key)
        if part is not None:
            return part
        schema = self._schemas.get(key)
        if schema is None:
            return default
        self._marks.count()
        new_part = self[key] = self._make(schema)
        return new_part
