"""Deletion: preconditions, grace, finalizers, two phases.

Source: docs "Finalizers", "Garbage collection", API conventions (graceful deletion).  What a
deletion does to an object is decided here by functions over plain values; `lifecycle` carries it
out.
"""

from __future__ import annotations

import enum
from typing import Any

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, conflict
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.strategy import Strategy
from kubetrio.resources.writes import DeleteOptions
from kubetrio.schema.registry import ResourceType

Object = dict[str, Any]
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
DEFAULT_POD_GRACE_S = 30


class Outcome(enum.Enum):
    """What a deletion does."""

    REMOVE = enum.auto()  # the object goes now
    MARK = enum.auto()  # a deletionTimestamp is set; the object waits
    NOTHING = enum.auto()  # it is being deleted already


def check_preconditions(resource: ResourceType, obj: Object, options: DeleteOptions) -> None:
    """Refuse a deletion of another object than the one meant.

    Raises:
        ApiError: 409, in kube-apiserver's words (which name the kind).
    """
    meta = obj["metadata"]
    named = GroupResource(resource.group, resource.kind)
    if options.uid is not None and options.uid != meta.get("uid"):
        raise conflict(
            named,
            meta["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta.get('uid')}). The object might have been deleted and then recreated",
        )
    version = options.resource_version
    if version is not None and version != meta["resourceVersion"]:
        raise conflict(
            named,
            meta["name"],
            f"the ResourceVersion in the precondition ({version}) does not match "
            f"the ResourceVersion in record ({meta['resourceVersion']}). "
            "The object might have been modified",
        )


def new_finalizers(obj: Object, strategy: Strategy, options: DeleteOptions) -> list[str]:
    """Finalizers after the propagation policy is applied."""
    current: list[str] = list(obj["metadata"].get("finalizers") or [])
    policy = options.propagation
    if not policy:
        if ORPHAN in current or FOREGROUND in current:
            return current
        policy = "Orphan" if strategy.orphan_by_default else "Background"
    kept = [name for name in current if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        return [*kept, ORPHAN]
    if policy == "Foreground":
        return [*kept, FOREGROUND]
    return kept


def grace_period(obj: Object, strategy: Strategy, options: DeleteOptions) -> int:
    """Seconds a kubelet gets to stop the object; 0 where nobody runs it."""
    if not strategy.graceful:
        return 0
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    period = options.grace_period_s
    if period is None:
        period = spec.get("terminationGracePeriodSeconds")
    if period is None:
        period = DEFAULT_POD_GRACE_S
    return max(int(period), 1) if period < 0 else int(period)


def plan(
    resource: ResourceType, obj: Object, strategy: Strategy, options: DeleteOptions, now: float
) -> tuple[Outcome, Object]:
    """What a deletion does to an object.

    Args:
        resource: its resource.
        obj: the stored object; not changed.
        strategy: rules of its kind.
        options: the request's options.
        now: wall clock, seconds since the epoch.

    Returns:
        The outcome and the object as it will be stored, or announced as its last state.
    """
    meta = dict(obj["metadata"])
    changed = {**obj, "metadata": meta}
    finalizers = new_finalizers(obj, strategy, options)
    namespace = resource.group == "" and resource.resource == "namespaces"
    grace = grace_period(obj, strategy, options)
    deleting = "deletionTimestamp" in meta
    pending = bool(finalizers) or (namespace and bool((obj.get("spec") or {}).get("finalizers")))
    if not pending and grace == 0:
        if strategy.graceful:
            if not deleting and meta.get("generation"):
                meta["generation"] += 1
            meta.setdefault("deletionTimestamp", format_time(now))
            meta["deletionGracePeriodSeconds"] = 0
        return Outcome.REMOVE, changed
    previous = meta.get("deletionGracePeriodSeconds")
    if not deleting:
        meta["deletionTimestamp"] = format_time(now + grace)
        if not namespace:
            meta["deletionGracePeriodSeconds"] = grace
    elif grace and previous is not None and options.grace_period_s is not None and grace < previous:
        meta["deletionTimestamp"] = format_time(now + grace)
        meta["deletionGracePeriodSeconds"] = grace
    if finalizers != list(obj["metadata"].get("finalizers") or []):
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
    if namespace:
        changed["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if not deleting and meta.get("generation"):
        meta["generation"] += 1
    if changed == obj:
        return Outcome.NOTHING, obj
    return Outcome.MARK, changed


def finished(obj: Object, resource: ResourceType) -> bool:
    """Whether an updated object that is being deleted has nothing left to wait for."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if resource.group == "" and resource.resource == "namespaces":
        return not (obj.get("spec") or {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")


def being_deleted(resource: GroupResource, name: str) -> ApiError:
    """409 for a create of a name whose object is still going away."""
    return ApiError(
        409,
        "AlreadyExists",
        f'object is being deleted: {resource} "{name}" already exists',
        {"name": name, **({"group": resource.group} if resource.group else {}),
         "kind": resource.resource},
    )  # fmt: skip
