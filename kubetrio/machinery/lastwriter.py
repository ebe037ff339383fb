"""Who wrote a revision of an object, as far as ``managedFields`` tells.

A write that changes fields dates the entry of its manager; what it takes from other managers goes
from their entries, which keep their time.  So the writer's entry is new, dated later, or has fields
that it had not; or, when a manager writes again within a second, it is dated by that second and
owns a field that changed.  Writes that change no owned field (a deletion that waits for
finalizers, a field that is removed) name no manager.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import orjson

Json = dict[str, Any]
KEYS = ("manager", "operation", "apiVersion", "subresource")
SLACK_S = 1
"""A write is dated before it waits for its transaction."""


def writer_of(before: Json | None, after: Json, at: str, *, created: bool = False) -> str:
    """Name the manager that wrote a state; an empty text for none.

    Args:
        before: the state that was replaced; None where it is not kept or there was none.
        after: the state.
        at: when it was written, in RFC 3339 with seconds.
        created: whether it is the first state.
    """
    entries = _entries(after)
    if before is None:
        candidates = [entry for entry in entries.values() if created or _near(entry, at)]
    else:
        known = _entries(before)
        # What a manager writes by the subresource scale has no time.
        near = [one for one in entries.values() if not one.get("time") or _near(one, at)]
        candidates = (
            [entry for key, entry in entries.items() if _wrote(known.get(key), entry)]
            or [entry for entry in near if _owns_change(entry.get("fieldsV1"), before, after)]
            or [
                entry
                for entry in near
                if _owns_change(entry.get("fieldsV1"), before, after, wholes=True)
            ]
        )
    names = {str(entry.get("manager") or "") for entry in candidates}
    return names.pop() if len(names) == 1 else ""


def _entries(state: Mapping[str, Any]) -> dict[tuple[Any, ...], Json]:
    entries = (state.get("metadata") or {}).get("managedFields") or ()
    return {tuple(entry.get(key) for key in KEYS): entry for entry in entries}


def _near(entry: Json, at: str) -> bool:
    """Whether an entry is dated by the second of a write, or the one before."""
    time = str(entry.get("time") or "")
    if not time or not at:
        return False
    behind = dt.datetime.fromisoformat(at) - dt.datetime.fromisoformat(time)
    return abs(behind.total_seconds()) <= SLACK_S


def _wrote(known: Json | None, entry: Json) -> bool:
    if known is None:
        return True
    if str(entry.get("time") or "") != str(known.get("time") or ""):
        return True
    return _has_more(entry.get("fieldsV1") or {}, known.get("fieldsV1") or {})


def _has_more(fields: Json, known: Json) -> bool:
    """Whether a set of fields has one that another has not."""
    return any(name not in known or _has_more(below, known[name]) for name, below in fields.items())


def _owns_change(fields: Json | None, before: Any, after: Any, *, wholes: bool = False) -> bool:
    """Whether one of some owned fields differs between two states.

    Args:
        fields: owned.
        before: the state that was replaced.
        after: the state.
        wholes: whether a map or list that is owned without its members counts too, as an
            atomic one does; members of others are owned by other entries.
    """
    for name, below in (fields or {}).items():
        kind, _, text = name.partition(":")
        old, new = _member(kind, text, before), _member(kind, text, after)
        if old == new:
            continue
        if below and isinstance(new, dict | list):
            if _owns_change(below, old, new, wholes=wholes):
                return True
        elif wholes or not (isinstance(old, dict | list) and isinstance(new, dict | list)):
            return True
    return False


def _member(kind: str, text: str, value: Any) -> Any:
    """What a path element of ``fieldsV1`` means in a value; None where it has no such member."""
    if kind == "f":
        return value.get(text) if isinstance(value, dict) else None
    if not text or not isinstance(value, list):
        return None  # "." is the member itself, whose content is below
    member = orjson.loads(text)
    if kind == "k":
        for item in value:
            if isinstance(item, dict) and member.items() <= item.items():
                return item
    elif kind == "v":
        return member if member in value else None
    elif kind == "i" and member < len(value):
        return value[member]
    return None
