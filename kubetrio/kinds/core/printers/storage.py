"""Cells of volumes and claims."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    deleting,
    field,
    items,
    name,
    optional,
    quantity,
    text,
)
from kubetrio.schema.printing import Json

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


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
