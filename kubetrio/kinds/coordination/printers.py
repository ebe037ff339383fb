"""How objects of coordination.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    name,
    text,
)
from kubetrio.schema.printing import Json


def lease(obj: Json, now: float) -> list[Any]:
    """Name, Holder, Age."""
    return [name(obj), text(obj, "spec", "holderIdentity"), age(obj, now)]
