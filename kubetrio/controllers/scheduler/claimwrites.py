"""What a scheduler writes to claims of devices: what they have, and for which pods."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.controllers.scheduler.devices.facts import FINALIZER
from kubetrio.controllers.scheduler.plugins.devices import Given
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.machinery.status import conflict, not_found
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.writes import Target, WriteOptions

Object = dict[str, Any]


def scheduler(_: str = "") -> WriteOptions:
    """How a scheduler writes."""
    user = UserInfo("system:kube-scheduler", groups=(AUTHENTICATED,))
    return WriteOptions(user=user, field_manager="kube-scheduler")


class DeviceClaims:
    """Writes claims.

    Args:
        context: what its controller is made of.
    """

    def __init__(self, context: Context) -> None:
        self._kind = context.registry.resources["resource.k8s.io", "v1", "resourceclaims"]
        self._operations = context.operations
        self._env = context.env

    async def reserve(self, pod: PodView, claims: Iterable[Given]) -> None:
        """Give claims their devices, and reserve them for a pod.

        Args:
            pod: that gets a node.
            claims: of the pod.

        Raises:
            ApiError: one is gone, has other devices by now, or cannot be written.
            StoreError: the same.
        """
        for claim in claims:
            target = Target(self._kind, pod.shape.namespace, claim.name)
            if claim.allocation is not None:
                await self._operations.patch(target, partial(self._protected, claim), scheduler())
            reserved = partial(self._reserved, claim, pod)
            status = target._replace(subresource="status")
            await self._operations.patch(status, reserved, scheduler())

    def _same(self, claim: Given, old: Object) -> Object:
        """Return a stored claim if it is the one that is meant.

        Raises:
            ApiError: 404, it is another one of that name, or is being deleted.
        """
        meta = old["metadata"]
        if meta["uid"] != claim.uid or "deletionTimestamp" in meta:
            raise not_found(self._kind.group_resource, claim.name)
        return old

    def _protected(self, claim: Given, old: Object) -> Object:
        meta = self._same(claim, old)["metadata"]
        finalizers = meta.get("finalizers") or []
        if FINALIZER in finalizers:
            return old
        return {**old, "metadata": {**meta, "finalizers": [*finalizers, FINALIZER]}}

    def _reserved(self, claim: Given, pod: PodView, old: Object) -> Object:
        status = self._same(claim, old).get("status") or {}
        allocation, has = claim.allocation, status.get("allocation")
        if (allocation is None) is (has is None):
            text = "it got devices elsewhere" if has is not None else "its devices were taken back"
            raise conflict(self._kind.group_resource, claim.name, text)
        if allocation is not None:
            now = format_time(self._env.now())
            status = {**status, "allocation": {**allocation, "allocationTimestamp": now}}
        consumers = status.get("reservedFor") or []
        if any(one["uid"] == pod.uid for one in consumers):
            return {**old, "status": status}
        consumer = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        return {**old, "status": {**status, "reservedFor": [*consumers, consumer]}}

    async def free(self, pod: PodView, name: str) -> None:
        """Take the devices of a claim back that serve no other pod.

        Args:
            pod: that they hold back.
            name: of the claim.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """

        def freed(old: Object) -> Object:
            status = old.get("status") or {}
            if any(one["uid"] != pod.uid for one in status.get("reservedFor") or ()):
                return old
            gone = ("allocation", "reservedFor", "devices")
            return {**old, "status": {k: v for k, v in status.items() if k not in gone}}

        target = Target(self._kind, pod.shape.namespace, name, "status")
        await self._operations.patch(target, freed, scheduler())
