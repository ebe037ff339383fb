"""Pods of owners are made and deleted, and their owners told of it in events.

Source: k8s.io/kubernetes/pkg/controller (``RealPodControl``, ``slowStartBatch``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

import trio

from kubetrio.controllers.controller import Context
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Claims, Controlling, adopted, released
from kubetrio.controllers.podcontrol.view import Pod, pod_view
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference, reference_to
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.store.errors import StoreError

Object = dict[str, Any]
Failure = ApiError | StoreError

FIRST_BATCH = 1
"""How many pods are made at first; twice as many each time that all went well."""
MOST_AT_ONCE = 500
"""How many pods an owner has made or deleted in one sync."""
GONE = frozenset({HTTPStatus.NOT_FOUND})


def namespace_ends(error: Exception) -> bool:
    """Whether nothing can be made because the namespace is being deleted."""
    causes = (getattr(error, "details", None) or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def name_prefix(owner: str) -> str:
    """The beginning of names of an owner's pods."""
    prefix = f"{owner}-"
    return owner if dns1123_subdomain(prefix, prefix=True) else prefix


def pod_from(template: Object, owner: Controlling) -> Object:
    """A new pod of an owner.

    Args:
        template: of pods.
        owner: whose pod it is.
    """
    meta = template.get("metadata") or {}
    members: Object = {
        "generateName": name_prefix(owner.meta["name"]),
        "namespace": owner.meta["namespace"],
        "labels": copy_json(meta.get("labels") or {}),
        "annotations": copy_json(meta.get("annotations") or {}),
        "ownerReferences": [owner.reference()],
        "finalizers": list(meta.get("finalizers") or ()),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: value for key, value in members.items() if value},
        "spec": copy_json(template.get("spec") or {}),
    }


class PodWriter:
    """Writes pods for one controller, as its service account.

    Args:
        context: what controllers are made of.
        account: service account of the controller.
        component: that its events come from.
        finalizers: that pods which are adopted get, and those which are released lose.
    """

    def __init__(
        self, context: Context, account: str, component: str, finalizers: tuple[str, ...] = ()
    ) -> None:
        self.events = EventRecorder(
            component, account, context.registry, context.operations, context.env
        )
        self._kind = context.registry.resources["", "v1", "pods"]
        self._operations = context.operations
        self._who = as_service_account(account)
        self._finalizers = finalizers

    def record(self, owner: Controlling, type_: str, reason: str, message: str) -> None:
        """Record an event about an owner."""
        self.events.record(about(owner), type_, reason, message)

    async def create(self, owner: Controlling, pod: Object) -> Pod | None:
        """Make a pod; None where its namespace is being deleted.

        Raises:
            ApiError: it cannot be made; the owner has an event that says so.
            StoreError: the same.
        """
        try:
            target = Target(self._kind, owner.meta["namespace"])
            written = await self._operations.create(target, pod, self._who)
        except (ApiError, StoreError) as error:
            if namespace_ends(error):
                return None
            self.record(owner, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        view = pod_view(written.value)
        self.record(owner, NORMAL, "SuccessfulCreate", f"Created pod: {view.name}")
        return view

    async def delete(self, owner: Controlling, name: str) -> None:
        """Delete a pod; nothing when it is gone.

        Raises:
            ApiError: it cannot be deleted; the owner has an event that says so.
            StoreError: the same.
        """
        target = Target(self._kind, owner.meta["namespace"], name)
        try:
            await self._operations.delete(target, DeleteOptions(), self._who)
        except (ApiError, StoreError) as error:
            if isinstance(error, ApiError) and error.code in GONE:
                return
            self.record(owner, WARNING, "FailedDelete", f"Error deleting: {error}")
            raise
        self.record(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {name}")

    async def patch(
        self, namespace: str, name: str, make: Callable[[Object], Object], subresource: str = ""
    ) -> Pod:
        """Change a pod; returns it as it is then.

        Args:
            namespace: of the pod.
            name: of the pod.
            make: the new pod from the stored one.
            subresource: that is written.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        target = Target(self._kind, namespace, name, subresource)
        return pod_view((await self._operations.patch(target, make, self._who)).value)

    async def claim(self, owner: Controlling, found: Claims[Pod]) -> list[Pod]:
        """Change references as claims say; returns the pods that the owner has then.

        Raises:
            ApiError: a reference cannot be changed; the others are.
            StoreError: the same.
        """
        held, failed = list(found.held), list[Failure]()
        reference = owner.reference()
        for pod in found.adopt:
            uid = pod.uid

            def adopt(old: Object, uid: str = uid) -> Object:
                return adopted(old, uid, reference, self._finalizers)

            try:
                held.append(await self.patch(pod.namespace, pod.name, adopt))
            except (ApiError, StoreError) as error:
                if not _gone(error):
                    failed.append(error)
        for pod in found.release:
            uid = pod.uid

            def release(old: Object, uid: str = uid) -> Object:
                return released(old, uid, reference["uid"], self._finalizers)

            try:
                await self.patch(pod.namespace, pod.name, release)
            except (ApiError, StoreError) as error:
                if not _gone(error):
                    failed.append(error)
        if failed:
            raise failed[0]
        return sorted(held, key=lambda pod: pod.name)


def about(owner: Controlling) -> Reference:
    """What events about an owner are about."""
    return reference_to(owner.obj, owner.api_version, owner.kind)


def _gone(error: Failure) -> bool:
    return isinstance(error, ApiError) and error.code in GONE


async def all_of(calls: Iterable[Callable[[], Awaitable[object]]]) -> Sequence[Failure]:
    """Make calls at a time; returns what those raised that failed.

    Args:
        calls: each makes one call.
    """
    failed = list[Failure]()

    async def one(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except (ApiError, StoreError) as error:
            failed.append(error)

    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(one, call)
    return failed


async def slow_start(
    calls: Sequence[Callable[[], Awaitable[object]]], first: int = FIRST_BATCH
) -> tuple[int, Failure | None]:
    """Make calls in batches, each twice as large, until one fails.

    Args:
        calls: each makes one call.
        first: size of the first batch.

    Returns:
        How many went well, and what the first raised that did not.
    """
    done, size = 0, min(first, len(calls))
    while size > 0:
        failed = await all_of(calls[done : done + size])
        if failed:
            return done + size - len(failed), failed[0]
        done += size
        size = min(2 * size, len(calls) - done)
    return done, None
