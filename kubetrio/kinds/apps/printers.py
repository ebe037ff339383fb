"""How objects of apps become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    INVALID,
    NONE,
    age,
    containers,
    field,
    items,
    labels,
    name,
    number,
    pod_spec_of,
    replicas_of,
    selector,
    selector_cell,
    text,
)
from kubetrio.schema.printing import Json


def replica_set(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*replicas_of(obj, now), selector_cell(field(obj, "spec", "selector"))]


def _ready_of_desired(obj: Json) -> str:
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def deployment(obj: Json, now: float) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    chosen = selector(field(obj, "spec", "selector"))
    return [
        name(obj),
        _ready_of_desired(obj),
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age(obj, now),
        *containers(pod_spec_of(obj)),
        # Unlike in other workloads, an empty selector prints as nothing.
        INVALID if chosen is None else chosen,
    ]


def stateful_set(obj: Json, now: float) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    return [name(obj), _ready_of_desired(obj), age(obj, now), *containers(pod_spec_of(obj))]


def daemon_set(obj: Json, now: float) -> list[Any]:
    """Name, five counts, Node Selector, Age, Containers, Images, Selector."""
    status = obj.get("status")
    return [
        name(obj),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels(field(pod_spec_of(obj), "nodeSelector")),
        age(obj, now),
        *containers(pod_spec_of(obj)),
        selector_cell(field(obj, "spec", "selector")),
    ]


def controller_revision(obj: Json, now: float) -> list[Any]:
    """Name, Controller, Revision, Age."""
    controller = NONE
    for owner in items(obj, "metadata", "ownerReferences"):
        if field(owner, "controller"):
            group, _, _ = text(owner, "apiVersion").rpartition("/")
            kind = text(owner, "kind").lower()
            controller = f"{kind}.{group}" if group else kind
            controller = f"{controller}/{text(owner, 'name')}"
            break
    return [name(obj), controller, number(obj, "revision"), age(obj, now)]
