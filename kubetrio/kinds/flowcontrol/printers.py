"""How objects of flowcontrol.apiserver.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    age,
    condition,
    field,
    name,
    number,
    text,
)
from kubetrio.schema.printing import Json


def flow_schema(obj: Json, now: float) -> list[Any]:
    """Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL."""
    method = field(obj, "spec", "distinguisherMethod")
    dangling = condition(obj, "Dangling")
    return [
        name(obj),
        text(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        NONE if method is None else text(method, "type"),
        age(obj, now),
        "?" if dangling is None else text(dangling, "status"),
    ]


def flow_schema_order(obj: Json) -> tuple[int, str]:
    """Flow schemas are listed in the order in which requests are matched to them."""
    return number(obj, "spec", "matchingPrecedence"), name(obj)


def priority_level_configuration(obj: Json, now: float) -> list[Any]:
    """Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age."""
    limited = field(obj, "spec", "limited")
    queuing = field(limited, "limitResponse", "queuing")
    queues: list[Any] = [NONE] * 3
    if queuing is not None:
        queues = [number(queuing, key) for key in ("queues", "handSize", "queueLengthLimit")]
    return [
        name(obj),
        text(obj, "spec", "type"),
        NONE if limited is None else number(limited, "nominalConcurrencyShares"),
        *queues,
        age(obj, now),
    ]
