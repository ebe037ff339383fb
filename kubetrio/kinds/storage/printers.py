"""How objects of storage.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    UNSET,
    age,
    field,
    items,
    name,
    optional,
    text,
)
from kubetrio.schema.printing import Json

DEFAULT_STORAGE_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


DEFAULT_ATTRIBUTES_CLASS = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)


def _marked_default(obj: Json, annotations: tuple[str, ...]) -> str:
    """Name of a class, with a mark if it is the default one."""
    default = any(text(obj, "metadata", "annotations", key) == "true" for key in annotations)
    return f"{name(obj)} (default)" if default else name(obj)


def storage_class(obj: Json, now: float) -> list[Any]:
    """Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age."""
    return [
        _marked_default(obj, DEFAULT_STORAGE_CLASS),
        text(obj, "provisioner"),
        optional(obj.get("reclaimPolicy"), "Delete"),
        optional(obj.get("volumeBindingMode"), "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def volume_attributes_class(obj: Json, now: float) -> list[Any]:
    """Name, DriverName, Age."""
    marked = _marked_default(obj, DEFAULT_ATTRIBUTES_CLASS)
    return [marked, text(obj, "driverName"), age(obj, now)]


def csi_driver(obj: Json, now: float) -> list[Any]:
    """Name, three switches, TokenRequests, RequiresRepublish, Modes, Age."""
    spec = obj.get("spec")
    attach = field(spec, "attachRequired")
    requests = items(spec, "tokenRequests")
    return [
        name(obj),
        True if attach is None else bool(attach),
        bool(field(spec, "podInfoOnMount")),
        bool(field(spec, "storageCapacity")),
        ",".join(text(each, "audience") for each in requests) if requests else UNSET,
        bool(field(spec, "requiresRepublish")),
        ",".join(items(spec, "volumeLifecycleModes")) or NONE,
        age(obj, now),
    ]


def csi_node(obj: Json, now: float) -> list[Any]:
    """Name, Drivers, Age."""
    return [name(obj), len(items(obj, "spec", "drivers")), age(obj, now)]


def volume_attachment(obj: Json, now: float) -> list[Any]:
    """Name, Attacher, PV, Node, Attached, Age."""
    return [
        name(obj),
        text(obj, "spec", "attacher"),
        text(obj, "spec", "source", "persistentVolumeName"),
        text(obj, "spec", "nodeName"),
        bool(field(obj, "status", "attached")),
        age(obj, now),
    ]
