"""How objects of policy become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    field,
    name,
    number,
    optional,
)
from kubetrio.schema.printing import Json


def pod_disruption_budget(obj: Json, now: float) -> list[Any]:
    """Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    return [
        name(obj),
        optional(field(obj, "spec", "minAvailable"), "N/A"),
        optional(field(obj, "spec", "maxUnavailable"), "N/A"),
        number(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    ]
