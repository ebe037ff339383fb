"""Owners that are named twice: taken out before an object is written, and warned of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Object = dict[str, Any]

_CONTAINS = ".metadata.ownerReferences contains duplicate entries"
_WARNING = (
    "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
    "please fix your requests; duplicate UID(s) observed: "
)


def drop_repeated_owners(
    obj: Object, warn: Callable[[Iterable[str]], None], *, admitted: bool
) -> None:
    """Keep the first of owner references that are equal in every member.

    Args:
        obj: the object; its metadata are changed, the list in them is not.
        warn: takes a warning that names the uids.
        admitted: whether plugins that mutate have seen the object, as the warning tells.
    """
    meta = obj.get("metadata")
    owners = meta.get("ownerReferences") if meta else None
    if meta is None or owners is None or len(owners) < 2:
        return
    kept: list[Object] = []
    repeated: list[str] = []
    seen: dict[str, list[Object]] = {}
    for owner in owners:
        uid = owner.get("uid") or ""
        same_uid = seen.setdefault(uid, [])
        if owner in same_uid:
            repeated.append(uid)
        else:
            same_uid.append(owner)
            kept.append(owner)
    if repeated:
        meta["ownerReferences"] = kept
        when = " after mutating admission happens" if admitted else ""
        warn([f"{_CONTAINS}{when}{_WARNING}{', '.join(repeated)}"])
