"""Keeps the Endpoints of services with selectors.

Source: docs "Service" (Endpoints); k8s.io/kubernetes/pkg/controller/endpoint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context
from kubetrio.controllers.endpoints.backends import HEADLESS, TRIGGER_TIME, has_address, selected
from kubetrio.controllers.endpoints.following import ServiceFollower
from kubetrio.controllers.endpoints.subsets import (
    MOST_ADDRESSES,
    counted,
    repacked,
    truncated,
    wanted_subsets,
)
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.recorder import WARNING, EventRecorder, Reference
from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

ACCOUNT = "endpoint-controller"
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
LEADER = "control-plane.alpha.kubernetes.io/leader"
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
ENDPOINTS = "/registry/services/endpoints/"


class EndpointsDigest(NamedTuple):
    """What is kept of Endpoints.

    Args:
        leads: whether they are none, but a lock of who leads.
        mirrored: whether slices are made of them.
    """

    leads: bool
    mirrored: bool


def endpoints_digest(value: bytes) -> EndpointsDigest:
    """What is kept of Endpoints.

    Args:
        value: as stored.
    """
    meta = orjson.loads(value)["metadata"]
    leads = LEADER in (meta.get("annotations") or {})
    skipped = (meta.get("labels") or {}).get(SKIP_MIRROR) == "true"
    return EndpointsDigest(leads, not leads and not skipped)


def all_endpoints(informers: SharedInformerFactory) -> Digests[EndpointsDigest]:
    """The Endpoints of a server; the same for all controllers."""
    return informers.digests(ENDPOINTS, endpoints_digest)


class EndpointsController(ServiceFollower):
    """The controller.

    Args:
        context: what it is made of.
    """

    name = "endpoints-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "endpoints"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            ACCOUNT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._all = self.follow_digests(all_endpoints(context.informers), self._endpoints_changed)
        self.beside += [self._events.run, self._leftovers]

    def _endpoints_changed(
        self, namespace: str, name: str, _: EndpointsDigest | None, new: EndpointsDigest | None
    ) -> None:
        if new is None:
            self.queue.add(f"{namespace}/{name}")

    async def _leftovers(self) -> None:
        """Look at what is there from before: its service may be gone."""
        for namespace, name, digest in list(self._all.everywhere()):
            if not digest.leads:
                self.queue.add(f"{namespace}/{name}")

    async def sync(self, key: str) -> None:
        """Give a service's Endpoints its pods.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same, or something cannot be read.
        """
        namespace, _, name = key.partition("/")
        service = await self._service(key)
        if service is None:
            self._triggers.forget(key)
            await self._delete(namespace, name)
            return
        if service["spec"].get("type") == "ExternalName" or not service["spec"].get("selector"):
            return
        pods = list(selected(service, self._pods.within(namespace)))
        trigger = self._triggers.of(key, service, pods)
        subsets = await self._worked_out(len(pods), wanted_subsets, service, pods)
        stored = await self._store.get(ENDPOINTS + key)
        try:
            if stored is None:
                await self._create(service, subsets, trigger)
            else:
                await self._update(service, subsets, trigger, orjson.loads(stored.value))
        except ApiError as error:
            if stored is None and _ends(error):
                return
            what = "create endpoint for service" if stored is None else "update endpoint"
            reason = "FailedToCreateEndpoint" if stored is None else "FailedToUpdateEndpoint"
            about = Reference("v1", "Endpoints", namespace, name, "")
            message = f"Failed to {what} {namespace}/{name}: {error}"
            self._events.record(about, WARNING, reason, message)
            raise

    async def _delete(self, namespace: str, name: str) -> None:
        if self._all.get(namespace, name) is None:
            return
        target = Target(self._kind, namespace, name)
        try:
            await self._operations.delete(target, DeleteOptions(), self._who)
        except ApiError as error:
            if error.code != 404:
                raise

    async def _create(self, service: Object, subsets: list[Object], trigger: str) -> None:
        meta = service["metadata"]
        bare: Object = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        }
        body = _written(bare, service, subsets, trigger)
        await self._operations.create(Target(self._kind, meta["namespace"]), body, self._who)

    async def _update(
        self, service: Object, subsets: list[Object], trigger: str, current: Object
    ) -> None:
        size = sum(counted(subsets, member) for member in ("addresses", "notReadyAddresses"))
        if await self._worked_out(size, _right, service, subsets, current):
            return
        meta = service["metadata"]
        target = Target(self._kind, meta["namespace"], meta["name"])
        # Of what was looked at: after a write meanwhile, this is looked at again.
        body = _written(current, service, subsets, trigger)
        await self._operations.replace(target, body, self._who)


def _ends(error: ApiError) -> bool:
    """Whether nothing can be made because the namespace goes."""
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def _written(current: Object, service: Object, subsets: list[Object], trigger: str) -> Object:
    """Endpoints as they should be."""
    meta = dict(current["metadata"])
    annotations = {
        name: value
        for name, value in (meta.pop("annotations", None) or {}).items()
        if name not in (TRIGGER_TIME, OVER_CAPACITY)
    }
    if trigger:
        annotations[TRIGGER_TIME] = trigger
    fewer = truncated(subsets)
    if fewer is not None:
        annotations[OVER_CAPACITY] = "truncated"
    labels = dict(service["metadata"].get("labels") or {})
    labels.pop(HEADLESS, None)
    if not has_address(service):
        labels[HEADLESS] = ""
    meta["labels"] = {**labels, MANAGED_BY: ACCOUNT}
    if annotations:
        meta["annotations"] = annotations
    rest = {name: value for name, value in current.items() if name != "subsets"}
    kept = subsets if fewer is None else fewer
    return {**rest, "metadata": meta, **({"subsets": kept} if kept else {})}


def _right(service: Object, subsets: list[Object], current: Object) -> bool:
    """Whether Endpoints are as they should be, whatever their order and their writer."""
    meta = current["metadata"]
    labels = dict(meta.get("labels") or {})
    managed = labels.pop(MANAGED_BY, "") == ACCOUNT
    expected_labels = dict(service["metadata"].get("labels") or {})
    for each in (labels, expected_labels):
        each.pop(HEADLESS, None)
    fewer = truncated(subsets)
    there = repacked(current.get("subsets"))
    cut = OVER_CAPACITY in (meta.get("annotations") or {})
    if not managed or labels != expected_labels or cut is not (fewer is not None):
        return False
    if fewer is None:
        return _bare(there) == _bare(subsets)
    # Which of too many addresses are told of is the same as long as these are.
    total = sum(counted(there, member) for member in ("addresses", "notReadyAddresses"))
    return total == MOST_ADDRESSES and _bare(there) == _bare(fewer)


def _bare(subsets: list[Object]) -> list[Object]:
    """Subsets without what others wrote that says nothing: revisions of pods, empty node names."""
    return [
        {
            member: [_bare_address(one) for one in value]
            if member in ("addresses", "notReadyAddresses")
            else value
            for member, value in subset.items()
        }
        for subset in subsets
    ]


def _bare_address(address: Object) -> Object:
    bare = {name: value for name, value in address.items() if value not in ("", None)}
    target = address.get("targetRef")
    if target:
        bare["targetRef"] = {k: v for k, v in target.items() if k != "resourceVersion"}
    return bare
