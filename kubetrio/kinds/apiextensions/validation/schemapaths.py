"""Paths that point into the schema of a custom resource: ``fieldPath`` of rules, selectable fields.

Source: "Validation rules" and "Field selectors" of CustomResourceDefinitions in the Kubernetes
documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_token = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]")

NO_FIELD = "does not refer to a valid field"


def find_field(
    schema: Mapping[str, Any], path: str, *, indexes: bool = True
) -> tuple[str, Mapping[str, Any] | None]:
    """The schema that a path points to.

    Args:
        schema: where the path starts.
        path: such as ``.spec.replicas`` or ``.labels['a.b']``.
        indexes: whether items of lists may be pointed to.

    Returns:
        What is wrong with the path, empty for nothing; and the schema.
    """
    if not path:
        return "must not be empty", None
    spot = 0
    current: Mapping[str, Any] | None = schema
    while spot < len(path):
        found = _token.match(path, spot)
        if found is None:
            return f"expected [ or . but got: {path[spot:]}", None
        name = found[1] if found[1] is not None else found[2]
        if name is None:
            # an index points nowhere: expressions know no single item
            return NO_FIELD if indexes else "array notation is not allowed", None
        current = _step(current or {}, name)
        if current is None:
            return NO_FIELD, None
        spot = found.end()
    return "", current


def _step(schema: Mapping[str, Any], name: str | None) -> Mapping[str, Any] | None:
    if name is None:
        items = schema.get("items")
        return items if isinstance(items, dict) else None
    properties = schema.get("properties") or {}
    if name in properties:
        inner: Mapping[str, Any] = properties[name]
        return inner
    others = schema.get("additionalProperties")
    return others if isinstance(others, dict) else None
