"""How objects of node.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    name,
    text,
)
from kubetrio.schema.printing import Json


def runtime_class(obj: Json, now: float) -> list[Any]:
    """Name, Handler, Age."""
    return [name(obj), text(obj, "handler"), age(obj, now)]
