"""What a scheduler knows of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.podcontrol.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from kubetrio.controllers.scheduler.shapes import CPU
from kubetrio.kinds.common.quantities import amount_of

Object = dict[str, Any]
PODS = "pods"
PREFER_NO_SCHEDULE = "PreferNoSchedule"


class NodeFacts(NamedTuple):
    """What is kept of a node.

    Args:
        name: of the node.
        labels: of the node.
        hard: taints that keep pods away.
        soft: taints that speak against a node.
        unschedulable: whether it is to get no pods.
        allocatable: amounts by resource, of CPU in thousandths.
        pods: how many it has room for.
    """

    name: str
    labels: Mapping[str, str]
    hard: tuple[Taint, ...]
    soft: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Mapping[str, int]
    pods: int


def node_facts(value: bytes) -> NodeFacts:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    spec, status = node.get("spec") or {}, node.get("status") or {}
    taints = [
        Taint(one.get("key") or "", one.get("value") or "", one.get("effect") or "")
        for one in spec.get("taints") or ()
    ]
    amounts = {name: amount_of(value) for name, value in (status.get("allocatable") or {}).items()}
    return NodeFacts(
        name=node["metadata"]["name"],
        labels=node["metadata"].get("labels") or {},
        hard=tuple(one for one in taints if one.effect in (NO_SCHEDULE, NO_EXECUTE)),
        soft=tuple(one for one in taints if one.effect == PREFER_NO_SCHEDULE),
        unschedulable=bool(spec.get("unschedulable")),
        allocatable={
            name: amount.milli_value() if name == CPU else amount.value()
            for name, amount in amounts.items()
            if name != PODS
        },
        pods=amounts[PODS].value() if PODS in amounts else 0,
    )
