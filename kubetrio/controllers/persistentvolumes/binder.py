"""Binds claims to volumes, and says what becomes of volumes whose claims are gone.

It makes and deletes no volumes: provisioners do, which are asked by annotations and phases.

Source: docs "Persistent Volumes" (lifecycle of a volume and claim), "Storage Classes";
k8s.io/kubernetes/pkg/controller/volume/persistentvolume.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.persistentvolumes.matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    annotations_of,
    best_match,
    class_of,
    default_class,
    has_class,
    is_bound_to,
    same_mode,
    unsuited,
)
from kubetrio.controllers.persistentvolumes.volumewriter import (
    AVAILABLE,
    BOUND,
    LOST,
    PENDING,
    VolumeWriter,
)
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, reference_to
from kubetrio.informers.informer import Item
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of
from kubetrio.schema.kind import Kind

Object = dict[str, Any]

COMPONENT, ACCOUNT = "persistentvolume-controller", "persistent-volume-binder"
CLAIM, VOLUME = "claim:", "volume:"
RELEASED, FAILED = "Released", "Failed"
IN_TREE = "kubernetes.io/"
WAITS = "WaitForFirstConsumer"


class PersistentVolumeBinder(Controller):
    """The controller; its keys are claims and volumes.

    Args:
        context: what it is made of.
    """

    name = "persistentvolume-binder-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources = context.registry.resources
        self._writer = VolumeWriter(context, as_service_account(ACCOUNT))
        self._claim_kind, self._volume_kind = self._writer.claims, self._writer.volumes
        self._class_kind = resources["storage.k8s.io", "v1", "storageclasses"]
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._unbound: set[str] = set()  # keys of claims that have no volume
        self._classes = self.follow(self._class_kind, self._class_changed)
        self._volumes = self.follow(self._volume_kind, self._volume_changed)
        self._claims = self.follow(self._claim_kind, self._claim_changed)
        self._pods = self.follow_digests(pods_of(context.informers), self._pod_changed)
        self.beside.append(self._events.run)

    # ------------------------------------------------------------------ what changes

    def _claim_changed(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        key = CLAIM + item.key.removeprefix(self._claim_kind.storage_prefix)
        if new is not None and BIND_COMPLETED not in annotations_of(new.object):
            self._unbound.add(key)
        else:
            self._unbound.discard(key)
        if new is not None:
            self.queue.add(key)
        for one in (old, new):
            if one is not None and one.object["spec"].get("volumeName"):
                self.queue.add(VOLUME + one.object["spec"]["volumeName"])

    def _volume_changed(self, old: Item | None, new: Item | None) -> None:
        for item in (old, new):
            reference = None if item is None else item.object["spec"].get("claimRef")
            if reference is not None:
                self.queue.add(f"{CLAIM}{reference.get('namespace')}/{reference.get('name')}")
        if new is None:
            return
        self.queue.add(VOLUME + new.object["metadata"]["name"])
        if (new.object.get("status") or {}).get("phase") == AVAILABLE:
            self._look_for_volumes()

    def _class_changed(self, *_: object) -> None:
        self._look_for_volumes()

    def _look_for_volumes(self) -> None:
        for key in sorted(self._unbound):
            self.queue.add(key)

    def _pod_changed(
        self, namespace: str, _: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        """Have claims looked at that wait for their first pod."""
        if new is None or (old is not None and old.node == new.node):
            return
        for name in (*new.claims, *new.ephemeral):
            key = f"{CLAIM}{namespace}/{name}"
            if key in self._unbound:
                self.queue.add(key)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`."""
        super().begin_anew()
        self._look_for_volumes()

    async def sync(self, key: str) -> None:
        """Bring a claim or a volume into order.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if key.startswith(CLAIM):
            claim = await self._read(self._claim_kind, key.removeprefix(CLAIM))
            if claim is not None:
                bound = BIND_COMPLETED in annotations_of(claim)
                await (self._keep_bound(claim) if bound else self._bind(claim))
            return
        volume = await self._read(self._volume_kind, key.removeprefix(VOLUME))
        if volume is not None:
            await self._keep(volume)

    async def _read(self, kind: Kind, name: str) -> Object | None:
        stored = await self._store.get(kind.storage_prefix + name)
        return None if stored is None else orjson.loads(stored.value)

    # ------------------------------------------------------------------ claims

    async def _bind(self, claim: Object) -> None:
        """Bind a claim that was not bound before."""
        chosen = claim["spec"].get("volumeName")
        if chosen:
            await self._bind_to(claim, chosen)
            return
        waits = self._waits(claim)
        volumes = (item.object for item in self._volumes.indexer.list())
        volume = best_match(claim, volumes, waits=waits)
        if volume is not None:
            await self._writer.bind(dict(volume), claim)
            return
        if not has_class(claim):
            name = default_class(item.object for item in self._classes.indexer.list())
            if name is not None:
                await self._writer.set_class(claim, name)
                return
        if waits and SELECTED_NODE not in annotations_of(claim):
            self._tell_of_wait(claim)
        elif class_of(claim):
            await self._have_provisioned(claim)
            return
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._tell(claim, NORMAL, "FailedBinding", text)
        await self._writer.claim_status(claim, PENDING, None)

    async def _bind_to(self, claim: Object, name: str) -> None:
        """Bind a claim to the volume that it names."""
        volume = await self._read(self._volume_kind, name)
        if volume is None:
            await self._writer.claim_status(claim, PENDING, None)
            return
        if volume["spec"].get("claimRef") is None:
            why = unsuited(volume, claim)
            if why:
                text = f'Cannot bind to requested volume "{name}": {why}'
                self._tell(claim, WARNING, "VolumeMismatch", text)
                await self._writer.claim_status(claim, PENDING, None)
                return
        elif not is_bound_to(volume, claim):
            text = f'volume "{name}" already bound to a different claim.'
            self._tell(claim, WARNING, "FailedBinding", text)
            if BOUND_BY_CONTROLLER not in annotations_of(claim):
                await self._writer.claim_status(claim, PENDING, None)
            return
        await self._writer.bind(volume, claim)

    async def _keep_bound(self, claim: Object) -> None:
        """Look after a claim that was bound."""
        name = claim["spec"].get("volumeName")
        volume = await self._read(self._volume_kind, name) if name else None
        if volume is not None:
            reference = volume["spec"].get("claimRef")
            if reference is None or reference.get("uid") == claim["metadata"]["uid"]:
                await self._writer.bind(volume, claim)
                return
        if (claim.get("status") or {}).get("phase") == LOST:
            return
        reason, text = "ClaimLost", "Bound claim has lost its PersistentVolume. "
        if not name:
            text = "Bound claim has lost reference to PersistentVolume. "
        text += "Data on the volume is lost!"
        if volume is not None:
            reason = "ClaimMisbound"
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
        await self._writer.claim_status(claim, LOST, None)
        self._tell(claim, WARNING, reason, text)

    def _waits(self, claim: Object) -> bool:
        """Whether a claim is bound when a pod uses it."""
        storage_class = self._classes.lister.get(class_of(claim)) if class_of(claim) else None
        return storage_class is not None and storage_class.get("volumeBindingMode") == WAITS

    def _tell_of_wait(self, claim: Object) -> None:
        meta = claim["metadata"]
        pods = sorted(
            name
            for name, pod in self._pods.within(meta["namespace"]).items()
            if not pod.node and meta["name"] in (*pod.claims, *pod.ephemeral)
        )
        if not pods:
            text = "waiting for first consumer to be created before binding"
            self._tell(claim, NORMAL, WAITS, text)
            return
        what = "pods" if len(pods) > 1 else "pod"
        text = f"waiting for {what} {','.join(pods)} to be scheduled"
        self._tell(claim, NORMAL, "WaitForPodScheduled", text)

    async def _have_provisioned(self, claim: Object) -> None:
        """Ask a provisioner for a volume."""
        name = class_of(claim)
        storage_class = self._classes.lister.get(name)
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            self._tell(claim, WARNING, "ProvisioningFailed", text)
            return
        provisioner = storage_class.get("provisioner") or ""
        if provisioner.startswith(IN_TREE):
            text = f"no volume plugin matched name: {provisioner}"
            self._tell(claim, WARNING, "ProvisioningFailed", text)
            return
        await self._writer.annotate_provisioner(claim, provisioner)
        text = (
            "Waiting for a volume to be created either by the external provisioner "
            f"'{provisioner}' or manually by the system administrator. If volume creation is "
            "delayed, please verify that the provisioner is running and correctly registered."
        )
        self._tell(claim, NORMAL, "ExternalProvisioning", text)

    # ------------------------------------------------------------------ volumes

    async def _keep(self, volume: Object) -> None:
        """Look after a volume."""
        reference, name = volume["spec"].get("claimRef"), volume["metadata"]["name"]
        if reference is None or not reference.get("uid"):
            await self._writer.phase(volume, AVAILABLE)
            return
        key = f"{reference.get('namespace')}/{reference.get('name')}"
        claim = await self._read(self._claim_kind, key)
        if claim is not None and claim["metadata"]["uid"] != reference["uid"]:
            claim = None  # another one of that name
        if claim is None:
            await self._reclaim(volume)
            return
        bound_to = claim["spec"].get("volumeName")
        if not bound_to:
            if same_mode(claim, volume):
                self.queue.add(CLAIM + key)
                return
            self._tell_of_modes(volume, claim)
        elif bound_to == name:
            await self._writer.phase(volume, BOUND)
        elif PROVISIONED_BY in annotations_of(volume) and _policy(volume) == "Delete":
            await self._reclaim(volume)
        else:
            await self._writer.unbind(volume)

    async def _reclaim(self, volume: Object) -> None:
        """Release a volume, and say where it cannot be reclaimed; provisioners delete theirs."""
        phase = (volume.get("status") or {}).get("phase")
        if phase not in (RELEASED, FAILED):
            volume = await self._writer.phase(volume, RELEASED)
        if (volume.get("status") or {}).get("phase") == FAILED:
            return
        if _policy(volume) == "Recycle":
            reason, text = "VolumeFailedRecycle", "No recycler plugin found for the volume!"
        elif _policy(volume) == "Delete" and not _deleted_by_others(volume):
            name = volume["metadata"]["name"]
            reason = "VolumeFailedDelete"
            text = (
                f'error getting deleter volume plugin for volume "{name}": '
                "no deletable volume plugin matched"
            )
        else:
            return
        await self._writer.phase(volume, FAILED)
        self._tell(volume, WARNING, reason, text)

    def _tell_of_modes(self, volume: Object, claim: Object) -> None:
        why = "due to incompatible volumeMode."
        names = volume["metadata"]["name"], claim["metadata"]["name"]
        text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{names[1]}" {why}'
        self._tell(volume, WARNING, "VolumeMismatch", text)
        text = f'Cannot bind PersistentVolume "{names[0]}" to requested PersistentVolumeClaim {why}'
        self._tell(claim, WARNING, "VolumeMismatch", text)

    def _tell(self, about: Object, type_: str, reason: str, text: str) -> None:
        self._events.record(reference_to(about), type_, reason, text)


def _policy(volume: Object) -> str:
    return str(volume["spec"].get("persistentVolumeReclaimPolicy") or "Retain")


def _deleted_by_others(volume: Object) -> bool:
    """Whether a provisioner or a CSI driver deletes a volume."""
    provisioner = annotations_of(volume).get(PROVISIONED_BY) or ""
    if provisioner:
        return not provisioner.startswith(IN_TREE)
    return volume["spec"].get("csi") is not None
