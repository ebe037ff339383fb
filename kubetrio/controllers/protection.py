"""Claims, volumes and volume classes stay as long as something uses them.

A finalizer keeps them.  Admission puts it on new ones (`admission.protection`), these controllers
on those that lack it, and they take it away when an object is deleted and nothing uses it.

Source: docs "Persistent Volumes" (storage object in use protection); KEP-3751;
k8s.io/kubernetes/pkg/controller/volume (pvcprotection, pvprotection, vacprotection).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of
from kubetrio.machinery.names import GroupResource
from kubetrio.plugins.protection import FINALIZERS
from kubetrio.resources import reading
from kubetrio.resources.writes import Target
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]
DELETING = b'"deletionTimestamp":"'
CLAIMS = GroupResource("", "persistentvolumeclaims")
VOLUMES = GroupResource("", "persistentvolumes")
CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")


class Protection(Controller):
    """Puts the finalizer on the objects of one kind and takes it away; its keys are theirs.

    Args:
        context: what it is made of.

    Attributes:
        resource: the kind.
        account: service account that writes.
    """

    resource: GroupResource
    account: str

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.by_group_resource[self.resource]
        self._finalizer = FINALIZERS[self.resource]
        self._quoted = orjson.dumps(self._finalizer)
        self._who = as_service_account(self.account)
        # Keys that are being deleted; those in use stay here until something changes.
        self._deleting: set[str] = set()
        self.follow_events(self._kind.storage_prefix, self._changed)

    def _changed(self, event: Event) -> None:
        if event.type is EventType.DELETED:
            self._deleting.discard(event.key)
        elif DELETING in event.value:
            self._deleting.add(event.key)
            self.queue.add(event.key)
        elif self._quoted not in event.value:
            self.queue.add(event.key)

    def _look_again(self, keys: Iterable[str]) -> None:
        """Something that kept these changed."""
        for key in keys:
            if key in self._deleting:
                self.queue.add(key)

    async def sync(self, key: str) -> None:
        """Put the finalizer on an object that stays, take it from one that goes and is not used.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
        """
        stored = await self._store.get(key)
        if stored is None:
            return
        obj: Object = orjson.loads(stored.value)
        meta, finalizer = obj["metadata"], self._finalizer
        deleting, has = "deletionTimestamp" in meta, finalizer in (meta.get("finalizers") or ())
        if deleting and not has:
            self._deleting.discard(key)
        if deleting is not has or (deleting and await self._in_use(obj)):
            return
        target = Target(resource=self._kind, namespace=meta.get("namespace", ""), name=meta["name"])
        await self._operations.patch(target, self._changed_finalizers, self._who)

    def _changed_finalizers(self, stored: Object) -> Object:
        """An object with the finalizer it should have, if it was not used."""
        meta = dict(stored["metadata"])
        finalizers = list(meta.pop("finalizers", None) or ())
        deleting = "deletionTimestamp" in meta
        if deleting is not (self._finalizer in finalizers):
            return stored  # another writer was faster
        if deleting:
            finalizers.remove(self._finalizer)
        else:
            finalizers.append(self._finalizer)
        return {
            **stored,
            "metadata": {**meta, **({"finalizers": finalizers} if finalizers else {})},
        }

    @abstractmethod
    async def _in_use(self, obj: Object) -> bool:
        """Whether something uses an object."""


class ClaimProtection(Protection):
    """Claims stay while a pod uses them that has a node: kubelets see no others."""

    name = "persistentvolumeclaim-protection-controller"
    resource, account = CLAIMS, "pvc-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = self.follow_digests(pods_of(context.informers), self._pod_changed)

    def _pod_changed(
        self, namespace: str, _: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        if not self._deleting or old is None:
            return
        if new is None or new.uid != old.uid or new.over or new.shut_down or not new.node:
            self._look_again(
                self._kind.key(namespace, name) for name in (*old.claims, *old.ephemeral)
            )

    async def _in_use(self, obj: Object) -> bool:
        meta = obj["metadata"]
        return any(
            pod_uses(pod, meta) for pod in self._pods.within(meta.get("namespace", "")).values()
        )


def pod_uses(pod: PodDigest, claim: Object) -> bool:
    """Whether a pod keeps a claim.

    Args:
        pod: of the same namespace.
        claim: metadata of the claim.
    """
    if not pod.node:
        return False
    if claim["name"] in pod.claims:
        return True
    return (
        claim["name"] in pod.ephemeral
        and not pod.shut_down
        and any(
            owner.get("controller") and owner.get("uid") == pod.uid
            for owner in claim.get("ownerReferences") or ()
        )
    )


class VolumeProtection(Protection):
    """Volumes stay while a claim has them; their phase says so."""

    name = "persistentvolume-protection-controller"
    resource, account = VOLUMES, "pv-protection-controller"

    async def _in_use(self, obj: Object) -> bool:
        return bool((obj.get("status") or {}).get("phase") == "Bound")


class VolumeAttributesClassProtection(Protection):
    """Volume attributes classes stay while a claim or a volume names them."""

    name = "volumeattributesclass-protection-controller"
    resource, account = CLASSES, "volumeattributesclass-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._users = [context.registry.by_group_resource[user] for user in (CLAIMS, VOLUMES)]
        for kind in self._users:
            context.informers.dispatcher.subscribe(kind.storage_prefix, self._user_changed)

    def _user_changed(self, event: Event) -> None:
        if self._deleting and event.type is not EventType.CREATED:
            self._look_again(sorted(self._deleting))

    async def _in_use(self, obj: Object) -> bool:
        # Nothing is kept of claims and volumes: classes are hardly ever deleted.
        for kind in self._users:
            for user in await reading.read_all(self._store, kind, ""):
                if names_class(user, obj["metadata"]["name"]):
                    return True
        return False


def names_class(user: Object, name: str) -> bool:
    """Whether a claim or a volume names a volume attributes class."""
    spec, status = user.get("spec") or {}, user.get("status") or {}
    return name in (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
