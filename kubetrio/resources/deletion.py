"""Deletion: preconditions, grace, finalizers, two phases.

Source: docs "Finalizers", "Garbage collection", API conventions (graceful deletion).  What a
deletion does to an object is decided here by functions over plain values; the steps of `deleting`
carry it out.
"""

from __future__ import annotations

import enum
from typing import Any

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import conflict
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.resources.writes import DeleteOptions
from kubetrio.schema.kind import Kind, Strategy

Object = dict[str, Any]
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
DEFAULT_POD_GRACE_S = 30


class Outcome(enum.Enum):
    """What a deletion does."""

    REMOVE = enum.auto()  # the object goes now
    MARK = enum.auto()  # a deletionTimestamp is set; the object waits
    NOTHING = enum.auto()  # it is being deleted already


def check_preconditions(resource: Kind, obj: Object, options: DeleteOptions) -> None:
    """Refuse a deletion of another object than the one meant.

    Raises:
        ApiError: 409, in kube-apiserver's words (which name the kind).
    """
    meta = {"name": "", "uid": "", **obj["metadata"]}  # another tool may have left them out
    if resource.strategy.own_deletion:
        _check_by_resource(resource, meta, options)
        return
    named = GroupResource(resource.stored.group, resource.kind)
    if options.uid is not None and options.uid != meta["uid"]:
        raise conflict(
            named,
            meta["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated",
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


def _check_by_resource(resource: Kind, meta: Object, options: DeleteOptions) -> None:
    """Say it in the words of storages that name the resource."""
    for what, member, given in (
        ("UID", "uid", options.uid),
        ("ResourceVersion", "resourceVersion", options.resource_version),
    ):
        if given is not None and given != meta[member]:
            raise conflict(
                resource.group_resource,
                meta["name"],
                f"Precondition failed: {what} in precondition: {given}, "
                f"{what} in object meta: {meta[member]}",
            )


def new_finalizers(obj: Object, strategy: Strategy, options: DeleteOptions) -> list[str]:
    """Finalizers after the propagation policy is applied."""
    current: list[str] = list(obj["metadata"].get("finalizers") or [])
    policy = options.propagation if strategy.collected else "Background"
    if not policy:
        if ORPHAN in current or FOREGROUND in current:
            return current
        policy = "Orphan" if strategy.orphan_by_default else "Background"
    return _with_policy(current, policy)


def _with_policy(current: list[str], policy: str) -> list[str]:
    kept = [name for name in current if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        return [*kept, ORPHAN]
    if policy == "Foreground":
        return [*kept, FOREGROUND]
    return kept


def grace_period(obj: Object, strategy: Strategy, options: DeleteOptions) -> int:
    """Seconds a kubelet gets to stop the object; 0 where no kubelet runs it."""
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
    resource: Kind, obj: Object, strategy: Strategy, options: DeleteOptions, now: float
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
    meta = obj["metadata"]
    deleting = "deletionTimestamp" in meta
    if resource.strategy.waits_for_content:
        if not deleting:
            return Outcome.MARK, _terminating(obj, options, now)
        if (obj.get("spec") or {}).get("finalizers"):
            return Outcome.NOTHING, obj
    marked = None if deleting else resource.stored.rules.marked
    if marked is not None:
        return Outcome.MARK, marked(obj, format_time(now))
    if not deleting:
        grace = grace_period(obj, strategy, options)
        return _removed_or_marked(obj, strategy, options, now + grace, grace)
    previous = meta.get("deletionGracePeriodSeconds")
    if not strategy.graceful or not previous:
        return _removed_or_marked(obj, strategy, options, now, previous or 0)
    # It is being stopped: all that counts is whether it gets less time for that.
    asked = options.grace_period_s
    grace = previous if asked is None else 1 if asked < 0 else asked
    if grace >= previous:
        return Outcome.NOTHING, obj
    at = parse_time(meta["deletionTimestamp"]) - previous + grace
    sooner = {**obj, "metadata": {**meta, "deletionTimestamp": format_time(at)}}
    return _removed_or_marked(sooner, strategy, options, now, grace)


def _removed_or_marked(
    obj: Object, strategy: Strategy, options: DeleteOptions, at: float, grace: int
) -> tuple[Outcome, Object]:
    """An object with the finalizers it waits for, if any; marked, if that was not done before."""
    meta = dict(obj["metadata"])
    changed = {**obj, "metadata": meta}
    finalizers = new_finalizers(obj, strategy, options)
    stays = bool(finalizers) or grace > 0
    if stays or strategy.graceful:
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = format_time(at)
            if meta.get("generation"):
                meta["generation"] += 1
        meta["deletionGracePeriodSeconds"] = grace
    if not stays:
        return Outcome.REMOVE, changed
    _set_finalizers(meta, finalizers)
    return (Outcome.NOTHING if changed == obj else Outcome.MARK), changed


def _set_finalizers(meta: Object, finalizers: list[str]) -> None:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _terminating(obj: Object, options: DeleteOptions, now: float) -> Object:
    """A namespace whose deletion begins: it always waits, for its content to be found gone."""
    meta = {**obj["metadata"], "deletionTimestamp": format_time(now)}
    policy = "Foreground" if options.waits else options.propagation
    if policy:
        _set_finalizers(meta, _with_policy(list(meta.get("finalizers") or []), policy))
    return {
        **obj,
        "metadata": meta,
        "status": {**(obj.get("status") or {}), "phase": "Terminating"},
    }


def finished(obj: Object, resource: Kind) -> bool:
    """Whether an updated object that is being deleted has nothing left to wait for."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if resource.strategy.waits_for_content:
        return not (obj.get("spec") or {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")
