"""Volumes without a host: objects that nothing is mounted from, for clusters that are simulated.

It is a provisioner as those of CSI drivers are: asked by an annotation of the claim, and by the
phase of a volume whose claim is gone.  So it works beside a stock kube-controller-manager too.

Source: docs "Storage Classes", "Dynamic Volume Provisioning"; behaviour of
sigs.k8s.io/sig-storage-lib-external-provisioner.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.persistentvolumes.matching import (
    DEFAULT_CLASS,
    PROVISIONED_BY,
    PROVISIONER,
    annotations_of,
    class_of,
)
from kubetrio.controllers.recorder import NORMAL, EventRecorder, reference_to
from kubetrio.informers.informer import Item
from kubetrio.machinery.status import ApiError
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.simulation.annotations import PREFIX

Object = dict[str, Any]

DRIVER = "hostless.simulation.kubetrio.io"
CLASS = "standard"
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
CLAIM, VOLUME, OBJECTS = "claim:", "volume:", "objects"
ACCOUNT = "persistent-volume-binder"
STORAGE_CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": CLASS, "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": DRIVER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CSI_DRIVER: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": DRIVER, "annotations": {f"{PREFIX}driver": "true"}},
    "spec": {"attachRequired": True},
}


class SimulatedVolumes(Controller):
    """The controller; its keys are claims that want a volume, and volumes that are to go.

    Args:
        context: what it is made of.
    """

    name = "simulated-volume-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources = context.registry.resources
        self._claim_kind = resources["", "v1", "persistentvolumeclaims"]
        self._volume_kind = resources["", "v1", "persistentvolumes"]
        self._class_kind = resources["storage.k8s.io", "v1", "storageclasses"]
        self._driver_kind = resources["storage.k8s.io", "v1", "csidrivers"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            DRIVER, ACCOUNT, context.registry, context.operations, context.env
        )
        self._classes = self.follow(self._class_kind, lambda *_: None)
        self._claims = self.follow(self._claim_kind, self._claim_changed)
        self._volumes = self.follow(self._volume_kind, self._volume_changed)
        self.beside.append(self._events.run)
        self.queue.add(OBJECTS)

    def _claim_changed(self, _: Item | None, new: Item | None) -> None:
        if new is not None and _is_wanted(new.object):
            self.queue.add(CLAIM + new.key.removeprefix(self._claim_kind.storage_prefix))

    def _volume_changed(self, _: Item | None, new: Item | None) -> None:
        if new is not None and _is_released(new.object):
            self.queue.add(VOLUME + new.object["metadata"]["name"])

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`."""
        super().begin_anew()
        self.queue.add(OBJECTS)

    async def sync(self, key: str) -> None:
        """Make a volume, or delete one.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if key == OBJECTS:
            await self._make_objects()
        elif key.startswith(CLAIM):
            await self._provision(key.removeprefix(CLAIM))
        else:
            await self._delete(key.removeprefix(VOLUME))

    async def _make_objects(self) -> None:
        """Make the CSIDriver, and the class where there is none at all."""
        await self._create(Target(self._driver_kind, ""), CSI_DRIVER)
        if not self._classes.indexer.list():
            await self._create(Target(self._class_kind, ""), STORAGE_CLASS)

    async def _create(self, target: Target, body: Object) -> None:
        copy: Object = orjson.loads(orjson.dumps(body))
        try:
            await self._operations.create(target, copy, OWN)
        except ApiError as error:
            if error.code != 409:
                raise

    async def _provision(self, name: str) -> None:
        stored = await self._store.get(self._claim_kind.storage_prefix + name)
        claim: Object | None = None if stored is None else orjson.loads(stored.value)
        if claim is None or not _is_wanted(claim):
            return
        storage_class = self._classes.lister.get(class_of(claim))
        if storage_class is None:
            return
        about = reference_to(claim)
        text = f'External provisioner is provisioning volume for claim "{name}"'
        self._events.record(about, NORMAL, "Provisioning", text)
        volume = volume_for(claim, storage_class)
        volume_name = volume["metadata"]["name"]
        try:
            await self._operations.create(Target(self._volume_kind, ""), volume, self._who)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return
        text = f"Successfully provisioned volume {volume_name}"
        self._events.record(about, NORMAL, "ProvisioningSucceeded", text)

    async def _delete(self, name: str) -> None:
        stored = await self._store.get(self._volume_kind.key("", name))
        volume: Object | None = None if stored is None else orjson.loads(stored.value)
        if volume is None or not _is_released(volume):
            return
        uid, target = volume["metadata"]["uid"], Target(self._volume_kind, "", name)
        if FINALIZER in (volume["metadata"].get("finalizers") or ()):
            await self._operations.patch(target, _let_go, self._who)
        try:
            await self._operations.delete(target, DeleteOptions(uid=uid), self._who)
        except ApiError as error:
            if error.code not in (404, 409):
                raise


def volume_for(claim: Object, storage_class: Object) -> Object:
    """The volume of a claim.

    Args:
        claim: the claim.
        storage_class: its class.
    """
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    policy = storage_class.get("reclaimPolicy") or "Delete"
    optional = {
        "volumeMode": spec.get("volumeMode"),
        "mountOptions": storage_class.get("mountOptions"),
        "volumeAttributesClassName": spec.get("volumeAttributesClassName"),
    }
    annotations = {PROVISIONED_BY: DRIVER}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations, "finalizers": [FINALIZER]},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "accessModes": spec.get("accessModes") or [],
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
                "apiVersion": "v1",
                "resourceVersion": meta["resourceVersion"],
            },
            "persistentVolumeReclaimPolicy": policy,
            "storageClassName": class_of(claim),
            **{key: value for key, value in optional.items() if value},
        },
    }


def _is_wanted(claim: Object) -> bool:
    """Whether a claim asks this provisioner for a volume."""
    return (
        annotations_of(claim).get(PROVISIONER) == DRIVER
        and not claim["spec"].get("volumeName")
        and "deletionTimestamp" not in claim["metadata"]
    )


def _is_released(volume: Object) -> bool:
    """Whether a volume of this provisioner is to go."""
    if annotations_of(volume).get(PROVISIONED_BY) != DRIVER:
        return False
    spec, status = volume["spec"], volume.get("status") or {}
    if "deletionTimestamp" in volume["metadata"] and status.get("phase") != "Bound":
        return True
    delete = spec.get("persistentVolumeReclaimPolicy") == "Delete"
    return delete and status.get("phase") == "Released"


def _let_go(volume: Object) -> Object:
    """A volume without the finalizer of provisioners."""
    meta = volume["metadata"]
    left = [one for one in meta.get("finalizers") or () if one != FINALIZER]
    rest = {key: value for key, value in meta.items() if key != "finalizers"}
    return {**volume, "metadata": {**rest, **({"finalizers": left} if left else {})}}
