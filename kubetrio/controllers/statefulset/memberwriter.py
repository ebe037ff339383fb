"""Makes, mends and deletes members of StatefulSets and their claims.

Source: k8s.io/kubernetes/pkg/controller/statefulset (``stateful_pod_control.go``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.podwriter import Failure, PodWriter
from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.controllers.recorder import NORMAL, WARNING
from kubetrio.controllers.statefulset import retention
from kubetrio.controllers.statefulset.members import (
    POD_INDEX,
    POD_NAME,
    Revision,
    claims_of,
    new_member,
    ordinal_of,
    replicas_of,
    revision_for,
    start_of,
    storage_matches,
    with_storage,
)
from kubetrio.controllers.statefulset.retention import DELETE, Member
from kubetrio.informers.informer import Informer
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.store.errors import StoreError

Object = dict[str, Any]

ACCOUNT = "statefulset-controller"
CONFLICT = (
    "PersistentVolumeClaim {} has a conflicting OwnerReference that acts as a manging controller, "
    "the retention policy is ignored for this claim"
)


class MemberWriter:
    """Writes as the service account of the StatefulSet controller.

    Args:
        context: what controllers are made of.
        claims: all PersistentVolumeClaims.
        pods: writes pods and records events.
    """

    def __init__(self, context: Context, claims: Informer, pods: PodWriter) -> None:
        self._claims = claims
        self._pods = pods
        self._pod_kind = context.registry.resources["", "v1", "pods"]
        self._kind = context.registry.resources["", "v1", "persistentvolumeclaims"]
        self._operations = context.operations
        self._who = as_service_account(ACCOUNT)

    def _told(self, owner: Controlling, verb: str, pod: str, error: Failure | None) -> None:
        """Record what was done with a pod, or why it was not."""
        what = f"{verb} Pod {pod} in StatefulSet {owner.meta['name']}"
        if error is None:
            self._pods.record(owner, NORMAL, f"Successful{verb}", f"{what} successful")
        else:
            self._pods.record(owner, WARNING, f"Failed{verb}", f"{what} failed error: {error}")

    def _member(self, owner: Controlling, ordinal: int, uid: str) -> Member:
        spec = owner.obj["spec"]
        condemned = not 0 <= ordinal - start_of(spec) < replicas_of(spec)
        return Member(f"{owner.meta['name']}-{ordinal}", uid, condemned)

    def _stored(self, owner: Controlling, ordinal: int) -> Iterator[Object]:
        """The claims of a member that are there."""
        for claim in claims_of(owner, ordinal):
            meta = claim["metadata"]
            stored = self._claims.lister.get(meta["name"], meta["namespace"])
            if stored is not None:
                yield stored

    def claims_match(self, owner: Controlling, pod: Pod) -> bool:
        """Whether the owners of a pod's claims are those of the retention policy."""
        member = self._member(owner, ordinal_of(pod), pod.uid)
        stored = self._stored(owner, ordinal_of(pod))
        return all(retention.up_to_date(claim, owner, member) for claim in stored)

    def waits_for_claim(self, owner: Controlling, ordinal: int) -> bool:
        """Whether a claim of a member's former pod is still to go."""
        if retention.policy_of(owner)[0] != DELETE:
            return False
        member = self._member(owner, ordinal, "")
        return any(retention.stale_for_pod(claim, member) for claim in self._stored(owner, ordinal))

    async def create(
        self, owner: Controlling, ordinal: int, current: Revision, update: Revision
    ) -> None:
        """Make a member after its claims.

        Raises:
            ApiError: it cannot be made.
            StoreError: the same.
        """
        pod = new_member(owner, revision_for(owner, current, update, ordinal), ordinal)
        name = pod["metadata"]["name"]
        try:
            await self.make_claims(owner, ordinal)
            target = Target(self._pod_kind, owner.meta["namespace"])
            await self._operations.create(target, pod, self._who)
            await self.keep_claims(owner, ordinal, "")
        except (ApiError, StoreError) as error:
            if not (isinstance(error, ApiError) and error.reason == "AlreadyExists"):
                self._told(owner, "Create", name, error)
            raise
        self._told(owner, "Create", name, None)

    async def delete(self, owner: Controlling, pod: Pod) -> None:
        """Delete a member; nothing when it is gone.

        Raises:
            ApiError: it cannot be deleted.
            StoreError: the same.
        """
        target = Target(self._pod_kind, pod.namespace, pod.name)
        try:
            await self._operations.delete(target, DeleteOptions(), self._who)
        except (ApiError, StoreError) as error:
            if not (isinstance(error, ApiError) and error.code == 404):
                self._told(owner, "Delete", pod.name, error)
                raise
        self._told(owner, "Delete", pod.name, None)

    async def mend(self, owner: Controlling, pod: Pod) -> None:
        """Give a member the labels of its name, its volumes, and claims with their owners.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        ordinal = ordinal_of(pod)

        def mended(old: Object) -> Object:
            meta = old["metadata"]
            labels = {**(meta.get("labels") or {}), POD_NAME: pod.name, POD_INDEX: str(ordinal)}
            new = {**old, "metadata": {**meta, "labels": labels}}
            if not storage_matches(owner, pod):
                new["spec"] = with_storage(owner, ordinal, old["spec"])
            return new

        try:
            if not storage_matches(owner, pod):
                await self.make_claims(owner, ordinal)
            await self.keep_claims(owner, ordinal, pod.uid)
            await self._pods.patch(pod.namespace, pod.name, mended)
        except (ApiError, StoreError) as error:
            self._told(owner, "Update", pod.name, error)
            raise
        self._told(owner, "Update", pod.name, None)

    async def make_claims(self, owner: Controlling, ordinal: int) -> None:
        """Make the claims of a member that are missing.

        Raises:
            ApiError: one cannot be made, or is being deleted.
            StoreError: the same.
        """
        for claim in claims_of(owner, ordinal):
            meta = claim["metadata"]
            name = meta["name"]
            stored = self._claims.lister.get(name, meta["namespace"])
            if stored is not None:
                if stored["metadata"].get("deletionTimestamp"):
                    raise ApiError(409, "Conflict", f"pvc {name} is being deleted")
                continue
            error = await self._make_claim(claim)
            self._told_claim(owner, name, ordinal, error)
            if isinstance(error, ApiError):
                message = f"failed to create PVC {name}: {error}"
                raise ApiError(error.code, error.reason, message, error.details)
            if error is not None:
                raise error

    async def _make_claim(self, claim: Object) -> Failure | None:
        target = Target(self._kind, claim["metadata"]["namespace"])
        try:
            await self._operations.create(target, claim, self._who)
        except (ApiError, StoreError) as error:
            return error
        return None

    def _told_claim(
        self, owner: Controlling, claim: str, ordinal: int, error: Failure | None
    ) -> None:
        name = owner.meta["name"]
        where = f"Pod {name}-{ordinal} in StatefulSet {name}"
        if error is None:
            message = f"Create Claim {claim} {where} success"
            self._pods.record(owner, NORMAL, "SuccessfulCreate", message)
        elif not (isinstance(error, ApiError) and error.reason == "AlreadyExists"):
            message = f"Create Claim {claim} for {where} failed error: {error}"
            self._pods.record(owner, WARNING, "FailedCreate", message)

    async def keep_claims(self, owner: Controlling, ordinal: int, uid: str) -> None:
        """Give the claims of a member the owners of the retention policy.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same.
        """
        member = self._member(owner, ordinal, uid)
        for claim in list(self._stored(owner, ordinal)):
            meta = claim["metadata"]
            if retention.conflicts(claim, owner, member):
                message = CONFLICT.format(meta["name"])
                self._pods.record(owner, WARNING, "ConflictingController", message)
            if retention.up_to_date(claim, owner, member):
                continue

            def kept(old: Object) -> Object:
                return retention.with_owners(old, owner, member)

            target = Target(self._kind, meta["namespace"], meta["name"])
            await self._operations.patch(target, kept, self._who)
