"""Writes ReplicaSets of Deployments and what Deployments say of them.

Source: k8s.io/kubernetes/pkg/controller/deployment (``sync.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.controllers.deployment import progress, sizes, templates
from kubetrio.controllers.deployment.annotations import (
    REVISION,
    annotations_of,
    copied,
    newest_revision,
    revision,
    sizes_noted,
    with_annotations,
)
from kubetrio.controllers.deployment.progress import Sets
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Claims, Controlling, adopted, released
from kubetrio.controllers.podcontrol.podwriter import about, namespace_ends
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder
from kubetrio.kinds.core.pods.digests import owner_of
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.wire.gojson import parse_printed

Object = dict[str, Any]

ACCOUNT = "deployment-controller"
_MOST = (1 << 31) - 1


class WrittenBefore(Exception):
    """The Deployment was written, so that what is known of it is out of date."""


class SetWriter:
    """Writes as the service account of the Deployment controller.

    Args:
        context: what controllers are made of.
    """

    def __init__(self, context: Context) -> None:
        self.events = EventRecorder(
            ACCOUNT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._kind = context.registry.resources["apps", "v1", "deployments"]
        self._set_kind = context.registry.resources["apps", "v1", "replicasets"]
        self._sets = context.informers.informer_for(self._set_kind)
        self._operations = context.operations
        self._env = context.env
        self._who = as_service_account(ACCOUNT)

    def warn(self, owner: Controlling, reason: str, message: str) -> None:
        """Record a warning about a Deployment."""
        self.events.record(about(owner), WARNING, reason, message)

    def note(self, owner: Controlling, reason: str, message: str) -> None:
        """Record what is no warning."""
        self.events.record(about(owner), NORMAL, reason, message)

    async def change(
        self, owner: Controlling, make: Callable[[Object], Object], subresource: str = ""
    ) -> None:
        """Change a Deployment.

        Raises:
            ApiError: 409 where its spec is another one by now; what else a write says.
            StoreError: it cannot be written.
        """
        meta = owner.meta

        def made(old: Object) -> Object:
            _check_same(old, meta["uid"])
            if old["metadata"].get("generation") != meta.get("generation"):
                raise ApiError(409, "Conflict", f"{meta['name']} has changed")
            return make(old)

        target = Target(self._kind, meta["namespace"], meta["name"], subresource)
        await self._operations.patch(target, made, self._who)

    async def status(self, owner: Controlling, status: Object) -> None:
        """Write the status of a Deployment; see `change`."""
        await self.change(owner, lambda old: progress.told_by(old, status), "status")

    async def revision(self, owner: Controlling, text: str, condition: Object | None) -> None:
        """Write the revision of a Deployment, and a condition if there is one; see `change`."""
        status = owner.obj.get("status") or {}
        if condition is not None:
            status = progress.with_status_condition(status, condition)

        def made(old: Object) -> Object:
            new = with_annotations(old, {**annotations_of(old), REVISION: text})
            return progress.told_by(new, status)

        await self.change(owner, made, "status")

    async def _set(self, replica_set: Object, make: Callable[[Object], Object]) -> Object:
        """Change a ReplicaSet; returns it as it is then.

        Raises:
            ApiError: 409 where it has another size by now; what else a write says.
            StoreError: it cannot be written.
        """
        meta = replica_set["metadata"]

        def made(old: Object) -> Object:
            _check_same(old, meta["uid"])
            if sizes.size_of(old) != sizes.size_of(replica_set):
                raise ApiError(409, "Conflict", f"{meta['name']} has changed")
            return make(old)

        target = Target(self._set_kind, meta["namespace"], meta["name"])
        written = await self._operations.patch(target, made, self._who)
        new: Object = parse_printed(written.value)
        return new

    async def annotate(self, owner: Controlling, new: Object, old: Sequence[Object]) -> Object:
        """Copy to the newest ReplicaSet what it has of its Deployment; see `_set`."""
        newest = newest_revision(old) + 1
        seconds = owner.obj["spec"].get("minReadySeconds") or 0
        annotations = copied(owner.obj, new, newest)
        has = new["spec"].get("minReadySeconds") or 0
        if annotations == annotations_of(new) and has == seconds:
            return new

        def made(stored: Object) -> Object:
            spec = {**stored["spec"], "minReadySeconds": seconds}
            if not seconds:
                del spec["minReadySeconds"]
            return {**with_annotations(stored, copied(owner.obj, stored, newest)), "spec": spec}

        return await self._set(new, made)

    async def scale(self, owner: Controlling, sets: Sets, steps: Sequence[sizes.Step]) -> Sets:
        """Give ReplicaSets other sizes; returns all as they are then.

        Raises:
            ApiError: one cannot be written; those before it are.
            StoreError: the same.
        """
        replicas = sizes.size_of(owner.obj)
        most = replicas + sizes.max_surge(owner.obj)
        known = {one["metadata"]["name"]: one for one in sets.all}
        for step in steps:
            before = known[step.name]
            was = sizes.size_of(before)
            noted = sizes_noted(annotations_of(before), replicas, most)
            if was == step.size and (not step.force or noted == annotations_of(before)):
                continue

            def made(old: Object, size: int = step.size) -> Object:
                annotations = sizes_noted(annotations_of(old), replicas, most)
                return with_annotations(
                    {**old, "spec": {**old["spec"], "replicas": size}}, annotations
                )

            known[step.name] = await self._set(before, made)
            if was != step.size:
                way = "up" if was < step.size else "down"
                message = f"Scaled {way} replica set {step.name} from {was} to {step.size}"
                self.note(owner, "ScalingReplicaSet", message)
        new = None if sets.new is None else known[sets.new["metadata"]["name"]]
        return Sets(new, [known[one["metadata"]["name"]] for one in sets.old])

    async def create(self, owner: Controlling, old: Sequence[Object]) -> Object:
        """Make the newest ReplicaSet of a Deployment.

        Raises:
            WrittenBefore: it was made, and the Deployment says so.
            ApiError: it cannot be made; the Deployment says so.
            StoreError: the same.
        """
        replica_set = templates.new_replica_set(owner)
        deployment = owner.obj
        size = sizes.new_size(deployment, [*old, replica_set], replica_set)
        replica_set["spec"]["replicas"] = size
        newest = newest_revision(old) + 1
        replicas = sizes.size_of(deployment)
        most = replicas + sizes.max_surge(deployment)
        annotations = copied(deployment, replica_set, newest)
        replica_set["metadata"]["annotations"] = sizes_noted(annotations, replicas, most)
        name = replica_set["metadata"]["name"]
        try:
            target = Target(self._set_kind, owner.meta["namespace"])
            await self._operations.create(target, replica_set, self._who)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return await self._existing(owner, name, error)
            if not namespace_ends(error):
                await self._failed(owner, name, error)
            raise
        if size > 0:
            message = f"Scaled up replica set {name} from 0 to {size}"
            self.note(owner, "ScalingReplicaSet", message)
        condition = None
        if progress.deadline_of(deployment) is not None:
            message = f"Created new replica set {quote(name)}"
            condition = progress.condition(
                progress.PROGRESSING, "True", "NewReplicaSetCreated", message, self._env.now()
            )
        if condition is not None or annotations_of(deployment).get(REVISION) != str(newest):
            await self.revision(owner, str(newest), condition)
        raise WrittenBefore

    async def _existing(self, owner: Controlling, name: str, error: ApiError) -> Object:
        """The ReplicaSet that has the name of the newest, where it is that.

        Raises:
            ApiError: it is another one; the next attempt has another name.
        """
        holder = self._sets.lister.get(name, owner.meta["namespace"])
        if holder is None:
            raise error
        above = owner_of(holder["metadata"])
        if (
            above is not None
            and above.uid == owner.meta["uid"]
            and templates.same_template(holder["spec"]["template"], owner.obj["spec"]["template"])
        ):
            return holder
        status = owner.obj.get("status") or {}
        count = (status.get("collisionCount") or 0) + 1
        await self.status(owner, {**status, "collisionCount": count})
        raise error

    async def _failed(self, owner: Controlling, name: str, error: ApiError) -> None:
        message = f"Failed to create new replica set {quote(name)}: {error}"
        reason = "ReplicaSetCreateError"
        if progress.deadline_of(owner.obj) is not None:
            condition = progress.condition(
                progress.PROGRESSING, "False", reason, message, self._env.now()
            )
            status = owner.obj.get("status") or {}
            await self.status(owner, progress.with_status_condition(status, condition))
        self.warn(owner, reason, message)

    async def clean(self, owner: Controlling, old: Sequence[Object]) -> None:
        """Delete the oldest ReplicaSets that are beyond the history and have no pods.

        Raises:
            ApiError: one cannot be deleted.
            StoreError: the same.
        """
        limit = owner.obj["spec"].get("revisionHistoryLimit")
        if limit is None or limit == _MOST:
            return
        alive = [one for one in old if not one["metadata"].get("deletionTimestamp")]
        ordered = sorted(sizes.by_age(alive), key=lambda one: revision(one) or 0)
        for one in ordered[: max(len(alive) - limit, 0)]:
            meta, status = one["metadata"], one.get("status") or {}
            seen = (status.get("observedGeneration") or 0) >= (meta.get("generation") or 0)
            if status.get("replicas") or sizes.size_of(one) or not seen:
                continue
            target = Target(self._set_kind, meta["namespace"], meta["name"])
            try:
                await self._operations.delete(target, DeleteOptions(), self._who)
            except ApiError as error:
                if error.code != 404:
                    raise

    async def claim(self, owner: Controlling, found: Claims[Object]) -> list[Object]:
        """Change references as claims say; returns what the Deployment has then.

        Raises:
            ApiError: a reference cannot be changed.
            StoreError: the same.
        """
        held, reference = list(found.held), owner.reference()
        for one in found.adopt:
            uid = one["metadata"]["uid"]

            def adopt(old: Object, uid: str = uid) -> Object:
                return adopted(old, uid, reference)

            if (new := await self._refer(one, adopt)) is not None:
                held.append(new)
        for one in found.release:
            uid = one["metadata"]["uid"]

            def release(old: Object, uid: str = uid) -> Object:
                return released(old, uid, reference["uid"])

            await self._refer(one, release)
        return held

    async def _refer(self, one: Object, make: Callable[[Object], Object]) -> Object | None:
        meta = one["metadata"]
        target = Target(self._set_kind, meta["namespace"], meta["name"])
        try:
            written = await self._operations.patch(target, make, self._who)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        new: Object = parse_printed(written.value)
        return new


def _check_same(obj: Object, uid: str) -> None:
    if obj["metadata"]["uid"] != uid:
        raise ApiError(409, "Conflict", f"{obj['metadata']['name']} is another object now")
