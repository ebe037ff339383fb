"""What pods say of claims of devices, and the claims that are made for them.

Source: docs "Dynamic Resource Allocation"; k8s.io/dynamic-resource-allocation/resourceclaim,
k8s.io/kubernetes/pkg/controller/resourceclaim.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.owning import controller_reference
from kubetrio.kinds.core.pods.digests import parsed
from kubetrio.machinery.jsonvalues import copy_json

Object = dict[str, Any]

FOR_CLAIM = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made for a pod: its name in the pod."""
LONGEST_BASE = 57
_OVER = ("Succeeded", "Failed")


class ClaimingPod(NamedTuple):
    """What is kept of a pod that claims devices.

    Args:
        uid: of the pod.
        node: its name, empty for none.
        done: whether it will not run, or not any longer.
        deleting: whether it is to be gone.
        claims: names in the pod of its claims, and of those that were made or named, as far as
            they are known.
        templates: names of the templates that it names.
    """

    uid: str
    node: str
    done: bool
    deleting: bool
    claims: tuple[tuple[str, str], ...]
    templates: tuple[str, ...]


def claiming_view(value: bytes) -> ClaimingPod | None:
    """What is kept of a pod, None if it claims no devices.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    asked = spec.get("resourceClaims")
    if not asked:
        return None
    node, deleting = spec.get("nodeName") or "", "deletionTimestamp" in meta
    names = ((one["name"], claim_name(pod, one)) for one in asked)
    return ClaimingPod(
        uid=meta["uid"],
        node=node,
        done=status.get("phase") in _OVER or (deleting and not node),
        deleting=deleting,
        claims=tuple((name, known) for name, known in names if known),
        templates=tuple(
            one["resourceClaimTemplateName"]
            for one in asked
            if one.get("resourceClaimTemplateName")
        ),
    )


def claim_name(pod: Object, asked: Object) -> str | None:
    """The name of the ResourceClaim of a pod's claim.

    Args:
        pod: the pod.
        asked: the claim in its spec.

    Returns:
        None while it is not made, empty where none is needed.
    """
    if asked.get("resourceClaimName") is not None:
        return str(asked["resourceClaimName"])
    for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if one["name"] == asked["name"]:
            return one.get("resourceClaimName") or ""
    return None


def is_for(claim: Object, pod: Object) -> bool:
    """Whether a claim was made for a pod."""
    uid = pod["metadata"]["uid"]
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(one.get("controller") and one["uid"] == uid for one in owners)


def base_of(pod: str, name: str) -> str:
    """The beginning of the name of a claim.

    Args:
        pod: name of the pod.
        name: of the claim in the pod.
    """
    base = f"{pod}-{name}-"
    if len(base) <= LONGEST_BASE:
        return base
    pod = pod[: len(pod) * LONGEST_BASE // len(base)]
    shorter = f"{pod}-"
    # The second part is cut by the length of the whole, of which the first is cut already.
    return shorter + name[: len(name) * LONGEST_BASE // len(base)]


def claim_from(template: Object, pod: Object, name: str) -> Object:
    """A claim for a pod.

    Args:
        template: the ResourceClaimTemplate.
        pod: the pod, which owns it.
        name: of the claim in the pod.
    """
    meta, spec = pod["metadata"], copy_json(template["spec"])
    given = spec.get("metadata") or {}
    owner = controller_reference("v1", "Pod", meta, blocks=False)
    labels = {"labels": given["labels"]} if given.get("labels") else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": base_of(meta["name"], name),
            "ownerReferences": [owner],
            "annotations": {**(given.get("annotations") or {}), FOR_CLAIM: name},
            **labels,
        },
        "spec": spec["spec"],
    }


def without_consumers(claim: Object, left: list[Object], finalizer: str) -> Object:
    """A claim that fewer use; the last one leaves it without devices.

    Args:
        claim: as stored; it is not changed.
        left: those that use it.
        finalizer: of claims that a scheduler gave devices.
    """
    status = dict(claim.get("status") or {})
    status.pop("reservedFor", None)
    if left:
        status["reservedFor"] = left
    elif finalizer in (claim["metadata"].get("finalizers") or ()):
        status.pop("allocation", None)
    return {**claim, "status": status}


def without_finalizer(claim: Object, finalizer: str) -> Object:
    """A claim without a finalizer; for the arguments see `without_consumers`."""
    meta = claim["metadata"]
    left = [one for one in meta.get("finalizers") or () if one != finalizer]
    rest = {key: value for key, value in meta.items() if key != "finalizers"}
    return {**claim, "metadata": {**rest, **({"finalizers": left} if left else {})}}
