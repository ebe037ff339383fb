"""Parts of CustomResourceDefinitions beside their schemas: scale, columns, selectable fields.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation; KEP-4358 (selectable fields).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json, each
from kubetrio.machinery.fielderrors import duplicate, invalid, invalid_pointer, required, too_many
from kubetrio.structural.schemapaths import NoField, find_field

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_SELECTABLE_MAX = 8
_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with "
    "formats are allowed."
)


def _json_path(value: str, path: str, out: Causes) -> bool:
    if value.startswith("."):
        return True
    out.append(invalid(path, value, "must be a simple json path starting with ."))
    return False


def subresources(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check where replicas and the selector are.

    Args:
        value: with ``scale``.
        path: its path.
        out: receives causes.
    """
    scale = value.get("scale")
    if scale is None:
        return
    for name, parent in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        where, text = f"{path}.scale.{name}", scale.get(name) or ""
        if not text:
            out.append(required(where))
        elif _json_path(text, where, out) and not text.startswith(f"{parent}."):
            out.append(invalid(where, text, f"should be a json path under {parent}"))
    where, text = f"{path}.scale.labelSelectorPath", scale.get("labelSelectorPath") or ""
    if text and _json_path(text, where, out) and not text.startswith((".spec.", ".status.")):
        detail = "should be a json path under either .spec or .status"
        out.append(invalid_pointer(where, text, detail))


def _column(column: Mapping[str, Any], path: str, out: Causes) -> None:
    if not column.get("name"):
        out.append(required(f"{path}.name"))
    kind, form = column.get("type") or "", column.get("format") or ""
    detail = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        out.append(required(f"{path}.type", detail))
    elif kind not in _COLUMN_TYPES:
        out.append(invalid(f"{path}.type", kind, detail))
    if form and form not in _COLUMN_FORMATS:
        detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
        out.append(invalid(f"{path}.format", form, detail))
    text = column.get("jsonPath") or ""
    if not text:
        out.append(required(f"{path}.JSONPath"))
    else:
        _json_path(text, f"{path}.JSONPath", out)


columns = each(_column)
"""Check of ``additionalPrinterColumns``."""


def selectable_fields(
    items: Sequence[Json], schema: Mapping[str, Any] | None, path: str, out: Causes
) -> None:
    """Check the fields that field selectors may name.

    Args:
        items: the list.
        schema: the schema that they point into.
        path: path of the list.
        out: receives causes.
    """
    seen: set[str] = set()
    for index, item in enumerate(items):
        where, text = f"{path}[{index}].jsonPath", item.get("jsonPath") or ""
        if not text:
            out.append(required(where))
            continue
        try:
            field = find_field(schema or {}, text, brackets=False)
        except NoField as error:
            out.append(invalid(where, text, f"is an invalid path: {error}"))
            continue
        if field.steps[0] == "metadata":
            out.append(invalid(where, text, "must not point to fields in metadata"))
        if field.schema.get("type") not in ("string", "boolean", "integer"):
            out.append(invalid(where, text, _SELECTABLE))
        if field.path in seen:
            out.append(duplicate(where, text))
        seen.add(field.path)
    if len(seen) > _SELECTABLE_MAX:
        out.append(too_many(path, len(seen), _SELECTABLE_MAX))
