"""Sums of quantities of resources, which pod-level defaults and QoS need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubetrio.machinery.quantity import Quantity, parse

Json = dict[str, Any]


def _requested(containers: Iterable[Json], kind: str) -> Iterable[tuple[bool, Mapping[str, str]]]:
    """For each container whether it is a sidecar, and its requests or limits."""
    for container in containers:
        amounts = (container.get("resources") or {}).get(kind) or {}
        yield container.get("restartPolicy") == "Always", amounts


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def pod_total(spec: Json, kind: str) -> dict[str, Quantity]:
    """What the containers of a pod need together (docs: "Sidecar containers", resource sharing).

    Init containers run one after the other beside the sidecars started before them, so the total
    is the greater of that peak and of the sum of containers and sidecars.

    Args:
        spec: the pod's spec.
        kind: ``requests`` or ``limits``.
    """
    total: dict[str, Quantity] = {}
    for _, texts in _requested(spec.get("containers") or (), kind):
        _add(total, {name: parse(text) for name, text in texts.items()})
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for sidecar, texts in _requested(spec.get("initContainers") or (), kind):
        amounts = {name: parse(text) for name, text in texts.items()}
        if sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


_QOS_RESOURCES = ("cpu", "memory")


def _qos_amounts(sources: Iterable[Json], kind: str) -> tuple[dict[str, Quantity], bool]:
    """Sums of what counts for the class, and whether every source has all of it."""
    total: dict[str, Quantity] = {}
    everywhere = True
    for resources in sources:
        amounts = {}
        for name in _QOS_RESOURCES:
            text = (resources.get(kind) or {}).get(name)
            if text is not None and (amount := parse(text)) > Quantity(0):
                amounts[name] = amount
        everywhere = everywhere and len(amounts) == len(_QOS_RESOURCES)
        _add(total, amounts)
    return total, everywhere


def qos_class(spec: Json) -> str:
    """The quality of service class of a pod (docs: "Pod Quality of Service Classes").

    Args:
        spec: the pod's spec, with defaults applied.
    """
    sources: list[Json]
    if spec.get("resources") is not None:
        sources = [spec["resources"]]
    else:
        containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        sources = [container.get("resources") or {} for container in containers]
    requests, _ = _qos_amounts(sources, "requests")
    limits, limited = _qos_amounts(sources, "limits")
    if not requests and not limits:
        return "BestEffort"
    if limited and requests == limits:
        return "Guaranteed"
    return "Burstable"
