"""What rules of kinds are made of: the types of checks, and the rules of one resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kubetrio.machinery.status import Cause

Json = dict[str, Any]
Causes = list[Cause]
Check = Callable[[Any, str, Causes], None]
"""A check: (value, its path, where causes go)."""
UpdateCheck = Callable[[Json, Json, Causes], None]
"""A check of a change: (new object, old object, where causes go)."""
Messages = Callable[[str], Sequence[str]]
"""A format: text to what is wrong with it."""

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
NOT_INTEGER = "must be an integer"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    """The rules of one resource.

    Args:
        create: check of a whole object; its path is empty.
        update: check of a change, besides ``create``.
        revalidate: whether ``create`` also checks the new object of an update.
        checked_last: whether it does so after ``update``.
        subresources: checks of changes written there, by name (``status``, ``scale``, ...);
            nothing else is checked then.
        warnings: texts for ``Warning`` headers from (new object, old one or None).
        status_warnings: such texts about a new status, where there are any.
        adapt: by version: conversion into the version the checks are written for.
    """

    create: Check | None = None
    update: UpdateCheck | None = None
    revalidate: bool = True
    checked_last: bool = False
    subresources: Mapping[str, UpdateCheck] = field(default_factory=dict)
    warnings: Callable[[Json, Json | None], list[str]] | None = None
    status_warnings: Callable[[Json], list[str]] | None = None
    adapt: Mapping[str, Callable[[Json], Json]] = field(default_factory=dict)


Tables = Mapping[tuple[str, str], KindRules]
"""What a module of kinds exports as ``TABLES``."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def is_missing(value: Any) -> bool:
    """Whether a member is absent or empty.

    Args:
        value: what ``get`` gave.
    """
    return not value and (value is None or isinstance(value, (str, list, dict)))


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
