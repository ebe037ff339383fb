"""How nodes are: what their conditions mean as taints, when they are silent, and how zones are.

Source: docs "Nodes", "Taint based Evictions"; k8s.io/kubernetes/pkg/controller/nodelifecycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.podcontrol.taints import NO_EXECUTE, NO_SCHEDULE
from kubetrio.machinery.timestamps import format_time, parse_time

Object = dict[str, Any]

GRACE_S, STARTUP_GRACE_S = 50.0, 60.0
"""How long a node may be silent, and one that has never said how it is, in seconds."""
READY = "Ready"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
EXCLUDED = "node.kubernetes.io/exclude-disruption"
_TAINTS = {
    (READY, "False"): NOT_READY,
    (READY, "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = frozenset({*_TAINTS.values(), UNSCHEDULABLE})
_OF_KUBELET = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
_LABELS = (
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
)
_ZONES = (
    ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
)
_MANY, _PART = 2, 0.55


class Health(NamedTuple):
    """What is kept of a node.

    Args:
        uid: of the node.
        created: when, in seconds.
        zone: region and zone.
        counts: whether it counts in its zone.
        ready: status of its condition ``Ready``, empty without one.
        heartbeat: time of that condition.
        executes: keys of its ``NoExecute`` taints.
        schedules: keys of its ``NoSchedule`` taints that are this controller's.
        wanted: keys that those are to be.
        labels: labels that it is to have and has not.
    """

    uid: str
    created: float
    zone: str
    counts: bool
    ready: str
    heartbeat: str
    executes: frozenset[str]
    schedules: frozenset[str]
    wanted: frozenset[str]
    labels: tuple[tuple[str, str], ...]


def health_view(value: bytes) -> Health:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    return health_of(orjson.loads(value))


def health_of(node: Object) -> Health:
    """What is kept of a node that is at hand as an object."""
    meta, spec = node["metadata"], node.get("spec") or {}
    labels = meta.get("labels") or {}
    conditions = (node.get("status") or {}).get("conditions") or ()
    states = {one.get("type"): one.get("status") for one in conditions}
    ready: Object = next((one for one in conditions if one.get("type") == READY), {})
    taints = [(one.get("key") or "", one.get("effect")) for one in spec.get("taints") or ()]
    keys = {key for (type_, status), key in _TAINTS.items() if states.get(type_) == status}
    if spec.get("unschedulable"):
        keys.add(UNSCHEDULABLE)
    created = meta.get("creationTimestamp")
    region, zone = (labels.get(new) or labels.get(old) or "" for new, old in _ZONES)
    return Health(
        uid=meta.get("uid") or "",
        created=parse_time(created) if created else 0.0,
        zone=f"{region}:\0:{zone}" if region or zone else "",
        counts=EXCLUDED not in labels,
        ready=ready.get("status") or "",
        heartbeat=ready.get("lastHeartbeatTime") or "",
        executes=frozenset(key for key, effect in taints if effect == NO_EXECUTE),
        schedules=frozenset(
            key for key, effect in taints if effect == NO_SCHEDULE and key in _OURS
        ),
        wanted=frozenset(keys),
        labels=tuple(
            (second, labels[first])
            for first, second in _LABELS
            if first in labels and labels.get(second) != labels[first]
        ),
    )


class Probe(NamedTuple):
    """When a node was last heard of.

    Args:
        at: in seconds, by the clock of this server.
        heartbeat: time of its condition then, empty without one.
        lease: when its Lease was renewed, as that says; empty without one.
    """

    at: float
    heartbeat: str
    lease: str


def heard(known: Probe | None, health: Health, lease: str, now: float) -> Probe:
    """When a node was last heard of.

    Args:
        known: when it was as far as is known.
        health: of the node.
        lease: when its Lease was renewed, empty without one.
        now: wall clock, in seconds.
    """
    if known is None:
        at = now if health.ready else health.created
    elif known.heartbeat != health.heartbeat:
        at = now
    else:
        at = known.at
    before = "" if known is None else known.lease
    return Probe(now if lease > before else at, health.heartbeat, max(lease, before))


def silent(probe: Probe, health: Health, now: float) -> bool:
    """Whether a node was not heard of for too long."""
    return now > probe.at + (GRACE_S if health.ready else STARTUP_GRACE_S)


def with_unknown(node: Object, now: float) -> Object:
    """A node of which nothing is known any more; the same object if it says so already.

    Args:
        node: as stored; it is not changed.
        now: wall clock, in seconds.
    """
    status = node.get("status") or {}
    conditions, changed = list(status.get("conditions") or ()), False
    for type_ in _OF_KUBELET:
        place = next((n for n, one in enumerate(conditions) if one.get("type") == type_), None)
        if place is None:
            new: Object = {
                "type": type_,
                "status": "Unknown",
                "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
                "lastTransitionTime": format_time(now),
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
            }
            conditions.append(new)
            changed = True
        elif conditions[place].get("status") != "Unknown":
            conditions[place] = {
                **conditions[place],
                "status": "Unknown",
                "lastTransitionTime": format_time(now),
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
            }
            changed = True
    return {**node, "status": {**status, "conditions": conditions}} if changed else node


def with_taints(
    node: Object, add: Iterable[str], remove: Iterable[str], effect: str, now: float
) -> Object:
    """A node with other taints of one effect.

    Args:
        node: as stored; it is not changed.
        add: keys that it gets.
        remove: keys that it loses.
        effect: of all of them.
        now: wall clock, in seconds.
    """
    spec, gone = node.get("spec") or {}, {*add, *remove}
    taints = [
        one
        for one in spec.get("taints") or ()
        if not (one.get("effect") == effect and one.get("key") in gone)
    ]
    time = format_time(now)
    taints += [{"key": key, "effect": effect, "timeAdded": time} for key in sorted(add)]
    new = {**spec, "taints": taints}
    if not taints:
        del new["taints"]
    return {**node, "spec": new}


class ZoneState(Enum):
    """How the nodes of a zone are."""

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_state(ready: Iterable[bool]) -> ZoneState:
    """The state of a zone.

    Args:
        ready: of each of its nodes, whether it is.
    """
    states = list(ready)
    bad = states.count(False)
    if bad == len(states):
        return ZoneState.FULL if bad else ZoneState.NORMAL
    if bad > _MANY and bad / len(states) >= _PART:
        return ZoneState.PARTIAL
    return ZoneState.NORMAL


def all_fully_disrupted(states: Mapping[str, ZoneState]) -> bool:
    """Whether no zone has a node that is ready."""
    return all(state is ZoneState.FULL for state in states.values())
