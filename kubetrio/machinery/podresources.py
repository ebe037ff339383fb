"""What a whole pod asks for: the sum of its containers, or the most that starting it takes.

Source: docs "Resource Management for Pods and Containers", "Init Containers", "Sidecar Containers".
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery import quantity
from kubetrio.machinery.quantity import Quantity

Object = dict[str, Any]
Amounts = dict[str, Quantity]


def _add(target: Amounts, more: Amounts) -> None:
    for key, value in more.items():
        target[key] = target[key] + value if key in target else value


def _raise(target: Amounts, other: Amounts) -> None:
    for key, value in other.items():
        if key not in target or target[key] < value:
            target[key] = value


def of_container(container: Object, member: str) -> Amounts:
    """Requests or limits of one container."""
    raw = (container.get("resources") or {}).get(member) or {}
    return {key: quantity.from_json(value) for key, value in raw.items()}


def total(spec: Object, member: str) -> Amounts:
    """Requests or limits of a pod.

    Args:
        spec: the pod's spec.
        member: ``requests`` or ``limits``.
    """
    sums: Amounts = {}
    for container in spec.get("containers") or ():
        _add(sums, of_container(container, member))
    beside: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = of_container(container, member)
        if container.get("restartPolicy") == "Always":
            # It keeps running beside the containers and whatever starts after it.
            _add(sums, own)
            _add(beside, own)
            _raise(most, beside)
        else:
            _add(own, beside)
            _raise(most, own)
    _raise(sums, most)
    return sums
