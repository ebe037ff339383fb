"""What differs between the facts of two versions, for people to read.

Both folders may be inputs or ``schemas``: documents of the same name are compared, and those that
are split by package are read as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from facts.documents import Json

SECTIONS = {
    "version": "version of the server",
    "resources": "kinds, scopes and verbs",
    "published-resources": "kinds, scopes and verbs of all versions",
    "kinds": "types of kinds",
    "types": "types and fields",
    "published-types": "types and fields of all versions",
    "protobuf": "numbers of protobuf fields",
    "operations": "operations and parameters",
    "published-operations": "operations and parameters of all versions",
    "parameters": "shared parameters",
    "tables": "columns",
    "field-selectors": "field selectors",
    "names": "names that are taken",
    "defaults": "defaults",
    "behaviours": "updates and deletions",
    "strategies": "what updates are allowed",
    "registered": "types that can be decoded",
    "gostructs": "Go types of pod templates",
    "bootstrap": "objects of a fresh server",
    "aggregated-roles": "rules of aggregated roles",
    "flags": "flags and feature gates",
    "metrics": "metrics",
    "published-metrics": "metrics that upstream lists",
}
"""Documents that are compared, in the order in which they are printed."""
WIDTH = 160


def read(folder: Path) -> dict[str, Json]:
    """Documents of a folder by name; a folder of documents is one.

    Args:
        folder: inputs or ``schemas``.
    """
    found: dict[str, Json] = {}
    for name in SECTIONS:
        single, split = folder / f"{name}.json", sorted((folder / name).glob("*.json"))
        if single.is_file():
            found[name] = json.loads(single.read_text(encoding="utf-8"))
        elif split:
            found[name] = {}
            for path in split:
                found[name] |= json.loads(path.read_text(encoding="utf-8"))
    return found


def compare(old: Path, new: Path) -> Iterator[str]:
    """Lines that say what differs; none if nothing does.

    Args:
        old: facts of one version.
        new: facts of another.

    Raises:
        FileNotFoundError: a folder has no facts.
    """
    before, after = read(old), read(new)
    for folder, documents in ((old, before), (new, after)):
        if not documents:
            raise FileNotFoundError(f"{folder}: no facts")
    for name, title in SECTIONS.items():
        if name in before and name in after:
            lines = list(differences(before[name], after[name]))
        elif name in before or name in after:
            lines = [f"  only in {old if name in before else new}"]
        else:
            continue
        if lines:
            yield f"{title} ({name})"
            yield from lines


def differences(old: Any, new: Any, indent: str = "  ") -> Iterator[str]:
    """Lines about two values: ``+`` is new, ``-`` is gone, ``~`` changed.

    Args:
        old: a JSON value.
        new: another of the same kind.
        indent: what to begin lines with.
    """
    before, after = keyed(old), keyed(new)
    if before is None or after is None:
        if old != new:
            yield f"{indent}~ {short(old)} -> {short(new)}"
        return
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in after:
            yield f"{indent}- {_line(key, before[key])}"
        elif key not in before:
            yield f"{indent}+ {_line(key, after[key])}"
        elif before[key] != after[key]:
            yield from _changed(key, before[key], after[key], indent)
    common = [key for key in after if key in before]
    if isinstance(old, list) and [key for key in before if key in after] != common:
        yield f"{indent}~ order: {short(common)}"


def _changed(key: str, old: Any, new: Any, indent: str) -> Iterator[str]:
    if keyed(old) is None or keyed(new) is None:
        yield f"{indent}~ {key}: {short(old)} -> {short(new)}"
        return
    inner = list(differences(old, new, indent + "  "))
    if len(inner) == 1 and inner[0].strip()[0] == "~":  # one step deeper, on one line
        yield f"{indent}~ {key}.{inner[0].strip()[2:]}"
    else:
        yield f"{indent}{key}"
        yield from inner


def _line(key: str, value: Any) -> str:
    return key if value in (None, [], {}) else f"{key}: {short(value)}"


def short(value: Any) -> str:
    """A value on one line, cut off where it is long."""
    text = json.dumps(value, separators=(",", ":"))
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"


def keyed(value: Any) -> Mapping[str, Any] | None:
    """A value as members that can be compared one by one; None if it has none.

    Rows go by their first column (numbers of fields, names of columns), records by their name,
    plain words by themselves.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    found: dict[str, Any] = {}
    for entry in value:
        key: str
        member: Any
        match entry:
            case [str() | int() as first, *rest]:
                key, member = str(first), rest or None
            case {"name": str(first)} | {"group": str(first), "versions": _}:
                key, member = first, entry
            case {"group": group, "version": version, "kind": kind, **rest} if not rest:
                key, member = f"{group}/{version}/{kind}", None
            case str():
                key, member = entry, None
            case _:
                return None
        if key in found:
            return None
        found[key] = member
    return found
