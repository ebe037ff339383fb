"""Who owns the claims of a StatefulSet's members, by its retention policy.

Source: docs "PersistentVolumeClaim retention"; k8s.io/kubernetes/pkg/controller/statefulset
(``stateful_set_utils.go``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.owning import controller_reference
from kubetrio.controllers.podcontrol.claims import Controlling

Object = dict[str, Any]

RETAIN, DELETE = "Retain", "Delete"


class Member(NamedTuple):
    """A member as an owner of claims.

    Args:
        name: of its pod.
        uid: of its pod, empty where it is not there.
        condemned: whether its ordinal is beyond the StatefulSet's.
    """

    name: str
    uid: str
    condemned: bool


def policy_of(owner: Controlling) -> tuple[str, str]:
    """What happens to claims when the set is scaled down, and when it is deleted."""
    policy = owner.obj["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenScaled") or RETAIN, policy.get("whenDeleted") or RETAIN


def _references(claim: Object) -> list[Object]:
    return list(claim["metadata"].get("ownerReferences") or ())


def _is_set(reference: Object, owner: Controlling) -> bool:
    names = ("apiVersion", "kind", "name")
    mine = owner.reference()
    return all(reference.get(name) == mine[name] for name in names)


def _is_pod(reference: Object, member: Member) -> bool:
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == (
        "v1", "Pod", member.name,
    )  # fmt: skip


def stale_for_pod(claim: Object, member: Member) -> bool:
    """Whether a claim belongs to a former pod of the member, and goes with that."""
    return any(_is_pod(one, member) and one.get("uid") != member.uid for one in _references(claim))


def _stale(claim: Object, owner: Controlling, member: Member) -> bool:
    return stale_for_pod(claim, member) or any(
        _is_set(one, owner) and one.get("uid") != owner.meta["uid"] for one in _references(claim)
    )


def conflicts(claim: Object, owner: Controlling, member: Member) -> bool:
    """Whether something else controls a claim."""
    if policy_of(owner) == (RETAIN, RETAIN):
        return False
    return _stale(claim, owner, member) or any(
        one.get("controller") and not _is_set(one, owner) and not _is_pod(one, member)
        for one in _references(claim)
    )


def _wanted(owner: Controlling, member: Member) -> tuple[bool, bool]:
    """Whether the set, and whether the pod, is to own a claim."""
    scaled, deleted = policy_of(owner)
    by_pod = scaled == DELETE and member.condemned
    return deleted == DELETE and not by_pod, by_pod


def up_to_date(claim: Object, owner: Controlling, member: Member) -> bool:
    """Whether a claim's owners are those of the policy, or must not be touched."""
    if _stale(claim, owner, member):
        return True
    references = _references(claim)
    by_set = any(one.get("uid") == owner.meta["uid"] for one in references)
    by_pod = bool(member.uid) and any(one.get("uid") == member.uid for one in references)
    if conflicts(claim, owner, member):
        return not (by_set or by_pod)
    ours = [one for one in references if one.get("uid") in (owner.meta["uid"], member.uid)]
    if any(not one.get("controller") for one in ours):
        return False
    return (by_set, by_pod) == _wanted(owner, member)


def with_owners(claim: Object, owner: Controlling, member: Member) -> Object:
    """A claim with the owners of the policy.

    Args:
        claim: as stored; it is not changed.
        owner: the StatefulSet.
        member: whose claim it is.
    """
    conflict = conflicts(claim, owner, member)
    references = [
        one for one in _references(claim) if not _is_set(one, owner) and not _is_pod(one, member)
    ]
    by_set, by_pod = _wanted(owner, member)
    if by_set and not conflict:
        references.append(owner.reference())
    if by_pod and not conflict:
        pod = {"name": member.name, "uid": member.uid}
        references.append(controller_reference("v1", "Pod", pod))
    meta = {**claim["metadata"], "ownerReferences": references}
    if not references:
        del meta["ownerReferences"]
    return {**claim, "metadata": meta}
