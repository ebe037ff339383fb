"""Adoption and release: which objects an owner has, and which references are to change for it.

Source: k8s.io/kubernetes/pkg/controller (``BaseControllerRefManager``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from kubetrio.controllers.owning import controller_reference
from kubetrio.kinds.core.pods.digests import Owner, owner_of
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
T = TypeVar("T")


class Controlling(NamedTuple):
    """An owner of other objects.

    Args:
        api_version: of its kind.
        kind: of the owner.
        obj: the owner.
    """

    api_version: str
    kind: str
    obj: Object

    @property
    def meta(self) -> Object:
        """Its metadata."""
        meta: Object = self.obj["metadata"]
        return meta

    @property
    def deleting(self) -> bool:
        """Whether it is to be gone, so that it takes and leaves nothing."""
        return bool(self.meta.get("deletionTimestamp"))

    def reference(self) -> Object:
        """The reference that what it controls has."""
        return controller_reference(self.api_version, self.kind, self.meta)


class Claimable(NamedTuple):
    """What decides about the ownership of an object.

    Args:
        owner: its controller.
        deleting: whether it is to be gone.
        matches: whether the owner selects it.
    """

    owner: Owner | None
    deleting: bool
    matches: bool


class Claims(NamedTuple, Generic[T]):
    """What an owner has, and what it is to take and to leave.

    Args:
        held: what it has already.
        adopt: orphans that it selects.
        release: what it has and selects no longer.
    """

    held: list[T]
    adopt: list[T]
    release: list[T]


def claims(owner: Controlling, objects: Iterable[T], look: Callable[[T], Claimable]) -> Claims[T]:
    """Which objects an owner has, takes and leaves.

    Args:
        owner: the owner.
        objects: its own, and orphans.
        look: what is to be known of one.
    """
    result: Claims[T] = Claims([], [], [])
    for one in objects:
        seen = look(one)
        if seen.owner is not None:
            if seen.owner.uid != owner.meta["uid"]:
                continue
            if seen.matches:
                result.held.append(one)
            elif not owner.deleting:
                result.release.append(one)
        elif seen.matches and not seen.deleting and not owner.deleting:
            result.adopt.append(one)
    return result


def adopted(obj: Object, uid: str, reference: Object, finalizers: tuple[str, ...] = ()) -> Object:
    """An object with another controller.

    Args:
        obj: as stored; it is not changed.
        uid: of the object that is meant.
        reference: to the controller.
        finalizers: that it gets beside.

    Raises:
        ApiError: 409: another object has the name, or it has a controller.
    """
    meta = obj["metadata"]
    owner = owner_of(meta)
    if meta.get("uid") != uid or (owner is not None and owner.uid != reference["uid"]):
        raise ApiError(409, "Conflict", f"{meta['name']} is not to be adopted any more")
    references = [
        one for one in meta.get("ownerReferences") or () if one.get("uid") != reference["uid"]
    ]
    new = {**meta, "ownerReferences": [*references, reference]}
    if missing := [one for one in finalizers if one not in (meta.get("finalizers") or ())]:
        new["finalizers"] = [*(meta.get("finalizers") or ()), *missing]
    return {**obj, "metadata": new}


def released(obj: Object, uid: str, owner: str, finalizers: tuple[str, ...] = ()) -> Object:
    """An object without a reference to an owner; for the arguments see `adopted`.

    Raises:
        ApiError: 404: another object has the name.
    """
    meta = obj["metadata"]
    if meta.get("uid") != uid:
        raise ApiError(404, "NotFound", f"{meta['name']} is another object now")
    references = [one for one in meta.get("ownerReferences") or () if one.get("uid") != owner]
    left = [one for one in meta.get("finalizers") or () if one not in finalizers]
    new = {
        key: value
        for key, value in {**meta, "ownerReferences": references, "finalizers": left}.items()
        if value or key not in ("ownerReferences", "finalizers")
    }
    return {**obj, "metadata": new}
