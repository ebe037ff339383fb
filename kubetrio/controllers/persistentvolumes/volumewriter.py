"""Writes what binds claims and volumes to each other, a step at a time.

Each step may be the last one before a crash: what is written already is not written again.

Source: k8s.io/kubernetes/pkg/controller/volume/persistentvolume/pv_controller.go (``bind``,
``unbindVolume``, ``updateClaimStatus``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from kubetrio.controllers.controller import Context
from kubetrio.controllers.persistentvolumes.matching import (
    BETA_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONER,
    is_bound_to,
)
from kubetrio.machinery.status import conflict, not_found
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
Make = Callable[[Object], Object]
AVAILABLE, BOUND, PENDING, LOST = "Available", "Bound", "Pending", "Lost"


class VolumeWriter:
    """Writes claims and volumes.

    Args:
        context: of the controller.
        who: writes.
    """

    def __init__(self, context: Context, who: WriteOptions) -> None:
        self.claims = context.registry.resources["", "v1", "persistentvolumeclaims"]
        self.volumes = context.registry.resources["", "v1", "persistentvolumes"]
        self._operations = context.operations
        self._who = who

    async def bind(self, volume: Object, claim: Object) -> None:
        """Bind a volume and a claim to each other.

        Raises:
            ApiError: one cannot be written; 409 where the volume is for another claim by now.
        """
        volume = await self._claim_volume(volume, claim)
        volume = await self.phase(volume, BOUND)
        claim = await self._name_volume(claim, volume)
        await self.claim_status(claim, BOUND, volume)

    async def unbind(self, volume: Object) -> None:
        """Take a claim from a volume, which keeps the name where a user wrote it.

        Raises:
            ApiError: it cannot be written.
        """

        def unbound(old: Object) -> Object:
            meta, spec = old["metadata"], old["spec"]
            if BOUND_BY_CONTROLLER not in (meta.get("annotations") or {}):
                reference = {k: v for k, v in spec["claimRef"].items() if k != "uid"}
                return {**old, "spec": {**spec, "claimRef": reference}}
            left = {k: v for k, v in meta["annotations"].items() if k != BOUND_BY_CONTROLLER}
            meta = {k: v for k, v in meta.items() if k != "annotations"}
            if left:
                meta["annotations"] = left
            return {
                **old,
                "metadata": meta,
                "spec": {k: v for k, v in spec.items() if k != "claimRef"},
            }

        volume = await self._patch(self.volumes, volume, "", unbound)
        await self.phase(volume, AVAILABLE)

    async def phase(self, volume: Object, phase: str) -> Object:
        """Give a volume a phase; returns the volume.

        Raises:
            ApiError: it cannot be written.
        """
        if (volume.get("status") or {}).get("phase") == phase:
            return volume

        def told(old: Object) -> Object:
            status = {k: v for k, v in (old.get("status") or {}).items() if k != "message"}
            return {**old, "status": {**status, "phase": phase}}

        return await self._patch(self.volumes, volume, "status", told)

    async def claim_status(self, claim: Object, phase: str, volume: Object | None) -> None:
        """Give a claim a phase, and what it has of its volume.

        Args:
            claim: the claim.
            phase: of it.
            volume: that it has, None for none.

        Raises:
            ApiError: it cannot be written.
        """

        def told(old: Object) -> Object:
            status = _status(old.get("status") or {}, phase, volume)
            return old if status == (old.get("status") or {}) else {**old, "status": status}

        if told(claim) is not claim:
            await self._patch(self.claims, claim, "status", told)

    async def annotate_provisioner(self, claim: Object, provisioner: str) -> None:
        """Say who is to make a volume for a claim.

        Raises:
            ApiError: it cannot be written.
        """
        if (claim["metadata"].get("annotations") or {}).get(PROVISIONER) == provisioner:
            return
        names = {BETA_PROVISIONER: provisioner, PROVISIONER: provisioner}
        await self._patch(self.claims, claim, "", lambda old: _annotated(old, names))

    async def set_class(self, claim: Object, name: str) -> None:
        """Give a claim that says nothing of a class the default one.

        Raises:
            ApiError: it cannot be written.
        """

        def classed(old: Object) -> Object:
            if old["spec"].get("storageClassName") is not None:
                return old
            return {**old, "spec": {**old["spec"], "storageClassName": name}}

        await self._patch(self.claims, claim, "", classed)

    async def _claim_volume(self, volume: Object, claim: Object) -> Object:
        """Have a volume name its claim.

        Raises:
            ApiError: 409, it names another one.
        """
        reference = _reference(claim)

        def named(old: Object) -> Object:
            mine = is_bound_to(old, claim)
            if not mine and old["spec"].get("claimRef") is not None:
                name = old["metadata"]["name"]
                raise conflict(self.volumes.group_resource, name, "it is for another claim")
            if mine and old["spec"]["claimRef"].get("uid"):
                return old
            new = {**old, "spec": {**old["spec"], "claimRef": reference}}
            return new if mine else _annotated(new, {BOUND_BY_CONTROLLER: "yes"})

        if named(volume) is volume:
            return volume
        return await self._patch(self.volumes, volume, "", named)

    async def _name_volume(self, claim: Object, volume: Object) -> Object:
        """Have a claim name its volume."""
        name = volume["metadata"]["name"]

        def named(old: Object) -> Object:
            new, annotations = old, {BIND_COMPLETED: "yes"}
            if old["spec"].get("volumeName") != name:
                new = {**old, "spec": {**old["spec"], "volumeName": name}}
                annotations[BOUND_BY_CONTROLLER] = "yes"
            known = (old["metadata"].get("annotations") or {}).keys()
            return new if annotations.keys() <= known else _annotated(new, annotations)

        if named(claim) is claim:
            return claim
        return await self._patch(self.claims, claim, "", named)

    async def _patch(self, kind: Kind, obj: Object, subresource: str, make: Make) -> Object:
        """Change an object, unless another one has its name by now; returns the new one."""
        meta = obj["metadata"]

        def made(old: Object) -> Object:
            if old["metadata"]["uid"] != meta["uid"]:
                raise not_found(kind.group_resource, meta["name"])
            return make(old)

        target = Target(kind, meta.get("namespace") or "", meta["name"], subresource)
        written = await self._operations.patch(target, made, self._who)
        new: Object = orjson.loads(written.value)
        return new


def _status(old: Object, phase: str, volume: Object | None) -> Object:
    """The status of a claim with a phase, and with a volume or without one."""
    of_volume = ("accessModes", "capacity", "currentVolumeAttributesClassName")
    if volume is None:
        return {**{k: v for k, v in old.items() if k not in of_volume}, "phase": phase}
    spec = volume["spec"]
    status = {**old, "phase": phase, "accessModes": spec.get("accessModes")}
    if old.get("phase") != phase:
        status["capacity"] = spec.get("capacity")
        if spec.get("volumeAttributesClassName"):
            status["currentVolumeAttributesClassName"] = spec["volumeAttributesClassName"]
    return status


def _annotated(obj: Object, more: dict[str, str]) -> Object:
    meta = obj["metadata"]
    annotations = {**(meta.get("annotations") or {}), **more}
    return {**obj, "metadata": {**meta, "annotations": dict(sorted(annotations.items()))}}


def _reference(claim: Object) -> Object:
    meta = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": "v1",
        "resourceVersion": meta["resourceVersion"],
    }
