"""Makes claims of devices from templates, and takes the devices of pods back that have ended.

Source: docs "Dynamic Resource Allocation"; k8s.io/kubernetes/pkg/controller/resourceclaim.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.recorder import WARNING, EventRecorder, reference_to
from kubetrio.controllers.resourceclaim.claiming import (
    FOR_CLAIM,
    ClaimingPod,
    claim_from,
    claim_name,
    claiming_view,
    is_for,
    without_consumers,
    without_finalizer,
)
from kubetrio.controllers.scheduler.devices.facts import FINALIZER, MOST_CONSUMERS
from kubetrio.kinds.core.pods.digests import PREFIX
from kubetrio.machinery.multimaps import discard
from kubetrio.machinery.status import ApiError, not_found
from kubetrio.resources.own import apply_status
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

ACCOUNT, COMPONENT = "resource-claim-controller", "resource_claim"
MANAGER = "ResourceClaimController"
"""Owner of the statuses of claims in pods."""
POD, CLAIM = "pod:", "claim:"


def _owner_view(value: bytes) -> str:
    """The uid of a claim's controller, empty for none."""
    owners = orjson.loads(value)["metadata"].get("ownerReferences") or ()
    return next((str(one["uid"]) for one in owners if one.get("controller")), "")


def _uid_view(value: bytes) -> str:
    return str(orjson.loads(value)["metadata"]["uid"])


class ResourceClaims(Controller):
    """The controller; its keys are pods and claims.

    Args:
        context: what it is made of.
    """

    name = "resourceclaim-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources, informers = context.registry.resources, context.informers
        self._pod_kind = resources["", "v1", "pods"]
        self._kind = resources["resource.k8s.io", "v1", "resourceclaims"]
        self._template_kind = resources["resource.k8s.io", "v1", "resourceclaimtemplates"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._users: dict[str, set[str]] = {}  # pods by namespace and name of a claim
        self._waiting: dict[str, set[str]] = {}  # pods by namespace and name of a template
        templates = informers.digests(self._template_kind.storage_prefix, _uid_view)
        self._claims = informers.digests(self._kind.storage_prefix, _owner_view)
        self._pods = informers.digests(PREFIX, claiming_view)
        self.follow_digests(self._pods, self._pod_changed)
        self.follow_digests(self._claims, self._claim_changed)
        self.follow_digests(templates, self._template_changed)
        self.beside.append(self._events.run)

    # ------------------------------------------------------------------ what changes

    def _pod_changed(
        self, namespace: str, name: str, old: ClaimingPod | None, new: ClaimingPod | None
    ) -> None:
        if old is None and new is None:
            return
        key = f"{namespace}/{name}"
        for claim in () if old is None else old.claims:
            discard(self._users, f"{namespace}/{claim[1]}", key)
        for template in () if old is None else old.templates:
            discard(self._waiting, f"{namespace}/{template}", key)
        if new is None or new.done:
            for _, claim_ in (new or old or _NONE).claims:
                self.queue.add(f"{CLAIM}{namespace}/{claim_}")
        if new is None:
            return
        for claim in new.claims:
            self._users.setdefault(f"{namespace}/{claim[1]}", set()).add(key)
        for template in new.templates:
            self._waiting.setdefault(f"{namespace}/{template}", set()).add(key)
        if not (new.deleting or new.done):
            self.queue.add(POD + key)

    def _claim_changed(self, namespace: str, name: str, _: str | None, new: str | None) -> None:
        key = f"{namespace}/{name}"
        if new is not None:
            self.queue.add(CLAIM + key)
        for pod in sorted(self._users.get(key, ())):
            self.queue.add(POD + pod)

    def _template_changed(self, namespace: str, name: str, _: str | None, new: str | None) -> None:
        if new is not None:
            for pod in sorted(self._waiting.get(f"{namespace}/{name}", ())):
                self.queue.add(POD + pod)

    async def sync(self, key: str) -> None:
        """Make the claims of a pod, or bring a claim into order.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same.
        """
        if key.startswith(POD):
            await self._sync_pod(*_split(key.removeprefix(POD)))
        else:
            await self._sync_claim(*_split(key.removeprefix(CLAIM)))

    async def _read(self, namespace: str, name: str) -> Object | None:
        stored = await self._store.get(self._kind.key(namespace, name))
        return None if stored is None else orjson.loads(stored.value)

    # ------------------------------------------------------------------ pods

    async def _sync_pod(self, namespace: str, name: str) -> None:
        stored = await self._store.get(self._pod_kind.key(namespace, name))
        pod: Object | None = None if stored is None else orjson.loads(stored.value)
        view = None if stored is None else claiming_view(stored.value)
        if pod is None or view is None or view.deleting or view.done:
            return
        names: dict[str, str | None] = {}
        for asked in pod["spec"].get("resourceClaims") or ():
            try:
                names[asked["name"]] = await self._made(pod, asked)
            except ApiError as error:
                text = f"PodResourceClaim {asked['name']}: {error}"
                self._events.record(reference_to(pod), WARNING, "FailedResourceClaimCreation", text)
                raise
        known = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        before = {one["name"]: one.get("resourceClaimName") for one in known}
        named = {
            one["name"]: names[one["name"]]
            for one in pod["spec"].get("resourceClaims") or ()
            if one.get("resourceClaimTemplateName")
        }
        if any(value and before.get(key) != value for key, value in named.items()):
            rows = [
                {"name": key, **({"resourceClaimName": value} if value else {})}
                for key, value in named.items()
                if value is not None
            ]
            who = self._who._replace(field_manager=MANAGER)
            target = Target(self._pod_kind, namespace, name)
            await apply_status(self._operations, target, {"resourceClaimStatuses": rows}, who)
        if pod["spec"].get("nodeName"):
            for claim in names.values():
                if claim:
                    await self._reserve(pod, claim)

    async def _made(self, pod: Object, asked: Object) -> str | None:
        """The name of a pod's claim, which is made if it is missing.

        Raises:
            ApiError: its template is missing, or it cannot be written.
        """
        namespace, name = pod["metadata"]["namespace"], claim_name(pod, asked)
        template_name = asked.get("resourceClaimTemplateName")
        if name == "" or template_name is None:
            return name
        if name is not None:
            claim = await self._read(namespace, name)
            if claim is not None and is_for(claim, pod):
                return name
        orphan = await self._orphan(pod, asked["name"])
        if orphan is not None:
            return orphan
        stored = await self._store.get(self._template_kind.key(namespace, template_name))
        if stored is None:
            error = not_found(self._template_kind.group_resource, template_name)
            raise ApiError(404, "NotFound", f'resource claim template "{template_name}": {error}')
        claim = claim_from(orjson.loads(stored.value), pod, asked["name"])
        written = await self._operations.create(Target(self._kind, namespace), claim, self._who)
        return str(orjson.loads(written.value)["metadata"]["name"])

    async def _orphan(self, pod: Object, name: str) -> str | None:
        """A claim that was made for a pod, which does not know of it yet."""
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        for one, owner in sorted(self._claims.within(namespace).items()):
            if owner != uid:
                continue
            claim = await self._read(namespace, one)
            annotations = {} if claim is None else claim["metadata"].get("annotations") or {}
            if annotations.get(FOR_CLAIM) == name:
                return one
        return None

    async def _reserve(self, pod: Object, name: str) -> None:
        """Reserve a claim that has devices for a pod that has its node from elsewhere."""
        meta = pod["metadata"]

        def reserved(old: Object) -> Object:
            status = old.get("status") or {}
            consumers = status.get("reservedFor") or []
            if (
                status.get("allocation") is None
                or len(consumers) >= MOST_CONSUMERS
                or any(one["uid"] == meta["uid"] for one in consumers)
            ):
                return old
            consumer = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
            return {**old, "status": {**status, "reservedFor": [*consumers, consumer]}}

        claim = await self._read(meta["namespace"], name)
        if claim is None or reserved(claim) is claim:
            return
        target = Target(self._kind, meta["namespace"], name, "status")
        await self._operations.patch(target, reserved, self._who)

    # ------------------------------------------------------------------ claims

    async def _sync_claim(self, namespace: str, name: str) -> None:
        claim = await self._read(namespace, name)
        if claim is None:
            return
        meta, status = claim["metadata"], claim.get("status") or {}
        consumers = status.get("reservedFor") or []
        left = [one for one in consumers if self._keeps(namespace, one)]
        protected = FINALIZER in (meta.get("finalizers") or ())
        if len(left) < len(consumers) or (protected and "deletionTimestamp" in meta and not left):
            await self._release(claim, protected=protected)
        if left:
            return
        owner: Object = next(
            (one for one in meta.get("ownerReferences") or () if one.get("controller")), {}
        )
        if owner.get("kind") != "Pod":
            return
        pod = self._pods.get(namespace, owner["name"])
        if pod is not None and (pod.uid != owner["uid"] or pod.done):
            target = Target(self._kind, namespace, name)
            await self._operations.delete(target, DeleteOptions(uid=meta["uid"]), self._who)

    def _keeps(self, namespace: str, consumer: Object) -> bool:
        """Whether a consumer of a claim is still there."""
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            return True
        pod = self._pods.get(namespace, consumer["name"])
        return pod is not None and pod.uid == consumer["uid"] and not pod.done

    async def _release(self, claim: Object, *, protected: bool) -> None:
        """Take a claim from those that are gone, and devices from a claim of none."""
        meta = claim["metadata"]
        namespace, target = meta["namespace"], Target(self._kind, meta["namespace"], meta["name"])

        def released(old: Object) -> Object:
            if old["metadata"]["uid"] != meta["uid"]:
                raise not_found(self._kind.group_resource, meta["name"])
            consumers = (old.get("status") or {}).get("reservedFor") or []
            left = [one for one in consumers if self._keeps(namespace, one)]
            return without_consumers(old, left, FINALIZER)

        status = target._replace(subresource="status")
        written = await self._operations.patch(status, released, self._who)
        left = orjson.loads(written.value).get("status") or {}
        if protected and left.get("allocation") is None:
            await self._operations.patch(
                target, lambda old: without_finalizer(old, FINALIZER), self._who
            )


_NONE = ClaimingPod("", "", done=True, deleting=True, claims=(), templates=())


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
