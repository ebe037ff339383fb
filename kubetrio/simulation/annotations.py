"""Annotations by which objects say how they are simulated.

Those of a pod may name one of its containers behind a dot: ``exit-code.web`` is about the
container ``web`` and stronger than ``exit-code``.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

PREFIX = "simulation.kubetrio.io/"
NODE = f"{PREFIX}node"
"""Of simulated nodes; its value is ``true``."""
STATE = f"{PREFIX}state"
"""Of a simulated node that is not well: `LOST` or `NOT_READY`; of a pod: see `podlife`."""
LOST, NOT_READY = "lost", "not-ready"


def said_of(obj: Object, name: str, container: str = "") -> str | None:
    """Return what an annotation says, None where there is none.

    Args:
        obj: has it.
        name: of the annotation, without the prefix.
        container: of the pod; empty for the pod itself.
    """
    annotations: dict[str, str] = obj["metadata"].get("annotations") or {}
    if container and (own := annotations.get(f"{PREFIX}{name}.{container}")) is not None:
        return own
    return annotations.get(f"{PREFIX}{name}")


def number_of(obj: Object, name: str, container: str = "") -> float | None:
    """Return the number that an annotation says; None where there is none, or no number.

    For the arguments see `said_of`.
    """
    text = said_of(obj, name, container)
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None
