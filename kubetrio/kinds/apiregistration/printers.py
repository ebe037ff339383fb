"""How objects of apiregistration.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    condition,
    field,
    name,
    text,
)
from kubetrio.schema.printing import Json


def _available(obj: Json) -> str:
    available = condition(obj, "Available")
    if available is None:
        return "Unknown"
    status, reason = text(available, "status"), text(available, "reason")
    return f"{status} ({reason})" if status != "True" and reason else status


def api_service(obj: Json, now: float) -> list[Any]:
    """Name, Service, Available, Age."""
    service = field(obj, "spec", "service")
    local = "Local" if service is None else f"{text(service, 'namespace')}/{text(service, 'name')}"
    return [name(obj), local, _available(obj), age(obj, now)]
