"""Priority classes (scheduling.k8s.io).

Source: "Pod Priority and Preemption" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    changes,
    immutable,
    one_of,
    row,
    table,
)
from kubetrio.machinery.fielderrors import forbidden

HIGHEST_USER_PRIORITY = 1_000_000_000
"""The greatest priority that users may define."""
_PREFIX = "system-"
_SYSTEM: Mapping[str, int] = MappingProxyType(
    {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
)
_RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "


def _system_error(name: str, value: int, is_default: bool) -> str:
    known = _SYSTEM.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _value(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith(_PREFIX):
        if error := _system_error(name, value, bool(obj.get("globalDefault"))):
            out.append(forbidden("metadata.name", _RESERVED + error))
    elif value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        out.append(forbidden("value", detail))


def _same_value(new: Json, old: Json, out: Causes) -> None:
    if (new.get("value") or 0) != (old.get("value") or 0):
        out.append(forbidden("value", "may not be changed in an update."))


PRIORITYCLASSES = Validation(
    create=table(
        _value,
        # a policy that is empty is required; one that is missing has a default
        row("preemptionPolicy", one_of("PreemptLowerPriority", "Never"), missing=""),
    ),
    update=changes(_same_value, immutable("preemptionPolicy", named=("preemptionPolicy",))),
    revalidate=False,
)
