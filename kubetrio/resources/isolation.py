"""What an update may change of a stored object, whether it did, and how changes are counted.

Source: API conventions ("Spec and Status", ``metadata.generation``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery import managedfields
from kubetrio.schema.empties import put_back
from kubetrio.schema.kind import Strategy
from kubetrio.wire.report import Empties

Object = dict[str, Any]


def unchanged(new: Object, old: Object) -> bool:
    """Whether a write would change nothing but times of managedFields."""
    if new == old:
        return True
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or not managedfields.same_but_times(entries, before):
        return False
    meta = {**new["metadata"], "managedFields": before}
    return {**new, "metadata": meta} == old


def relevant(empties: Empties | None, subresource: str, strategy: Strategy) -> Empties | None:
    """Of the empty members that a client gave, those of the part that it writes."""
    if not empties:
        return None
    if subresource == "status":
        return {name: empties[name] for name in ("status",) if name in empties}
    if strategy.status and "status" in empties:
        return {name: inner for name, inner in empties.items() if name != "status"}
    return empties


def keep_immutable_parts(new: Object, old: Object, subresource: str, strategy: Strategy) -> Object:
    """What the client may change of an object; the rest comes from the stored one.

    Args:
        new: what the client wants.
        old: what is stored.
        subresource: ``status`` and its like write their part only; subresources that are a part
            of the spec are isolated by the kind (``defaults.strategy``).
        strategy: rules of the kind.
    """
    was, meta = old["metadata"], dict(new["metadata"])
    # Another tool may have written an object that lacks a member, which is none of the client's.
    for name in ("uid", "name"):
        if name in was:
            meta.setdefault(name, was[name])
    meta.pop("creationTimestamp", None)
    if "creationTimestamp" in was:
        meta["creationTimestamp"] = was["creationTimestamp"]
    if "deletionTimestamp" in was:  # never removed nor changed; setting one is refused
        meta["deletionTimestamp"] = was["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in was:  # never removed; changing it is refused
        meta.setdefault("deletionGracePeriodSeconds", was["deletionGracePeriodSeconds"])
    meta["resourceVersion"] = was["resourceVersion"]
    meta.pop("selfLink", None)
    result = {**new, "metadata": meta}
    if subresource == "status":
        result = {key: value for key, value in old.items() if key != "status"}
        if "status" in new:
            result["status"] = new["status"]
        result["metadata"] = meta
    elif subresource == "finalize":
        finalizers = (new.get("spec") or {}).get("finalizers")
        spec = {key: v for key, v in (old.get("spec") or {}).items() if key != "finalizers"}
        if finalizers:
            spec["finalizers"] = finalizers
        result = {**old, "spec": spec, "metadata": meta}
    elif strategy.status and not subresource:
        result.pop("status", None)
        if "status" in old:
            result["status"] = old["status"]
    return result


def count_generation(
    new: Object,
    old: Object,
    subresource: str,
    strategy: Strategy,
    empties: Empties | None = None,
) -> Object:
    """Count changes of the desired state in ``metadata.generation``; changes the new object.

    Args:
        new: the object to be stored.
        old: what is stored.
        subresource: what is written; a status is no desired state, whatever came with it.
        strategy: rules of the kind.
        empties: members of the new object that were given and are empty.
    """
    exact = put_back(new, empties) if strategy.generation_exact else new
    meta, was = new["metadata"], old["metadata"]
    generation = was.get("generation") or 0
    watched = strategy.generation_metadata
    if (
        strategy.generation_counts
        and subresource != "status"
        and (
            _spec(exact) != _spec(old)
            or any(meta.get(name) != was.get(name) for name in watched)
            or (strategy.generation_status and new.get("status") != old.get("status"))
        )
    ):
        generation += 1
    if generation:
        meta["generation"] = generation
    else:
        meta.pop("generation", None)
    return new


def _spec(obj: Object) -> Object:
    """What counts as the desired state: everything but identity, metadata and status."""
    return {
        key: value
        for key, value in obj.items()
        if key not in ("kind", "apiVersion", "metadata", "status")
    }
