"""Lets go of claims, volumes and volume classes that are deleted, once nothing uses them.

Admission puts a finalizer on them (`admission.protection`); this is what takes it away, from the
server's nursery.

Source: docs "Persistent Volumes" (storage object in use protection); KEP-3751.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from kubetrio.informers.controller import Controller
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reflector import Reflector
from kubetrio.kinds.core.admission.protection import FINALIZERS
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.machinery.names import GroupResource
from kubetrio.resources import revising
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]
DELETING = b'"deletionTimestamp":"'
ACCOUNTS = "system:serviceaccount:kube-system:"


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


def is_bound(volume: Object, _: Object) -> bool:
    """Whether a claim has a volume."""
    return bool((volume.get("status") or {}).get("phase") == "Bound")


def names_class(user: Object, attributes_class: Object) -> bool:
    """Whether a claim or a volume names a volume attributes class."""
    spec, status = user.get("spec") or {}, user.get("status") or {}
    return attributes_class["metadata"]["name"] in (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """A kind whose objects stay while something uses them.

    Args:
        resource: the kind.
        users: kinds that can keep an object of it, beside its own state.
        ended: bytes of a user one of which says that it keeps nothing any more; any change of a
            user does where there are none.
        keeps: whether a user, or the object itself where there are no users, keeps an object.
        account: service account that lets go.
    """

    resource: GroupResource
    users: tuple[GroupResource, ...] = ()
    ended: tuple[bytes, ...] = ()
    keeps: Callable[[Object, Object], bool]
    account: str


CLAIMS = Protected(
    resource=GroupResource("", "persistentvolumeclaims"),
    users=(GroupResource("", "pods"),),
    ended=(b'"phase":"Succeeded"', b'"phase":"Failed"'),
    keeps=pod_uses,
    account="pvc-protection-controller",
)
VOLUMES = Protected(
    resource=GroupResource("", "persistentvolumes"),
    keeps=is_bound,
    account="pv-protection-controller",
)
CLASSES = Protected(
    resource=GroupResource("storage.k8s.io", "volumeattributesclasses"),
    users=(CLAIMS.resource, VOLUMES.resource),
    keeps=names_class,
    account="volumeattributesclass-protection-controller",
)


class Protection(Controller):
    """Lets go of the objects of one kind; its keys are storage keys of what is being deleted.

    Args:
        name: in the table of controllers.
        protected: what it is about.
        registry: what is served.
        operations: writes.
        dispatcher: the commit stream, which says when to look.
    """

    def __init__(
        self,
        name: str,
        protected: Protected,
        registry: LiveRegistry,
        operations: Operations,
        dispatcher: Dispatcher,
    ) -> None:
        kinds = {kind.group_resource: kind for kind in registry.resources.values()}
        self._kind = kinds[protected.resource]
        self._users = [kinds[user] for user in protected.users]
        self._protected = protected
        self._finalizer = FINALIZERS[protected.resource]
        self._options = WriteOptions(
            user=UserInfo(ACCOUNTS + protected.account, groups=(MASTERS,)),
            field_manager="kube-controller-manager",
        )
        self._operations = operations
        self._store = dispatcher.store
        # Keys that are being deleted; those in use stay here until something changes.
        self._deleting: set[str] = set()
        super().__init__(name, [Reflector(dispatcher, self._kind.storage_prefix, self._changed)])
        for user in self._users:
            dispatcher.subscribe(user.storage_prefix, self._user_changed)

    def _changed(self, event: Event) -> None:
        if event.type is EventType.DELETED:
            self._deleting.discard(event.key)
        elif DELETING in event.value:
            self._deleting.add(event.key)
            self.queue.add(event.key)

    def _user_changed(self, event: Event) -> None:
        if not self._deleting:
            return
        ended = self._protected.ended
        gone = event.type is EventType.DELETED
        if gone or not ended or any(phrase in event.value for phrase in ended):
            for key in sorted(self._deleting):
                self.queue.add(key)

    async def sync(self, key: str) -> None:
        """Take the finalizer away, unless the object is in use or has none.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
        """
        found = await self._store.get(key)
        if found is None:
            return
        obj: Object = orjson.loads(found.value)
        meta, finalizer = obj["metadata"], self._finalizer
        if "deletionTimestamp" not in meta or finalizer not in (meta.get("finalizers") or ()):
            self._deleting.discard(key)
            return
        if await self._in_use(obj):
            return

        def released(stored: Object) -> Object:
            left = {k: v for k, v in stored["metadata"].items() if k != "finalizers"}
            kept = [name for name in stored["metadata"]["finalizers"] if name != finalizer]
            return {**stored, "metadata": {**left, **({"finalizers": kept} if kept else {})}}

        target = Target(resource=self._kind, namespace=meta.get("namespace", ""), name=meta["name"])
        await self._operations.patch(target, released, self._options)

    async def _in_use(self, obj: Object) -> bool:
        if not self._users:
            return self._protected.keeps(obj, obj)
        for kind in self._users:
            namespace = obj["metadata"].get("namespace", "")
            users = await revising.read_all(self._store, kind, namespace)
            if any(self._protected.keeps(user, obj) for user in users):
                return True
        return False
