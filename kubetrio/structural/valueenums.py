"""Values that a schema lists, of which there may be a hundred thousand.

Source: k8s.io/kube-openapi/pkg/validation/validate (validator.go, enum).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kubetrio.machinery.fielderrors import format_value, quote
from kubetrio.machinery.status import MORE
from kubetrio.machinery.telling import cause, told_enough
from kubetrio.structural.causes import Out
from kubetrio.structural.jsonkeys import canonical, steps_of
from kubetrio.structural.schemaparts import making
from kubetrio.structural.valuenumbers import FRACTIONS
from kubetrio.wire.gojson import Float, float_text
from kubetrio.wire.jsonwire import encode

_NUMBERS = frozenset({int, float, Float})
_CONTAINERS = frozenset({dict, list})


class Enum:
    """The values that are allowed.

    Args:
        values: JSON values.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    @cached_property
    def _allowed(self) -> frozenset[Any]:
        making().spend(len(self._values) >> 2)
        return frozenset(_hashable(item) for item in self._values if item is not None)

    @cached_property
    def _whole(self) -> frozenset[int]:
        return frozenset(item for item in self._values if type(item) is int)

    def _has(self, value: Any) -> bool:
        """Whether a value is one of them, or becomes one where Go converts it to its type.

        A number with a fraction becomes an integer without it, an integer the character with its
        number.  null is never among them, even where it is listed.
        """
        if value is None:
            return False
        if _hashable(value) in self._allowed:
            return True
        if type(value) in FRACTIONS:
            return math.isfinite(value) and math.trunc(value) in self._whole
        return type(value) is int and _character(value) in self._allowed

    @cached_property
    def _supported(self) -> str:
        shown = [item if type(item) is str else _shown(item) for item in self._values]
        return ", ".join(map(quote, shown))

    def check(self, value: Any, name: str, out: Out) -> None:
        """Check a value.

        Args:
            value: a JSON value.
            name: its path.
            out: receives causes.
        """
        if type(value) in _CONTAINERS:
            out.effort.spend(steps_of(value))
        if not self._has(value):
            if out.full:  # of what is said of each value, the list may be most of the schema
                return
            if told_enough():
                out.append(MORE)
                return
            message = (
                f"Unsupported value: {format_value(value)}: supported values: {self._supported}"
            )
            out.append(cause("FieldValueNotSupported", message, out.path(name)))


def _shown(item: Any) -> str:
    return float_text(item) if type(item) in FRACTIONS else encode([item]).decode()[1:-1]


def _character(number: int) -> str:
    try:
        return chr(number).encode().decode()
    except (ValueError, OverflowError):  # outside of Unicode, or half of a pair
        return "\ufffd"


def _hashable(value: Any) -> Any:
    """What is equal for equal values, whichever type numbers have, and for no others."""
    if type(value) is str:
        return value
    return (value,) if type(value) in _NUMBERS else canonical(value)
