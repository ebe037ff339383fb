"""Volumes, claims and the classes and drivers behind them."""

from __future__ import annotations

from typing import Any

from kubetrio.api.printers.helpers import (
    NONE,
    UNSET,
    age,
    deleting,
    field,
    items,
    name,
    optional,
    quantity,
    text,
)
from kubetrio.api.printers.model import Cells, GroupResourceKey, Json

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_STORAGE_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
DEFAULT_ATTRIBUTES_CLASS = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)
# In the order in which they are printed
ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in ACCESS_MODES.items() if mode in modes)


def _class_name(obj: Json) -> str:
    """Storage class: the annotation of old, if it is there, wins over the field."""
    return optional(
        field(obj, "metadata", "annotations", CLASS_ANNOTATION),
        text(obj, "spec", "storageClassName"),
    )


def _phase(obj: Json) -> str:
    return "Terminating" if deleting(obj) else text(obj, "status", "phase")


def persistent_volume(obj: Json, now: float) -> list[Any]:
    """Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, classes, Reason, Age, mode."""
    claim = field(obj, "spec", "claimRef")
    return [
        name(obj),
        quantity(field(obj, "spec", "capacity", "storage")),
        _access_modes(items(obj, "spec", "accessModes")),
        text(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class_name(obj),
        optional(field(obj, "spec", "volumeAttributesClassName")),
        text(obj, "status", "reason"),
        age(obj, now),
        optional(field(obj, "spec", "volumeMode")),
    ]


def persistent_volume_claim(obj: Json, now: float) -> list[Any]:
    """Name, Status, Volume, Capacity, Access Modes, classes, Age, VolumeMode."""
    volume = text(obj, "spec", "volumeName")
    capacity = modes = ""
    if volume:  # what was asked for is not shown, only what was given
        capacity = quantity(field(obj, "status", "capacity", "storage"))
        modes = _access_modes(items(obj, "status", "accessModes"))
    return [
        name(obj),
        _phase(obj),
        volume,
        capacity,
        modes,
        _class_name(obj),
        optional(field(obj, "spec", "volumeAttributesClassName")),
        age(obj, now),
        optional(field(obj, "spec", "volumeMode")),
    ]


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


CELLS: dict[GroupResourceKey, Cells] = {
    ("", "persistentvolumeclaims"): persistent_volume_claim,
    ("", "persistentvolumes"): persistent_volume,
    ("storage.k8s.io", "csidrivers"): csi_driver,
    ("storage.k8s.io", "csinodes"): csi_node,
    ("storage.k8s.io", "storageclasses"): storage_class,
    ("storage.k8s.io", "volumeattachments"): volume_attachment,
    ("storage.k8s.io", "volumeattributesclasses"): volume_attributes_class,
}
