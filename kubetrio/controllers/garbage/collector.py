"""The garbage collector: deletes what its owners left behind, and lets owners go.

What is in the queue says only where to look; what is done follows from what is stored then.  As the
commit stream is here before a writer has an answer, nothing is polled and absent objects are not
remembered: an owner that cannot be found is not there.

Source: docs "Garbage Collection", "Owners and Dependents", "Use Cascading Deletion in a Cluster";
k8s.io/kubernetes/pkg/controller/garbagecollector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import trio

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.garbage.collections import Collections
from kubetrio.controllers.garbage.crossnamespace import CrossNamespaceOwners
from kubetrio.controllers.garbage.graph import Graph, Ref, others, references
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.recorder import EventRecorder
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources import objects
from kubetrio.resources.deletion import FOREGROUND, ORPHAN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Event, EventType, KeyValue

Object = dict[str, Any]
log = Log("kubetrio.controllers")

ACCOUNT = "generic-garbage-collector"
COMPONENT = "garbage-collector-controller"
ORPHANED_AT_A_TIME = 16
DELETE_ATTEMPTS = 8
SEEN_S = 0.1
"""How long who deletes can see what the object waits for, and change it, as on a cluster whose
controllers are behind a connection."""
STEP = 100  # keys handled without a turn for others
OWNED, DELETING = b'"ownerReferences":[', b'"deletionTimestamp":"'
OWNER = "uid:"
"""Begins keys of the queue that mean the dependents of an owner; others are storage keys."""


class Unknown(Exception):
    """An owner is of a kind that is not served: nothing is known of it."""


class OutOfReach(Exception):
    """An object of the cluster names an owner in a namespace, and cannot say in which."""


class Found(NamedTuple):
    """An object that is looked at.

    Args:
        target: which it is.
        key: under which it is stored.
        meta: its metadata.
    """

    target: Target
    key: str
    meta: Object

    @property
    def uid(self) -> str:
        """Its uid."""
        uid: str = self.meta.get("uid") or ""
        return uid

    @property
    def finalizers(self) -> Sequence[str]:
        """What it waits for."""
        return self.meta.get("finalizers") or ()


class Owners(NamedTuple):
    """The owners that an object names.

    Args:
        solid: are there to stay.
        dangling: are not there.
        waiting: are deleted, and wait for their dependents.
    """

    solid: list[Ref]
    dangling: list[Ref]
    waiting: list[Ref]


class GarbageCollector(Controller):
    """Deletes dependents of owners that are gone, in the ways in which they may go.

    Args:
        context: what it is made of.
    """

    name = "garbage-collector-controller"
    workers = 20  # as kube-controller-manager's --concurrent-gc-syncs

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        registry, informers = context.registry, context.informers
        self.graph = Graph()
        self._who = as_service_account(ACCOUNT)
        self._collections = Collections(registry, informers.dispatcher, self._found, self._changed)
        self._recorder = EventRecorder(
            COMPONENT, ACCOUNT, registry, context.operations, context.env
        )
        self._cross_namespace = CrossNamespaceOwners(registry, informers, self._recorder)
        self._own: set[str] = set()  # uids of what is being deleted here
        self._lost: list[str] = []  # prefixes of collections that are not followed any more
        # Objects with owners of kinds that are not served; looked at again when kinds come.
        self._unknown: dict[str, None] = {}
        self.sources.append(self._collections)
        self.beside += [self._keep_up, self._recorder.run, self._cross_namespace.run]

    # ------------------------------------------------------------------ what happens

    def _found(self, item: KeyValue) -> None:
        """Note what is stored; its owners are looked for when everything was told."""
        if OWNED in item.value or DELETING in item.value:
            meta = objects.metadata(item.value)
            self.graph.link(item.key, others(meta, references(meta)))
            if "deletionTimestamp" in meta:
                self._deleting(item.key, meta)

    def _changed(self, event: Event) -> None:
        key, value = event.key, event.value
        if event.type is EventType.DELETED:
            self._gone(key, value)
            return
        deleting = DELETING in value
        if not deleting and key not in self.graph.refs and OWNED not in value:
            return  # as most objects
        meta = objects.metadata(value)
        refs = others(meta, references(meta))
        news = refs != self.graph.refs.get(key, ())
        if news:
            for owner in self.graph.link(key, refs):
                self.queue.add(owner)
        if deleting and "deletionTimestamp" in meta:
            self._deleting(key, meta)
        elif news and not self._known(meta, refs):
            self.queue.add(key)

    def _deleting(self, key: str, meta: Object) -> None:
        finalizers = meta.get("finalizers") or ()
        if FOREGROUND in finalizers and ORPHAN not in finalizers:
            uid = meta.get("uid") or ""
            if self.graph.foreground.get(key) != uid:
                self.graph.foreground[key] = uid
                self.graph.seen(uid, key, waits=True)
                self._look_at_deleted(key, uid)
            return
        if self.graph.foreground.pop(key, None) is not None:
            self.graph.seen(meta.get("uid") or "", key, waits=False)
        if ORPHAN in finalizers:
            self._look_at_deleted(key, meta.get("uid") or "")

    def _look_at_deleted(self, key: str, uid: str) -> None:
        """Have an object looked at that waits for the collector."""
        if uid in self._own:
            self.queue.add(key)  # no client waits for an answer
        else:
            self.queue.add_after(key, SEEN_S)

    def _gone(self, key: str, value: bytes) -> None:
        uid = objects.uid(value)
        released, named = self.graph.gone(key, uid)
        self._unknown.pop(key, None)
        for owner in released:
            self.queue.add(owner)
        if named:
            self.queue.add(OWNER + uid)

    def _known(self, meta: Object, refs: Sequence[Ref]) -> bool:
        """Whether all owners are known to be there, and to stay."""
        for ref in refs:
            kind = self._kind(ref)
            if kind is None:
                return False
            place = kind.key(meta.get("namespace") or "", ref.name)
            if not self.graph.lives(ref, place):
                return False
        return True

    async def _keep_up(self) -> None:
        await self._check()
        await self._collections.keep(self._lost.append, self._kinds_came)

    async def _kinds_came(self) -> None:
        """Look again at what could not be judged."""
        for prefix in self._lost:
            self.queue.add(prefix)
        self._lost.clear()
        for key in self._unknown:
            self.queue.add(key)
        self._unknown.clear()
        await self._check()

    async def _check(self) -> None:
        """Look for owners that were not looked for; judge objects that have none that is there."""
        for number, key in enumerate(list(self.graph.refs), 1):
            refs = self.graph.refs.get(key)
            if refs is not None and not await self._all_live(key, refs):
                self.queue.add(key)
            if number % STEP == 0:
                await trio.lowlevel.checkpoint()

    async def _all_live(self, key: str, refs: Sequence[Ref]) -> bool:
        """Whether all owners of an object are there, and to stay."""
        item = self._collections.kind_of(key)
        namespace = key.rsplit("/", 2)[1] if item is not None and item.namespaced else ""
        for ref in refs:
            kind = self._kind(ref)
            if kind is None:
                return False
            place = kind.key(namespace, ref.name)
            if self.graph.lives(ref, place):
                continue
            stored = await self._store.get(place)
            if stored is None or objects.uid(stored.value) != ref.uid or DELETING in stored.value:
                return False
            self.graph.seen(ref.uid, place, waits=False)
        return True

    # ------------------------------------------------------------------ what is done

    async def sync(self, key: str) -> None:
        """Bring an object, or the dependents of an owner, into order.

        Args:
            key: a storage key; a uid behind `OWNER`; or the prefix of a collection that went.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same, or it cannot be read.
        """
        if not self._collections.synced:
            await self._collections.sync()  # which objects wait for which is not known before
        if key.startswith(OWNER):
            await self._add(self.graph.dependents(key.removeprefix(OWNER)))
            return
        if key.endswith("/"):
            await self._forget(key)
            return
        item = await self._find(key)
        if item is None:
            return
        if "deletionTimestamp" not in item.meta:
            await self._judge(item)
        elif ORPHAN in item.finalizers:
            await self._orphan(item)
        elif FOREGROUND in item.finalizers:
            await self._finish(item)

    async def _add(self, keys: Sequence[str]) -> None:
        for number, key in enumerate(keys, 1):
            self.queue.add(key)
            if number % STEP == 0:
                await trio.lowlevel.checkpoint()

    async def _forget(self, prefix: str) -> None:
        if self._collections.kind_of(prefix + "_") is not None:
            return  # it is back
        for number, uid in enumerate(self.graph.forget(prefix), 1):
            if uid:
                self.queue.add(OWNER + uid)
            if number % STEP == 0:
                await trio.lowlevel.checkpoint()

    async def _find(self, key: str) -> Found | None:
        kind = self._collections.kind_of(key)
        stored = None if kind is None else await self._store.get(key)
        if kind is None or stored is None:
            return None
        meta = objects.metadata(stored.value)
        return Found(Target(kind, meta.get("namespace") or "", meta["name"]), key, meta)

    def _kind(self, ref: Ref) -> Kind | None:
        """The kind that a reference names, if its objects can be looked up."""
        try:
            group, version = GroupVersion.parse(ref.api_version)
        except ValueError:
            return None
        kind = self._registry.by_kind.get(GroupVersionKind(group, version, ref.kind))
        return kind if kind is not None and kind.storage_prefix and "get" in kind.verbs else None

    async def _judge(self, item: Found) -> None:
        """Delete an object none of whose owners is there, or drop those of its owners."""
        refs = references(item.meta)
        if self._known(item.meta, others(item.meta, refs)):
            return
        try:
            owners = await self._owners(item, refs)
        except Unknown:
            self._unknown[item.key] = None
            return
        except OutOfReach:
            return
        if owners.solid:
            left = {ref.uid for ref in (*owners.dangling, *owners.waiting)}
            if left:
                await self._disown(item.target, item.uid, left)
            return
        dependents = self.graph.dependents(item.uid)
        if owners.waiting and dependents:
            if any(one in self.graph.foreground for one in dependents):
                await self._unblock(item.target, item.uid, None)  # there may be a circle
            await self._delete(item, "Foreground")
        elif ORPHAN in item.finalizers:
            await self._delete(item, "Orphan")
        else:
            foreground = FOREGROUND in item.finalizers
            await self._delete(item, "Foreground" if foreground else "Background")

    async def _owners(self, item: Found, refs: Sequence[Ref]) -> Owners:
        """Look at each owner of an object.

        Raises:
            Unknown: one is of a kind that is not served.
            OutOfReach: one is in a namespace, and the object is not.
            StoreError: they cannot be read.
        """
        owners = Owners([], [], [])
        namespace = item.target.namespace
        for ref in refs:
            kind = self._kind(ref)
            if kind is None:
                raise Unknown
            if kind.namespaced and not namespace:
                raise OutOfReach
            key = kind.key(namespace, ref.name)
            stored = await self._store.get(key)
            meta = {} if stored is None else objects.metadata(stored.value)
            if meta.get("uid") != ref.uid:
                owners.dangling.append(ref)
                owner = self.graph.owners.get(ref.uid)
                if kind.namespaced and (owner is None or not owner.gone):
                    self._cross_namespace.add(item.target, item.meta, ref, kind)
                continue
            finalizers = meta.get("finalizers") or ()
            waits = "deletionTimestamp" in meta and FOREGROUND in finalizers
            self.graph.seen(ref.uid, key, waits=waits)
            (owners.waiting if waits else owners.solid).append(ref)
        return owners

    async def _delete(self, item: Found, policy: str) -> None:
        """Delete an object if it is still the one that was judged, whatever else changed in it.

        Raises:
            ApiError: it cannot be deleted, or has other owners now.
        """
        version = item.meta["resourceVersion"]
        for left in reversed(range(DELETE_ATTEMPTS)):
            chosen = DeleteOptions(uid=item.uid, resource_version=version, propagation=policy)
            self._own.add(item.uid)
            try:
                await self._operations.delete(item.target, chosen, self._who)
            except ApiError as error:
                if error.code != 409 or not left:
                    raise
                now = await self._find(item.key)
                if now is None:
                    return
                if now.uid != item.uid or references(now.meta) != references(item.meta):
                    raise
                version = now.meta["resourceVersion"]
            else:
                return
            finally:
                self._own.discard(item.uid)

    async def _finish(self, item: Found) -> None:
        """Let an object go for which no dependent has to go any more; see to those that do."""
        self.graph.seen(item.uid, item.key, waits=True)
        blocking = self.graph.blocking(item.uid, item.key)
        if not blocking:
            await self._release(item.target, item.uid, FOREGROUND)
            return
        foreground = self.graph.foreground
        dependents = self.graph.dependents(item.uid)
        await self._add([one for one in dependents if one not in foreground])
        for one in self.graph.circle(item.uid, item.key):
            other = await self._find(one)
            if other is not None:
                await self._unblock(other.target, other.uid, item.uid)

    async def _orphan(self, item: Found) -> None:
        """Take an owner out of its dependents, and let it go.

        Raises:
            ApiError: one of them could not be written.
        """
        failures: list[ApiError] = []
        limiter = trio.CapacityLimiter(ORPHANED_AT_A_TIME)

        async def leave(key: str) -> None:
            async with limiter:
                dependent = await self._find(key)
                try:
                    if dependent is not None:
                        await self._disown(dependent.target, dependent.uid, {item.uid})
                except ApiError as error:
                    failures.append(error)

        waiting = self.graph.dependents(item.uid)
        for first in range(0, len(waiting), STEP):
            async with trio.open_nursery() as nursery:
                for key in waiting[first : first + STEP]:
                    nursery.start_soon(leave, key)
        if failures:
            raise failures[0]
        await self._release(item.target, item.uid, ORPHAN)

    # ------------------------------------------------------------------ patches

    async def _disown(self, target: Target, uid: str, owners: set[str]) -> None:
        """Drop owners of an object."""

        def dropped(meta: Object) -> Object:
            refs = meta.get("ownerReferences") or ()
            kept = [one for one in refs if one.get("uid") not in owners]
            return _with(meta, "ownerReferences", kept)

        await self._patch(target, uid, dropped)

    async def _unblock(self, target: Target, uid: str, owner: str | None) -> None:
        """Have an owner of an object, or all of them, wait for it no more."""

        def unblocked(meta: Object) -> Object:
            kept = [
                {**one, "blockOwnerDeletion": False}
                if one.get("blockOwnerDeletion") and owner in (None, one.get("uid"))
                else one
                for one in meta.get("ownerReferences") or ()
            ]
            return _with(meta, "ownerReferences", kept)

        await self._patch(target, uid, unblocked)

    async def _release(self, target: Target, uid: str, finalizer: str) -> None:
        """Take a finalizer away."""

        def released(meta: Object) -> Object:
            kept = [one for one in meta.get("finalizers") or () if one != finalizer]
            return _with(meta, "finalizers", kept)

        await self._patch(target, uid, released)

    async def _patch(self, target: Target, uid: str, change: Callable[[Object], Object]) -> None:
        """Change the metadata of an object, if it is still there."""
        key = target.key
        stored = await self._store.get(key)
        if stored is None:
            return
        meta = objects.metadata(stored.value)
        if (meta.get("uid") or "") != uid or change(meta) == meta:
            return  # the store need not be asked

        def changed(obj: Object) -> Object:
            if (obj["metadata"].get("uid") or "") != uid:
                raise ApiError(404, "NotFound", f"{key} is another object now")
            return {**obj, "metadata": change(obj["metadata"])}

        try:
            await self._operations.patch(target, changed, self._who)
        except ApiError as error:
            if error.code != 404:
                raise


def _with(meta: Object, member: str, values: list[Any]) -> Object:
    kept = {name: value for name, value in meta.items() if name != member}
    return {**kept, member: values} if values else kept
