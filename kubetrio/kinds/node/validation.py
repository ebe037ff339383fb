"""Runtime classes.

Source: "Runtime Class" and "Pod Overhead" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    changes,
    go_struct,
    immutable,
    matches,
    member,
    row,
    table,
    unchanged,
)
from kubetrio.kinds.common.quantities import container_resource_name, requirements
from kubetrio.kinds.common.selectors import label_map
from kubetrio.kinds.core.validation.nodelabels import DEPRECATED_LABELS
from kubetrio.kinds.core.validation.scheduling import tolerations
from kubetrio.machinery.fielderrors import duplicate
from kubetrio.machinery.names_validation import dns1123_label

_TOLERATION = go_struct(
    Key=("key", ""),
    Operator=("operator", ""),
    Value=("value", ""),
    Effect=("effect", ""),
    TolerationSeconds=("tolerationSeconds", None),
)
_IDENTITY = ("key", "operator", "value", "effect")


def _tolerations(items: list[Json], path: str, out: Causes) -> None:
    tolerations(items, path, out)
    seen: set[tuple[str, ...]] = set()
    for index, item in enumerate(items):
        identity = tuple(item.get(name) or "" for name in _IDENTITY)
        if identity in seen:
            out.append(duplicate(f"{path}[{index}]", _TOLERATION(item)))
        seen.add(identity)


def _overhead(value: Mapping[str, Any], path: str, out: Causes) -> None:
    # the amounts are checked as limits, which shows in the paths
    limits = {"limits": value.get("podFixed") or {}}
    requirements(limits, path, out, name_check=container_resource_name)


_CREATE = table(
    row("handler", matches(dns1123_label), missing=""),
    row("overhead", _overhead),
    row(
        "scheduling",
        table(row("nodeSelector", label_map), row("tolerations", _tolerations)),
    ),
)


def _warnings(new: Json, _: Json | None) -> list[str]:
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"
        for key in sorted(member(member(new, "scheduling"), "nodeSelector"))
        if key in DEPRECATED_LABELS
    ]


RUNTIMECLASSES = Validation(
    create=_CREATE,
    update=changes(unchanged(_CREATE), immutable("handler")),
    revalidate=False,
    warnings=_warnings,
)
