"""What the containers of a pod ask for together, and the quality of service that follows.

Source: "Init Containers" (resource sharing), KEP-753 (sidecars) and "Pod Quality of Service
Classes" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubetrio.kinds.common.checks import Json
from kubetrio.kinds.common.quantities import ZERO, amount_of
from kubetrio.machinery.quantity import Quantity

_COMPUTE = ("cpu", "memory")
_Amounts = dict[str, Quantity]


def _amounts(container: Mapping[str, Any], side: str) -> Json:
    amounts: Json = (container.get("resources") or {}).get(side) or {}
    return amounts


def _add(total: _Amounts, more: Json) -> None:
    for name, value in more.items():
        total[name] = total.get(name, ZERO) + amount_of(value)


def _raise_to(total: _Amounts, least: Mapping[str, Quantity]) -> None:
    for name, value in least.items():
        if value > total.get(name, ZERO):
            total[name] = value


def container_amounts(spec: Mapping[str, Any], side: str = "requests") -> _Amounts:
    """The most that the containers of a pod ask for at one time, by resource.

    Args:
        spec: the pod's spec.
        side: ``requests`` or ``limits``.
    """
    total: _Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, side))
    sidecars: _Amounts = {}
    peaks: _Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(total, _amounts(container, side))
            _add(sidecars, _amounts(container, side))
            _raise_to(peaks, sidecars)
        else:
            now = dict(sidecars)
            _add(now, _amounts(container, side))
            _raise_to(peaks, now)
    _raise_to(total, peaks)
    return total


def _positive(amounts: Mapping[str, Any]) -> _Amounts:
    positive = {name: amount_of(amounts[name]) for name in _COMPUTE if name in amounts}
    return {name: value for name, value in positive.items() if value > ZERO}


def _parts(spec: Mapping[str, Any]) -> Iterable[Json]:
    own = spec.get("resources")
    # resources of the whole pod count once they are set, be they empty
    if own is not None:
        return [own]
    listed = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return [container.get("resources") or {} for container in listed]


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """The class of a pod: ``Guaranteed``, ``Burstable`` or ``BestEffort``.

    Args:
        spec: the pod's spec, with defaults.
    """
    requests: _Amounts = {}
    limits: _Amounts = {}
    guaranteed = True
    for resources in _parts(spec):
        asked = _positive(resources.get("requests") or {})
        bound = _positive(resources.get("limits") or {})
        for total, more in ((requests, asked), (limits, bound)):
            for name, value in more.items():
                total[name] = total.get(name, ZERO) + value
        guaranteed = guaranteed and len(bound) == len(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    if (
        guaranteed
        and len(requests) == len(limits)
        and all(name in limits and limits[name] == value for name, value in requests.items())
    ):
        return "Guaranteed"
    return "Burstable"
