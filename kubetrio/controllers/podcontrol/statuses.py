"""Statuses as Go prints them, and conditions with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubetrio.schema.structural_shapes import struct

Object = dict[str, Any]


def printed(type_name: str, members: Mapping[str, Any]) -> Object:
    """Members in the order of a Go struct, without those that Go leaves out.

    Args:
        type_name: full name of the type.
        members: by JSON name; None for one that is not set.
    """
    shown: Object = {}
    for name, field in struct(type_name).fields.items():
        value = members.get(name)
        if value is None or (field.omit and not field.pointer and not value):
            continue
        shown[name] = value
    return shown


def condition_of(status: Mapping[str, Any], type_: str) -> Object | None:
    """A condition of a status, None where there is none."""
    for one in status.get("conditions") or ():
        if one.get("type") == type_:
            condition: Object = one
            return condition
    return None


def with_condition(
    conditions: Iterable[Object], new: Object, *, keep_time: bool = False
) -> list[Object]:
    """Conditions with one set, which comes last.

    A condition that has the status and the reason already stays as it is.

    Args:
        conditions: as they are.
        new: the whole condition.
        keep_time: whether one with the status alone keeps its time of transition.
    """
    old = list(conditions)
    was = next((one for one in old if one.get("type") == new["type"]), None)
    if was is not None and was.get("status") == new["status"]:
        if (was.get("reason") or "") == (new.get("reason") or ""):
            return old
        if keep_time and "lastTransitionTime" in was:
            new = {**new, "lastTransitionTime": was["lastTransitionTime"]}
    return [*(one for one in old if one is not was), new]


def without_condition(conditions: Iterable[Object], type_: str) -> list[Object]:
    """Conditions without those of a type."""
    return [one for one in conditions if one.get("type") != type_]
