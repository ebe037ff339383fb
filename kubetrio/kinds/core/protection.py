"""Lets go of claims, volumes and volume classes that are deleted, once nothing uses them.

Admission puts a finalizer on them (`admission.protection`); this is what takes it away, from the
server's nursery.

Source: docs "Persistent Volumes" (storage object in use protection); KEP-3751.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import trio

from kubetrio.kinds.core.admission.protection import FINALIZERS
from kubetrio.logs import Log
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.resources import revising
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Event, EventType, Store

Object = dict[str, Any]
log = Log("kubetrio.bootstrap")
DELETING = b'"deletionTimestamp":"'
ENDED = (b'"phase":"Succeeded"', b'"phase":"Failed"')
RETRY_S = 5.0
WHO = WriteOptions(
    user=UserInfo("system:serviceaccount:kube-system:pvc-protection-controller", groups=(MASTERS,)),
    field_manager="kube-controller-manager",
)


def pod_uses(pod: Object, claim: Object) -> bool:
    """Whether a pod keeps a claim: kubelets see pods that have a node, and no others."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName"):
        return False
    name = claim["metadata"]["name"]
    pod_meta = pod["metadata"]
    over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    for volume in spec.get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        mine = f"{pod_meta['name']}-{volume['name']}" == name
        if "ephemeral" in volume and mine and not over:
            return True
    return False


def names_class(obj: Object, name: str) -> bool:
    """Whether a claim or a volume names a volume attributes class."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return name in (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
    )


class Unprotect:
    """The reconciler.

    Args:
        registry: what is served.
        lifecycle: writes.
        store: reads, and the commit stream that says when to look.
    """

    def __init__(self, registry: LiveRegistry, operations: Operations, store: Store) -> None:
        self._operations = operations
        self._store = store
        resources = registry.resources
        self._kinds = {
            kind.storage_prefix: kind
            for kind in resources.values()
            if kind.group_resource in FINALIZERS
        }
        self._pods = resources["", "v1", "pods"]
        self._claims = resources["", "v1", "persistentvolumeclaims"]
        self._volumes = resources["", "v1", "persistentvolumes"]
        self._prefixes = (*self._kinds, self._pods.storage_prefix)
        # Keys that are being deleted; those in use stay here until something changes.
        self._deleting: set[str] = set()
        self._woken = trio.Event()
        store.on_commit(self._committed)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if not event.key.startswith(self._prefixes):
                continue
            gone = event.type is EventType.DELETED
            if event.key.startswith(self._pods.storage_prefix):
                # Nothing else that happens to a pod can free a claim.
                freeing = gone or any(phase in event.value for phase in ENDED)
            else:
                freeing = True
                if gone:
                    self._deleting.discard(event.key)
                elif DELETING in event.value:
                    self._deleting.add(event.key)
            if freeing and self._deleting:
                self._woken.set()

    async def run(self) -> None:
        """Look at everything once, then at what changes."""
        for kind in self._kinds.values():
            for obj in await revising.read_all(self._store, kind, ""):
                meta = obj["metadata"]
                if "deletionTimestamp" in meta:
                    self._deleting.add(kind.key(meta.get("namespace", ""), meta["name"]))
        while True:
            pause = await self._sweep()
            with trio.move_on_after(pause):
                await self._woken.wait()
            self._woken = trio.Event()

    async def _sweep(self) -> float:
        """Let go of what can go; seconds until the next try."""
        pause = float("inf")
        for key in tuple(self._deleting):
            try:
                if await self._release(key):
                    self._deleting.discard(key)
            except (ApiError, StoreError) as error:
                if not isinstance(error, ApiError) or error.code not in (404, 409):
                    log.warning("cannot release", key=key, error=str(error))
                pause = RETRY_S
        return pause

    async def _release(self, key: str) -> bool:
        """Take the finalizer away; False when the object is in use."""
        found = await self._store.get(key)
        kind = next(kind for prefix, kind in self._kinds.items() if key.startswith(prefix))
        if found is None:
            return True
        obj: Object = orjson.loads(found.value)
        meta, finalizer = obj["metadata"], FINALIZERS[kind.group_resource]
        if "deletionTimestamp" not in meta or finalizer not in (meta.get("finalizers") or ()):
            return True
        if await self._in_use(kind, obj):
            return False

        def released(stored: Object) -> Object:
            left = {k: v for k, v in stored["metadata"].items() if k != "finalizers"}
            kept = [name for name in stored["metadata"]["finalizers"] if name != finalizer]
            return {**stored, "metadata": {**left, **({"finalizers": kept} if kept else {})}}

        namespace = meta.get("namespace", "")
        target = Target(resource=kind, namespace=namespace, name=meta["name"])
        await self._operations.patch(target, released, WHO)
        return True

    async def _in_use(self, kind: Kind, obj: Object) -> bool:
        meta = obj["metadata"]
        if kind is self._volumes:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        if kind is self._claims:
            pods = await revising.read_all(self._store, self._pods, meta["namespace"])
            return any(pod_uses(pod, obj) for pod in pods)
        for users in (self._claims, self._volumes):
            for user in await revising.read_all(self._store, users, ""):
                if names_class(user, meta["name"]):
                    return True
        return False
