"""Members of decoded objects, and texts that many checks say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
NOT_INTEGER = "must be an integer"

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def is_missing(value: Any) -> bool:
    """Whether a member is absent or empty.

    Args:
        value: what ``get`` gave.
    """
    return not value and (value is None or isinstance(value, (str, list, dict)))


def is_zero(value: Any) -> bool:
    """Whether Go has a member at its zero value: an empty list that was given is not.

    Args:
        value: what ``get`` gave.
    """
    return value is None or (not value and not isinstance(value, (list, dict)))


def shown_map(obj: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    """A map as messages print it: its keys sorted, and null only where there is none."""
    members = (obj or {}).get(name)
    return None if members is None else dict(sorted(members.items()))


def member(obj: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty one when it is missing.

    Args:
        obj: the object, or None.
        name: name of the member.
    """
    return (obj.get(name) or _NOTHING) if obj else _NOTHING


def child(path: str, name: str) -> str:
    """The path of a member.

    Args:
        path: path of the object, empty for the root.
        name: name of the member.
    """
    return f"{path}.{name}" if path else name
