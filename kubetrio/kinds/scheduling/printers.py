"""How objects of scheduling.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    name,
    number,
    text,
)
from kubetrio.schema.printing import Json


def priority_class(obj: Json, now: float) -> list[Any]:
    """Name, Value, Global-Default, Age, PreemptionPolicy."""
    return [
        name(obj),
        number(obj, "value"),
        bool(obj.get("globalDefault")),
        age(obj, now),
        text(obj, "preemptionPolicy"),
    ]
