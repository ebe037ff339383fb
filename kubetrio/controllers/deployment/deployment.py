"""Rolls Deployments out.

A sync makes one step, as far as the next write of the Deployment itself: that puts its key into the
queue again.

Source: docs "Deployments"; k8s.io/kubernetes/pkg/controller/deployment.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.deployment import progress, sizes, templates
from kubetrio.controllers.deployment.annotations import (
    REVISION,
    ROLLBACK_TO,
    annotations_of,
    desired_replicas,
)
from kubetrio.controllers.deployment.progress import Sets
from kubetrio.controllers.deployment.rollback import rollback
from kubetrio.controllers.deployment.setwriter import SetWriter, WrittenBefore
from kubetrio.controllers.podcontrol.claims import Claimable, Controlling, claims
from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.podwriter import namespace_ends
from kubetrio.controllers.podcontrol.selectors import OwnerSelectors
from kubetrio.controllers.podcontrol.statuses import condition_of
from kubetrio.controllers.podcontrol.view import Pod, views_of
from kubetrio.controllers.replicaset.replicaset import OWNER, owner_uid
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.kinds.core.pods.digests import owner_of
from kubetrio.machinery.labels import Selector
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]

SOON_S = 1.0
"""The least time until a rollout that stands still is looked at, in seconds."""
KIND = "Deployment"


class DeploymentController(Controller):
    """The controller; its keys are namespaces and names of Deployments.

    Args:
        context: what it is made of.
    """

    name = "deployment-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["apps", "v1", "deployments"]
        self._set_kind = context.registry.resources["apps", "v1", "replicasets"]
        self._writer = SetWriter(context)
        self._selectors = OwnerSelectors(self._kind)
        self._deployments = self.follow(self._kind, self._deployment_changed)
        self._sets = self.follow(self._set_kind, self._set_changed)
        self._sets.indexer.add_index(OWNER, owner_uid)
        self._sets.indexer.add_index(ORPHANS, orphan_namespace)
        views = views_of(context.informers)
        self.sources.append(views)
        self._pods = OwnedPods(self._set_kind.kind, views, self._pod_changed)
        self.beside.append(self._writer.events.run)

    def _deployment_changed(self, old: Item | None, item: Item | None) -> None:
        key = self._selectors.note(old, item)
        if key is not None:
            self.queue.add(key)

    def _set_changed(self, old: Item | None, new: Item | None) -> None:
        for item in (old, new):
            if item is not None:
                meta = item.object["metadata"]
                owner = owner_of(meta)
                if owner is not None and owner.kind == KIND:
                    self.queue.add(f"{meta['namespace']}/{owner.name}")
        if new is None or owner_of(new.object["metadata"]) is not None:
            return
        meta = new.object["metadata"]
        deployments = self._deployments.indexer.by_index(NAMESPACE, meta["namespace"])
        for key in self._selectors.selecting(deployments, meta.get("labels") or {}):
            self.queue.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Have a Deployment that waits for its old pods to end looked at."""
        if old is None or old.owner is None or (new is not None and new.phase == old.phase):
            return
        replica_set = self._sets.lister.get(old.owner.name, old.namespace)
        owner = None if replica_set is None else owner_of(replica_set["metadata"])
        if owner is not None and owner.kind == KIND:
            deployment = self._deployments.lister.get(owner.name, old.namespace)
            if deployment is not None and sizes.strategy(deployment) == sizes.RECREATE:
                self.queue.add(f"{old.namespace}/{owner.name}")

    async def sync(self, key: str) -> None:
        """Make the next step of a rollout.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        obj = self._deployments.lister.get(name, namespace)
        if obj is None:
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, obj)
        if obj["spec"].get("selector") == {}:
            await self._selects_all(owner)
            return
        replica_sets = await self._claimed(owner, self._selectors.of(namespace, name))
        try:
            await self._step(key, owner, replica_sets)
        except WrittenBefore:
            return
        except ApiError as error:
            if not namespace_ends(error):
                raise

    async def _selects_all(self, owner: Controlling) -> None:
        self._writer.warn(
            owner,
            "SelectingAll",
            "This deployment is selecting all pods. A non-empty selector is required.",
        )
        status = owner.obj.get("status") or {}
        generation = owner.meta.get("generation") or 0
        if (status.get("observedGeneration") or 0) < generation:
            await self._writer.status(owner, {**status, "observedGeneration": generation})

    async def _claimed(self, owner: Controlling, selector: Selector) -> list[Object]:
        """The ReplicaSets of a Deployment, after adoption and release."""
        own = self._sets.indexer.by_index(OWNER, owner.meta["uid"])
        orphans = self._sets.indexer.by_index(ORPHANS, owner.meta["namespace"])

        def look(one: Object) -> Claimable:
            meta = one["metadata"]
            matches = selector.matches(meta.get("labels") or {})
            return Claimable(owner_of(meta), bool(meta.get("deletionTimestamp")), matches)

        ownership = claims(owner, [item.object for item in (*own, *orphans)], look)
        return await self._writer.claim(owner, ownership)

    async def _step(self, key: str, owner: Controlling, found: list[Object]) -> None:
        deployment = owner.obj
        if owner.deleting:
            sets = await self._synced(owner, found, create=False)
            await self._tell(owner, progress.status_of(deployment, sets, self._env.now()))
            return
        condition = progress.pause_condition(deployment, self._env.now())
        if condition is not None:
            status = deployment.get("status") or {}
            await self._writer.status(owner, progress.with_status_condition(status, condition))
            return
        if deployment["spec"].get("paused"):
            await self._rescale(owner, found)
            return
        if annotations_of(deployment).get(ROLLBACK_TO):
            sets = await self._synced(owner, found, create=True)
            await rollback(owner, sets, self._writer)
            return
        sets = await self._synced(owner, found, create=False)
        replicas = sizes.size_of(deployment)
        noted = [desired_replicas(one) for one in sizes.active(sets.all)]
        if any(one is not None and one != replicas for one in noted):
            await self._rescale(owner, found)
        elif sizes.strategy(deployment) == sizes.RECREATE:
            await self._recreate(key, owner, found, sets)
        else:
            await self._roll(key, owner, found)

    async def _rescale(self, owner: Controlling, found: list[Object]) -> None:
        sets = await self._synced(owner, found, create=False)
        sets = await self._writer.scale(owner, sets, sizes.rescaled(owner.obj, sets.new, sets.old))
        if owner.obj["spec"].get("paused") and not annotations_of(owner.obj).get(ROLLBACK_TO):
            await self._writer.clean(owner, sets.old)
        await self._tell(owner, progress.status_of(owner.obj, sets, self._env.now()))

    async def _roll(self, key: str, owner: Controlling, found: list[Object]) -> None:
        sets = await self._synced(owner, found, create=True)
        if sets.new is None:
            return
        steps = sizes.grown(owner.obj, sets.all, sets.new) or sizes.shrunk(
            owner.obj, sets.new, sizes.active(sets.old)
        )
        if steps:
            sets = await self._writer.scale(owner, sets, steps)
        elif progress.complete(owner.obj, owner.obj.get("status") or {}):
            await self._writer.clean(owner, sets.old)
        await self._tell_rollout(key, owner, sets)

    async def _recreate(
        self, key: str, owner: Controlling, found: list[Object], sets: Sets
    ) -> None:
        steps = [sizes.Step(one["metadata"]["name"], 0) for one in sizes.active(sets.old)]
        if steps:
            sets = await self._writer.scale(owner, sets, steps)
        elif not self._old_pods_run(sets):
            if sets.new is None:
                sets = await self._synced(owner, found, create=True)
            replicas = sizes.size_of(owner.obj)
            if sets.new is not None and sizes.size_of(sets.new) != replicas:
                step = sizes.Step(sets.new["metadata"]["name"], replicas)
                sets = await self._writer.scale(owner, sets, [step])
            if progress.complete(owner.obj, owner.obj.get("status") or {}):
                await self._writer.clean(owner, sets.old)
        await self._tell_rollout(key, owner, sets)

    def _old_pods_run(self, sets: Sets) -> bool:
        return any(
            sizes.told(one, "replicas") > 0
            or any(pod.phase not in ("Failed", "Succeeded") for pod in self._pods.of(uid))
            for one in sets.old
            for uid in [one["metadata"]["uid"]]
        )

    async def _synced(self, owner: Controlling, found: list[Object], *, create: bool) -> Sets:
        """The ReplicaSets, the newest with its revision and what is copied from the Deployment.

        Args:
            owner: the Deployment.
            found: its ReplicaSets.
            create: whether the newest is made where there is none.

        Raises:
            WrittenBefore: the Deployment was written, and is to be looked at anew.
        """
        new, old = templates.split(owner.obj, found)
        if new is None:
            return Sets(await self._writer.create(owner, old), old) if create else Sets(None, old)
        new = await self._writer.annotate(owner, new, old)
        text = annotations_of(new).get(REVISION, "")
        known = condition_of(owner.obj.get("status") or {}, progress.PROGRESSING)
        message = f'Found new replica set "{new["metadata"]["name"]}"'
        condition = None
        if progress.deadline_of(owner.obj) is not None and known is None:
            condition = progress.condition(
                progress.PROGRESSING, "True", "FoundNewReplicaSet", message, self._env.now()
            )
        if annotations_of(owner.obj).get(REVISION) != text or condition is not None:
            await self._writer.revision(owner, text, condition)
            raise WrittenBefore
        return Sets(new, old)

    async def _tell_rollout(self, key: str, owner: Controlling, sets: Sets) -> None:
        now = self._env.now()
        status = progress.rollout_status(owner.obj, sets, now)
        if await self._tell(owner, status):
            return
        left_s = progress.check_in(owner.obj, status, now)
        if left_s is not None:
            self.look_again_in(key, max(left_s, 0.0) + SOON_S)

    async def _tell(self, owner: Controlling, status: Object) -> bool:
        """Write a status, unless it is the one that is there; returns whether it was written."""
        if progress.told_by(owner.obj, status)["status"] == (owner.obj.get("status") or {}):
            return False
        await self._writer.status(owner, status)
        return True


ORPHANS = "orphans"
"""Index of ReplicaSets without a controller, by namespace."""


def orphan_namespace(item: Item) -> tuple[str, ...]:
    """The namespace of an item without a controller."""
    meta = item.object["metadata"]
    return (meta["namespace"],) if owner_of(meta) is None else ()
