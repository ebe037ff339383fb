"""What a whole pod asks for: the sum of its containers, or the most that starting it takes.

What the pod itself says wins over both.

Source: docs "Resource Management for Pods and Containers", "Init Containers", "Sidecar Containers",
"Pod Overhead"; KEP-2837 (resources of pods).
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
    """Requests or limits of one container, or what a pod's spec says for the whole pod."""
    raw = (container.get("resources") or {}).get(member) or {}
    return {key: quantity.from_json(value) for key, value in raw.items()}


def _may_be_of_pod(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def of_pod(spec: Object, member: str) -> Amounts:
    """Requests or limits that the pod itself says, of the resources for which it can.

    Args:
        spec: the pod's spec.
        member: ``requests`` or ``limits``.
    """
    own = of_container(spec, member)
    return {name: value for name, value in own.items() if _may_be_of_pod(name)}


def total(spec: Object, member: str) -> Amounts:
    """Requests or limits of a pod, without its overhead.

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
    if spec.get("resources"):
        sums.update(of_pod(spec, member))
    return sums


def total_with_overhead(spec: Object, member: str) -> Amounts:
    """Requests or limits of a pod and of running it at all, which raises only limits there are.

    Args:
        spec: the pod's spec.
        member: ``requests`` or ``limits``.
    """
    sums = total(spec, member)
    if raw := spec.get("overhead"):
        overhead = quantity.amounts(raw)
        if member == "limits":
            overhead = {name: value for name, value in overhead.items() if sums.get(name)}
        _add(sums, overhead)
    return sums
