"""Which objects a list or watch wants: label and field selectors together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.machinery import fields, labels
from kubetrio.watch.choosing import FieldValues, Pin, look, no_fields, seen_of

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """A compiled pair of selectors; follows `watch.choosing.Filter`.

    Args:
        labels: label selector, None for everything.
        fields: field selector, None for everything.
        values: values of the supported fields of an object.
    """

    labels: labels.Selector | None
    fields: fields.Selector | None
    values: FieldValues

    _identity: list[Hashable] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def identity(self) -> Hashable:
        """Equal for selections that choose the same objects; made once, for all that share it."""
        if not self._identity:
            self._identity.append((str(self.labels or ""), str(self.fields or "")))
        return self._identity[0]

    @property
    def pin(self) -> Pin | None:
        """A label or field that has to have one value; None where there is no such."""
        return next(self.pins(), None)

    def pins(self) -> Iterator[Pin]:
        """Fields and labels that have to have one value."""
        if self.fields is not None:
            for name, operator, value in self.fields.requirements:
                if operator == "=":
                    yield ("field", name, value)
        if self.labels is not None:
            for requirement in self.labels.requirements:
                if requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                    yield ("label", requirement.key, requirement.values[0])

    @property
    def reads(self) -> FieldValues:
        """Values of the fields that it asks for: none where it selects by labels alone."""
        return no_fields if self.fields is None else self.values

    def chooses(self, labels: Mapping[str, str], values: Mapping[str, str]) -> bool:
        """Whether an object is wanted.

        Args:
            labels: its labels.
            values: what `reads` gives of it.
        """
        if self.labels is not None and not self.labels.matches(labels):
            return False
        return self.fields is None or self.fields.matches(values)

    def matches(self, obj: Object) -> bool:
        """Whether an object is wanted."""
        return self.chooses(*seen_of(obj, self.reads))

    def matches_bytes(self, value: bytes) -> bool:
        """Whether a stored object is wanted."""
        return self.chooses(*look(value, self.reads))
