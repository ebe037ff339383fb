"""Gives ReplicaSets their pods; what ReplicationControllers need is the same but for names.

Source: docs "ReplicaSet"; k8s.io/kubernetes/pkg/controller/replicaset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Claimable, Claims, Controlling, claims
from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.podwriter import (
    MOST_AT_ONCE,
    Failure,
    PodWriter,
    all_of,
    pod_from,
    slow_start,
)
from kubetrio.controllers.podcontrol.ranking import to_delete
from kubetrio.controllers.podcontrol.selectors import OwnerSelectors, label_selector, owners_of
from kubetrio.controllers.podcontrol.view import OVER, Pod, next_available, views_of
from kubetrio.controllers.replicaset.replicas import (
    Found,
    replicas_of,
    same,
    status,
    with_status,
)
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.kinds.core.pods.digests import owner_of
from kubetrio.machinery.labels import Selector
from kubetrio.resources.writes import Target

Object = dict[str, Any]

FEW = 100
"""Pods of an owner that is looked at whenever one of them changes."""
LOOKS = 4_000.0
"""Pods that are looked at in a second, of an owner that has more than a few."""
OWNER = "owner"
"""Index of what a controller owns, by its uid."""


def owner_uid(item: Item) -> Iterable[str]:
    """The uid of an item's controller."""
    owner = owner_of(item.object["metadata"])
    return () if owner is None else (owner.uid,)


class ReplicaController(Controller):
    """A controller of owners of equal pods; its keys are namespaces and names of owners.

    A sync that has made or deleted pods writes no status: the pods have put the key into the queue
    again.

    Args:
        context: what it is made of.
    """

    workers = 5
    group: ClassVar[str]
    resource: ClassVar[str]
    account: ClassVar[str]
    status_type: ClassVar[str]
    tells_terminating: ClassVar[bool]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources[self.group, "v1", self.resource]
        self._who = as_service_account(self.account)
        self._writer = PodWriter(context, self.account, self.account)
        self._selectors = OwnerSelectors(self._kind, self.selector)
        self._owners = self.follow(self._kind, self._owner_changed)
        self._owners.indexer.add_index(OWNER, owner_uid)
        views = views_of(context.informers)
        self.sources.append(views)
        self._pods = OwnedPods(self._kind.kind, views, self._pod_changed)
        self.beside.append(self._writer.events.run)

    def selector(self, owner: Object) -> Selector:
        """Which pods an owner selects.

        Raises:
            ValueError: its selector is none.
        """
        return label_selector(owner)

    def _owner_changed(self, old: Item | None, item: Item | None) -> None:
        key = self._selectors.note(old, item)
        if key is not None:
            self.queue.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for key in owners_of(old, new):
            # A look is at all pods of an owner: many that change together share one.
            pod = new or old
            uid = "" if pod is None or pod.owner is None else pod.owner.uid
            if (count := self._pods.count(uid)) > FEW:
                self.queue.add_after(key, count / LOOKS)
            else:
                self.queue.add(key)
        if new is None or new.owner is not None:
            return
        if old is None or old.labels != new.labels or old.owner != new.owner:
            owners = self._owners.indexer.by_index(NAMESPACE, new.namespace)
            for key in self._selectors.selecting(owners, new.label_map):
                self.queue.add(key)

    async def sync(self, key: str) -> None:
        """Give an owner its pods, and say in its status how they are.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        obj = self._owners.lister.get(name, namespace)
        if obj is None:
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, obj)
        selects = _selecting(self._selectors.of(namespace, name))
        own = self._pods.of(owner.meta["uid"])
        ownership = _ownership(owner, own, self._pods.orphans(namespace), selects)
        active = await self._writer.claim(owner, ownership)
        changed, failure = 0, None
        if not owner.deleting:
            changed, failure = await self._manage(owner, active)
        if changed and failure is None:
            return
        terminating = None
        if self.tells_terminating:
            terminating = sum(pod.terminating and selects(pod) for pod in own)
        now = self._env.now()
        told = Found(active, terminating, "" if failure is None else str(failure))
        await self._tell(owner, told, now)
        if failure is not None:
            raise failure
        min_ready_s = obj["spec"].get("minReadySeconds") or 0
        wait_s = next_available(active, min_ready_s, now) if min_ready_s else None
        if wait_s is not None:
            self.look_again_in(key, wait_s)

    async def _manage(
        self, owner: Controlling, active: Sequence[Pod]
    ) -> tuple[int, Failure | None]:
        """Make or delete pods; returns how many, and what went wrong."""
        missing = replicas_of(owner.obj) - len(active)
        if missing > 0:
            template = owner.obj["spec"].get("template") or {}
            count = 0

            async def create() -> None:
                nonlocal count
                pod = await self._writer.create(owner, pod_from(template, owner))
                # Where the namespace is being deleted there is none, which could put the key into
                # the queue again.
                count += pod is not None

            _, failure = await slow_start([create] * min(missing, MOST_AT_ONCE))
            return count, failure
        if missing == 0:
            return 0, None
        surplus = min(-missing, MOST_AT_ONCE)
        doomed = to_delete(active, self._related(owner), surplus, self._env.now())
        failed = await all_of(partial(self._writer.delete, owner, pod.name) for pod in doomed)
        return surplus - len(failed), failed[0] if failed else None

    def _related(self, owner: Controlling) -> list[Pod]:
        """Pods of all owners with the same owner; its own where it has none."""
        above = owner_of(owner.meta)
        if above is None:
            return self._pods.of(owner.meta["uid"])
        beside = self._owners.indexer.by_index(OWNER, above.uid)
        return [pod for item in beside for pod in self._pods.of(item.object["metadata"]["uid"])]

    async def _tell(self, owner: Controlling, found: Found, now: float) -> None:
        """Write the status of an owner, unless it says so already."""
        new = status(owner.obj, found, now)
        if same(owner.obj, new):
            return
        uid = owner.meta["uid"]

        def told(old: Object) -> Object:
            if old["metadata"]["uid"] != uid:
                return old  # another one of this name, which has a turn of its own
            return with_status(old, new, self.status_type)

        target = Target(self._kind, owner.meta["namespace"], owner.meta["name"], "status")
        await self._operations.patch(target, told, self._who)


def _ownership(
    owner: Controlling, own: Sequence[Pod], orphans: Sequence[Pod], selects: Callable[[Pod], bool]
) -> Claims[Pod]:
    """Return which pods that are not over an owner has, takes and leaves.

    Args:
        owner: the owner.
        own: pods that name it as their controller.
        orphans: pods of its namespace that name none.
        selects: whether it selects a pod.
    """
    active = [pod for pod in own if not pod.deleting and pod.phase not in OVER]
    if not orphans and all(map(selects, active)):  # as it nearly always is, of however many pods
        return Claims(active, [], [])

    def look(pod: Pod) -> Claimable:
        return Claimable(pod.owner, pod.deleting, selects(pod))

    return claims(owner, [*active, *(pod for pod in orphans if pod.active)], look)


def _selecting(selector: Selector) -> Callable[[Pod], bool]:
    """Say which pods a selector means; pods of one template mostly share their labels."""
    last: object = None
    matches = False

    def selects(pod: Pod) -> bool:
        nonlocal last, matches
        if pod.labels is not last:
            last, matches = pod.labels, selector.matches(pod.label_map)
        return matches

    return selects


class ReplicaSetController(ReplicaController):
    """The controller of ReplicaSets."""

    name = "replicaset-controller"
    group = "apps"
    resource = "replicasets"
    account = "replicaset-controller"
    status_type = "io.k8s.api.apps.v1.ReplicaSetStatus"
    tells_terminating = True
