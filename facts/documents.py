"""JSON documents that people read: one record per line, so that a new release is a short diff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def load(folder: Path, name: str) -> Json:
    """Read one document.

    Args:
        folder: where it is.
        name: its file name without ``.json``.

    Raises:
        FileNotFoundError: the document was not made.
    """
    data: Json = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return data


def dump(path: Path, records: Mapping[str, Any]) -> None:
    """Write a JSON object with one top-level member per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
        for key, value in records.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def in_order(records: Mapping[str, Any]) -> Json:
    """Sort the members of an object by name."""
    return {key: records[key] for key in sorted(records)}
