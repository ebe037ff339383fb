"""Which events of a prefix a watcher wants.

A filter decides once an event, for all watchers that have an equal one, and labels and fields of an
event are read once for all filters of a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from kubetrio.store.model import Event

FieldValues = Callable[[dict[str, Any]], Mapping[str, str]]
"""Values of the fields by which an object can be selected."""

TEXT_BYTES = 60
"""What a label or field takes beside its texts."""

Pin = tuple[str, str, str]
"""``label`` or ``field``, its name, and the value that every wanted object has."""


class Filter(Protocol):
    """What a watcher wants of its prefix."""

    @property
    def identity(self) -> Hashable:
        """Equal for filters that choose the same objects of a kind."""
        ...

    @property
    def pin(self) -> Pin | None:
        """What every wanted object has; None where there is no such value."""
        ...

    @property
    def reads(self) -> FieldValues:
        """Reads the fields that it asks for; equal for filters that may share what is read."""
        ...

    def chooses(self, labels: Mapping[str, str], values: Mapping[str, str]) -> bool:
        """Whether an object is wanted, by its labels and the values of its fields."""
        ...


def no_fields(_: dict[str, Any]) -> Mapping[str, str]:
    """Read nothing, for filters by labels alone: the fields of a Pod take longer than its JSON."""
    return {}


class Seen(NamedTuple):
    """What filters look at.

    Args:
        labels: of an object.
        fields: values of the fields it can be selected by.
    """

    labels: Mapping[str, str]
    fields: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes, about."""
        texts = (*self.labels.items(), *self.fields.items())
        return TEXT_BYTES + sum(len(name) + len(value) + TEXT_BYTES for name, value in texts)

    def has(self, where: str, name: str) -> str | None:
        """The value of a label or field; None for a label that is missing."""
        return self.labels.get(name) if where == "label" else self.fields.get(name, "")


class Sight(NamedTuple):
    """What filters look at in an event.

    Args:
        before: the object before it, None for a creation.
        now: the object as it is, or as it was deleted.
    """

    before: Seen | None
    now: Seen


class Decision(NamedTuple):
    """What a filter says of an event.

    Args:
        before: whether it wants the object as it was before.
        now: whether it wants the object as it is.
    """

    before: bool
    now: bool


def seen_of(obj: dict[str, Any], reads: FieldValues) -> Seen:
    """What filters look at in an object as it is stored."""
    return Seen(obj["metadata"].get("labels") or {}, reads(obj))


def look(value: bytes, reads: FieldValues) -> Seen:
    """What filters look at in the bytes of an object."""
    return seen_of(orjson.loads(value), reads)


def sights(events: Sequence[Event], reads: FieldValues) -> Sequence[Sight]:
    """What filters look at in events."""
    return [
        Sight(
            None if event.previous is None else look(event.previous, reads),
            look(event.value, reads),
        )
        for event in events
    ]


def decide(seen: Sequence[Sight], chooser: Filter) -> Sequence[Decision]:
    """What a filter says of events."""
    chooses = chooser.chooses
    return [
        Decision(before is not None and chooses(*before), chooses(*now)) for before, now in seen
    ]
