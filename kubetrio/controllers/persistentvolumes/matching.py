"""Which volume suits a claim.

Source: docs "Persistent Volumes" (binding, access modes, selectors, classes);
k8s.io/component-helpers/storage/volume/pv_helpers.go;
k8s.io/kubernetes/pkg/controller/volume/persistentvolume/index.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector
from kubetrio.machinery.quantity import Quantity, from_json

Object = Mapping[str, Any]

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
STORAGE = "storage"


def annotations_of(obj: Object) -> Mapping[str, str]:
    """The annotations of an object."""
    annotations: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return annotations


def class_of(obj: Object) -> str:
    """The class of a claim or a volume, empty for none."""
    beta = annotations_of(obj).get(BETA_CLASS)
    if beta is not None:
        return beta
    name: str = obj["spec"].get("storageClassName") or ""
    return name


def has_class(claim: Object) -> bool:
    """Whether a claim says of which class it is, were it of none."""
    return BETA_CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def default_class(classes: Iterable[Object]) -> str | None:
    """The name of the default class, the newest of several; None for none."""
    defaults = [
        one
        for one in classes
        if "true" in (annotations_of(one).get(DEFAULT_CLASS),
                      annotations_of(one).get(BETA_DEFAULT_CLASS))
    ]  # fmt: skip
    defaults.sort(key=lambda one: str(one["metadata"]["name"]))
    newest = sorted(
        defaults, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True
    )
    return str(newest[0]["metadata"]["name"]) if newest else None


def is_bound_to(volume: Object, claim: Object) -> bool:
    """Whether a volume is for a claim, by name and by uid where it says one."""
    reference, meta = volume["spec"].get("claimRef"), claim["metadata"]
    if reference is None or reference.get("name") != meta["name"]:
        return False
    if reference.get("namespace") != meta["namespace"]:
        return False
    return reference.get("uid") in (None, "", meta["uid"])


def same_mode(claim: Object, volume: Object) -> bool:
    """Whether a claim and a volume are both blocks or both file systems."""
    return bool(_mode(claim) == _mode(volume))


def unsuited(volume: Object, claim: Object) -> str:
    """Why a volume that a claim names does not suit it, empty where it does."""
    name = volume["metadata"]["name"]
    if "deletionTimestamp" in volume["metadata"]:
        return f'the volume is marked for deletion "{name}"'
    if _capacity(volume).value() < _requested(claim).value():
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes(volume) != _attributes(claim):
        return "volumeAttributesClassName does not match"
    if not same_mode(claim, volume):
        return "incompatible volumeMode"
    if not _modes(claim) <= _modes(volume):
        return "incompatible accessMode"
    return ""


def best_match(claim: Object, volumes: Iterable[Object], *, waits: bool) -> Object | None:
    """The volume that a claim is to be bound to.

    One that is meant for the claim wins; else the smallest of those with the fewest access modes.

    Args:
        claim: it has no volume yet.
        volumes: all there are.
        waits: whether the claim is bound when a pod uses it, so that only a volume that is meant
            for it counts.
    """
    modes, selector = _modes(claim), _selector(claim)
    best: Object | None = None
    best_key: tuple[int, Quantity, str] | None = None
    for volume in volumes:
        mine = is_bound_to(volume, claim)
        if not mine and (waits or volume["spec"].get("claimRef") is not None):
            continue
        if not modes <= _modes(volume) or not _suits(volume, claim):
            continue
        if mine:
            return volume
        if (volume.get("status") or {}).get("phase") != "Available":
            continue
        if not selector.matches(volume["metadata"].get("labels") or {}):
            continue
        if class_of(volume) != class_of(claim):
            continue
        key = (len(_modes(volume)), _capacity(volume), volume["metadata"]["name"])
        if best_key is None or key < best_key:
            best, best_key = volume, key
    return best


def _suits(volume: Object, claim: Object) -> bool:
    return (
        "deletionTimestamp" not in volume["metadata"]
        and same_mode(claim, volume)
        and _attributes(volume) == _attributes(claim)
        and _capacity(volume) >= _requested(claim)
    )


def _selector(claim: Object) -> Selector:
    """The selector of a claim; one that cannot be read selects nothing."""
    try:
        return from_label_selector(claim["spec"].get("selector") or {})
    except ValueError:
        return NOTHING


def _mode(obj: Object) -> str:
    return str(obj["spec"].get("volumeMode") or "Filesystem")


def _attributes(obj: Object) -> str:
    return str(obj["spec"].get("volumeAttributesClassName") or "")


def _modes(obj: Object) -> frozenset[str]:
    return frozenset(obj["spec"].get("accessModes") or ())


def _capacity(volume: Object) -> Quantity:
    return from_json((volume["spec"].get("capacity") or {}).get(STORAGE))


def _requested(claim: Object) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return from_json(requests.get(STORAGE))
