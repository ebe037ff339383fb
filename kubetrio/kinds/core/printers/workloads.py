"""Cells of replication controllers."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    field,
    labels,
    replicas_of,
)
from kubetrio.schema.printing import Json


def replication_controller(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*replicas_of(obj, now), labels(field(obj, "spec", "selector"))]
