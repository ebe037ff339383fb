"""Makes the claims of pods that bring their own volumes.

Source: docs "Ephemeral Volumes" (generic ephemeral volumes);
k8s.io/kubernetes/pkg/controller/volume/ephemeral.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.owning import controller_reference
from kubetrio.controllers.recorder import WARNING, EventRecorder, reference_to
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import Target

Object = dict[str, Any]

COMPONENT, ACCOUNT = "ephemeral_volume", "ephemeral-volume-controller"


class EphemeralVolumes(Controller):
    """The controller; its keys are namespaces and names of pods.

    Args:
        context: what it is made of.
    """

    name = "ephemeral-volume-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources = context.registry.resources
        self._pod_kind = resources["", "v1", "pods"]
        self._claim_kind = resources["", "v1", "persistentvolumeclaims"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._pods = self.follow_digests(pods_of(context.informers), self._pod_changed)
        self.beside.append(self._events.run)

    def _pod_changed(
        self, namespace: str, name: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        if new is not None and new.ephemeral and (old is None or old.uid != new.uid):
            self.queue.add(f"{namespace}/{name}")

    async def sync(self, key: str) -> None:
        """Make the claims of a pod.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        stored = await self._store.get(self._pod_kind.key(namespace, name))
        pod: Object | None = None if stored is None else orjson.loads(stored.value)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral"):
                await self._make(pod, volume)

    async def _make(self, pod: Object, volume: Object) -> None:
        """Make a claim; one of that name that is not the pod's is told of, and tried again."""
        namespace = pod["metadata"]["namespace"]
        claim = claim_of(pod, volume)
        name = claim["metadata"]["name"]
        stored = await self._store.get(self._claim_kind.key(namespace, name))
        if stored is not None:
            owners = orjson.loads(stored.value)["metadata"].get("ownerReferences") or ()
            if any(
                one["uid"] == pod["metadata"]["uid"] and one.get("controller") for one in owners
            ):
                return
            text = (
                f"PVC {namespace}/{name} was not created for pod "
                f"{namespace}/{pod['metadata']['name']} (pod is not owner)"
            )
            told = f"ephemeral volume {volume['name']}: {text}"
            self._events.record(reference_to(pod), WARNING, "FailedBinding", told)
            raise ApiError(409, "Conflict", text)
        try:
            await self._operations.create(Target(self._claim_kind, namespace), claim, self._who)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


def claim_of(pod: Object, volume: Object) -> Object:
    """The claim of a pod's volume.

    Args:
        pod: the pod, which owns it.
        volume: of the pod.
    """
    meta, template = pod["metadata"], volume["ephemeral"]["volumeClaimTemplate"]
    given = template.get("metadata") or {}
    owner = controller_reference("v1", "Pod", meta)
    kept = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"{meta['name']}-{volume['name']}",
            "ownerReferences": [owner],
            **kept,
        },
        "spec": dict(template["spec"]),
    }
