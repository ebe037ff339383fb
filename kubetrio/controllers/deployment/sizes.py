"""How many pods each ReplicaSet of a Deployment is to have, step by step.

A rolling update never has more pods than ``replicas`` and ``maxSurge``, and takes no pod that is
available when fewer than ``replicas`` less ``maxUnavailable`` would be left.

Source: docs "Deployments"; k8s.io/kubernetes/pkg/controller/deployment (``rolling.go``,
``sync.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.deployment.annotations import MAX_REPLICAS, desired_replicas, number
from kubetrio.kinds.common.formats import number_or_percent

Object = dict[str, Any]
ROLLING, RECREATE = "RollingUpdate", "Recreate"


class Step(NamedTuple):
    """A ReplicaSet that gets another size.

    Args:
        name: of the ReplicaSet.
        size: that it gets.
        force: whether its annotations are written though the size stays.
    """

    name: str
    size: int
    force: bool = False


def size_of(replica_set: Object) -> int:
    """How many pods a ReplicaSet or a Deployment is to have."""
    replicas = replica_set["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def told(replica_set: Object | None, name: str) -> int:
    """A number of the status of a ReplicaSet."""
    return 0 if replica_set is None else int((replica_set.get("status") or {}).get(name) or 0)


def total(replica_sets: Iterable[Object | None]) -> int:
    """How many pods ReplicaSets are to have."""
    return sum(size_of(one) for one in replica_sets if one is not None)


def available(replica_sets: Iterable[Object | None]) -> int:
    """How many available pods ReplicaSets have."""
    return sum(told(one, "availableReplicas") for one in replica_sets)


def active(replica_sets: Iterable[Object | None]) -> list[Object]:
    """ReplicaSets that are to have pods."""
    return [one for one in replica_sets if one is not None and size_of(one) > 0]


def by_age(replica_sets: Iterable[Object]) -> list[Object]:
    """ReplicaSets, oldest first."""
    return sorted(replica_sets, key=_age)


def _age(replica_set: Object) -> tuple[str, str]:
    meta = replica_set["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]


def strategy(deployment: Object) -> str:
    """``RollingUpdate`` or ``Recreate``."""
    return (deployment["spec"].get("strategy") or {}).get("type") or ROLLING


def max_surge(deployment: Object) -> int:
    """How many pods more than asked for there may be."""
    return _fenceposts(deployment)[0] if strategy(deployment) == ROLLING else 0


def max_unavailable(deployment: Object) -> int:
    """How many pods less than asked for may be available."""
    replicas = size_of(deployment)
    if strategy(deployment) != ROLLING or replicas == 0:
        return 0
    return min(_fenceposts(deployment)[1], replicas)


def _fenceposts(deployment: Object) -> tuple[int, int]:
    """Surge and unavailability as numbers, of which one is not 0."""
    limits = deployment["spec"].get("strategy", {}).get("rollingUpdate") or {}
    replicas = size_of(deployment)
    surge = _scaled(limits.get("maxSurge"), replicas, up=True)
    unavailable = _scaled(limits.get("maxUnavailable"), replicas, up=False)
    return surge, unavailable if surge or unavailable else 1


def _scaled(value: int | str | None, whole: int, *, up: bool) -> int:
    if value is None:
        return 0
    part = number_or_percent(value)
    if not isinstance(value, str):
        return part
    return -(-part * whole // 100) if up else part * whole // 100


def new_size(deployment: Object, replica_sets: Sequence[Object | None], new: Object) -> int:
    """How many pods the newest ReplicaSet is to have next.

    Args:
        deployment: as stored.
        replica_sets: all it has, the newest among them.
        new: the newest.
    """
    replicas, size = size_of(deployment), size_of(new)
    if strategy(deployment) == RECREATE:
        return replicas
    room = replicas + max_surge(deployment) - total(replica_sets)
    return size if room <= 0 else size + min(room, replicas - size)


def grown(deployment: Object, replica_sets: Sequence[Object | None], new: Object) -> list[Step]:
    """What the newest ReplicaSet's size becomes; nothing where it stays."""
    replicas, size = size_of(deployment), size_of(new)
    if size == replicas:
        return []
    to = replicas if size > replicas else new_size(deployment, replica_sets, new)
    return [Step(new["metadata"]["name"], to)] if to != size else []


def shrunk(deployment: Object, new: Object, old: Sequence[Object]) -> list[Step]:
    """What older ReplicaSets lose: pods that are not available first.

    Args:
        deployment: as stored.
        new: its newest ReplicaSet.
        old: the others that have pods.
    """
    least = size_of(deployment) - max_unavailable(deployment)
    unready = size_of(new) - _lasting(new)
    room = total([*old, new]) - least - unready
    if not old or room <= 0:
        return []
    steps, sizes = list[Step](), {one["metadata"]["name"]: size_of(one) for one in old}
    for one in by_age(old):
        name, has = one["metadata"]["name"], _lasting(one)
        if room > 0 and sizes[name] != has:
            gone = min(room, sizes[name] - has)
            if gone > 0:
                room -= gone
                sizes[name] -= gone
                steps.append(Step(name, sizes[name]))
    spare = sum(map(_lasting, [*old, new])) - least
    for one in by_age(old):
        name = one["metadata"]["name"]
        if spare > 0 and sizes[name] > 0:
            gone = min(sizes[name], spare)
            spare -= gone
            sizes[name] -= gone
            steps.append(Step(name, sizes[name]))
    return steps


def _lasting(replica_set: Object) -> int:
    """How many available pods a ReplicaSet keeps.

    Its status may count some that are to go.  kube-controller-manager counts them too, and so may
    take more pods than it should when it is faster than the controller of ReplicaSets.
    """
    return min(told(replica_set, "availableReplicas"), size_of(replica_set))


def rescaled(deployment: Object, new: Object | None, old: Sequence[Object]) -> list[Step]:
    """What sizes become when the Deployment's own size has changed, or while it is paused.

    Args:
        deployment: as stored.
        new: its newest ReplicaSet, None where there is none yet.
        old: all others.
    """
    replicas = size_of(deployment)
    only = _active_or_latest(new, old)
    if only is not None:
        return [Step(only["metadata"]["name"], replicas)] if size_of(only) != replicas else []
    if saturated(deployment, new):
        return [Step(one["metadata"]["name"], 0) for one in active(old)]
    if strategy(deployment) != ROLLING:
        return []
    return _proportional(deployment, active([*old, new]))


def _active_or_latest(new: Object | None, old: Sequence[Object]) -> Object | None:
    """The only ReplicaSet that has pods, or the newest where none has."""
    if new is None and not old:
        return None
    newest_first = by_age(old)[::-1]
    having = active([*newest_first, new])
    if not having:
        return new or newest_first[0]
    return having[0] if len(having) == 1 else None


def saturated(deployment: Object, new: Object | None) -> bool:
    """Whether the newest ReplicaSet has all pods, and all of them are available."""
    if new is None:
        return False
    replicas = size_of(deployment)
    return (
        size_of(new) == replicas
        and desired_replicas(new) == replicas
        and told(new, "availableReplicas") == replicas
    )


def _proportional(deployment: Object, having: list[Object]) -> list[Step]:
    if not having:
        return []
    replicas = size_of(deployment)
    allowed = replicas + max_surge(deployment) if replicas > 0 else 0
    to_add = allowed - total(having)
    ordered = by_age(having)
    if to_add > 0:
        ordered.reverse()
    if to_add:
        ordered.sort(key=lambda one: -size_of(one))
    sizes, added = dict[str, int](), 0
    for one in ordered:
        part = _proportion(deployment, one, to_add, added) if to_add else 0
        sizes[one["metadata"]["name"]] = size_of(one) + part
        added += part
    if to_add:
        first = ordered[0]["metadata"]["name"]
        sizes[first] = max(sizes[first] + to_add - added, 0)
    return [Step(name, size, force=True) for name, size in sizes.items()]


def _proportion(deployment: Object, replica_set: Object, to_add: int, added: int) -> int:
    """What a ReplicaSet gets of the pods to add, or loses of those to remove."""
    left = to_add - added
    if size_of(replica_set) == 0 or left == 0:
        return 0
    fraction = _fraction(deployment, replica_set)
    return min(fraction, left) if to_add > 0 else max(fraction, left)


def _fraction(deployment: Object, replica_set: Object) -> int:
    size, replicas = size_of(replica_set), size_of(deployment)
    if replicas == 0:
        return -size
    before = number(replica_set, MAX_REPLICAS) or told(deployment, "replicas")
    if before == 0:
        return 0
    exact = float(size * (replicas + max_surge(deployment))) / float(before)
    return int(exact - 0.5 if exact < 0 else exact + 0.5) - size
