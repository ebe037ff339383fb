"""ResourceQuota: a namespace gets no more than its quotas allow.

What is admitted is charged to the quotas' status before it is stored, so that requests at the
same time cannot pass together.  The status itself is made, and corrected, by a reconciler; a quota
without one refuses nothing.

Source: docs "Resource Quotas"; the plugin runs last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, denied
from kubetrio.machinery import quantity
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import OBJECT_MODIFIED, conflict
from kubetrio.quota.limits import Limit, check_covered
from kubetrio.quota.usage import (
    CLAIMS,
    PODS,
    SERVICES,
    ZERO,
    Amounts,
    attributes_classes,
    concerned,
    counts_for,
    missing_requests,
    printed,
    terminates,
    usage,
)

Object = dict[str, Any]
QUOTAS = GroupResource("", "resourcequotas")
ATTEMPTS = 4  # as kube-apiserver; no task here writes at the same time
# What an update can make bigger.
UPDATED = frozenset({SERVICES, CLAIMS})


class Quotas(Protocol):
    """Where quotas are."""

    async def of(self, namespace: str) -> list[Object]:
        """The quotas of a namespace as they are stored now, by name."""
        ...

    def expect(self, namespace: str, key: str) -> None:
        """An object is charged for, and will be stored: until then nothing is counted again."""
        ...

    def forget(self, namespace: str, key: str) -> None:
        """It will not be stored."""
        ...

    def turn(self, namespace: str) -> AbstractAsyncContextManager[object]:
        """Hold the quotas of a namespace: no other task here writes them in the block."""
        ...

    async def charge(self, quota: Object, used: Mapping[str, str]) -> bool:
        """Write what is used of a quota; False when another writer was faster."""
        ...


class ResourceQuota(Base):
    """The plugin.

    Args:
        lookup: says cheaply whether a namespace has quotas at all.
        quotas: reads and charges them.
        limits: what needs a quota.
    """

    name = "ResourceQuota"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    about_own = False

    def __init__(self, lookup: Lookup, quotas: Quotas, limits: Sequence[Limit] = ()) -> None:
        self._lookup = lookup
        self._quotas = quotas
        self._limits = limits

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what exceeds a quota, charge what does not."""
        obj, namespace = attributes.obj, attributes.namespace
        if obj is None or not _counts(attributes, obj):
            return
        if not await self._lookup.of_namespace("resourcequotas", namespace):
            self._check_covered(attributes, obj, [])
            return
        if attributes.dry_run:
            await self._admit(attributes, obj)
            return
        key = attributes.resource.key(namespace, obj["metadata"].get("name") or attributes.name)
        self._quotas.expect(namespace, key)
        try:
            async with self._quotas.turn(namespace):
                await self._admit(attributes, obj)
        except BaseException:
            self._quotas.forget(namespace, key)
            raise

    async def _admit(self, attributes: Attributes, obj: Object) -> None:
        """Check all quotas, and charge them then; again those that were written meanwhile."""
        quotas = await self._quotas.of(attributes.namespace)
        self._check_covered(attributes, obj, quotas)
        failed: list[str] = []
        for _ in range(ATTEMPTS):
            failed = []
            for quota, used in list(_charges(attributes, obj, quotas)):
                if not attributes.dry_run and not await self._quotas.charge(quota, used):
                    failed.append(quota["metadata"]["name"])
            if not failed:
                return
            limits = await self._quotas.of(attributes.namespace)
            quotas = [quota for quota in limits if quota["metadata"]["name"] in failed]
        raise conflict(QUOTAS, failed[0], OBJECT_MODIFIED)

    def _check_covered(self, attributes: Attributes, obj: Object, quotas: Sequence[Object]) -> None:
        """Refuse what needs a quota that is not there.

        Raises:
            ApiError: 403 for a resource, 500 for a scope, as in kube-apiserver.
        """
        if not self._limits:
            return
        concerning = [each for each in quotas if _concerns(attributes, obj, each)]
        # Where no quota counts an object, what it adds counts as if one did.
        if not any(_delta(attributes, obj, each) for each in concerning or [{}]):
            return
        check_covered(self._limits, attributes, obj, concerning, quotas)


def _counts(attributes: Attributes, obj: Object) -> bool:
    """Whether a write can make what is used more."""
    if not attributes.resource.namespaced:
        return False
    resource, subresource = attributes.resource.group_resource, attributes.subresource
    if attributes.operation is Operation.CREATE:
        return not subresource
    old = attributes.old or obj
    if resource == PODS:
        return subresource == "resize" or (not subresource and terminates(obj) != terminates(old))
    if resource == CLAIMS and subresource == "status":
        return _given(obj) != _given(old) or attributes_classes(obj) != attributes_classes(old)
    return resource in UPDATED and not subresource


def _given(claim: Object) -> Any:
    """How much storage a claim was given."""
    return ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")


def _charges(
    attributes: Attributes, obj: Object, quotas: Iterable[Object]
) -> Iterator[tuple[Object, dict[str, str]]]:
    """Quotas that a write counts for, with what is used of them then.

    Raises:
        ApiError: 403.
    """
    resource = attributes.resource.group_resource
    concerning = [each for each in quotas if _concerns(attributes, obj, each)]
    for quota in concerning:
        status = quota.get("status") or {}
        hard, used = quantity.amounts(status.get("hard")), quantity.amounts(status.get("used"))
        delta = _delta(attributes, obj, quota)
        asked = {name: delta[name] for name in concerned(resource, hard) if name in delta}
        if not asked:
            continue
        after = {**used, **{name: used[name] + value for name, value in asked.items()}}
        over = [name for name in asked if after[name] > hard[name]]
        # What is in a status has happened.
        if over and attributes.subresource != "status":
            requested, before, limited = (
                printed({name: source[name] for name in over}) for source in (asked, used, hard)
            )
            raise denied(
                attributes,
                f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, "
                f"used: {before}, limited: {limited}",
            )
        yield quota, {name: str(after[name]) for name in sorted(after)}


def _concerns(attributes: Attributes, obj: Object, quota: Object) -> bool:
    """Whether an object counts for a quota.

    Raises:
        ApiError: 403, as it does, and does not say enough, or the quota was not counted yet.
    """
    resource, status = attributes.resource.group_resource, quota.get("status") or {}
    names = concerned(resource, status.get("hard") or ())
    if not names or not counts_for(resource, obj, quota):
        return False
    name = quota["metadata"]["name"]
    if resource == PODS and (why := missing_requests(obj, names)):
        raise denied(attributes, f"failed quota: {name}: {why}")
    if any(each not in (status.get("used") or ()) for each in names):
        listed = ",".join(names)
        raise denied(attributes, f"status unknown for quota: {name}, resources: {listed}")
    return True


def _delta(attributes: Attributes, obj: Object, quota: Object) -> Amounts:
    """What a write adds to what is used of a quota; what it frees is counted later."""
    resource, old = attributes.resource.group_resource, attributes.old
    delta = usage(resource, obj)
    if old is not None and counts_for(resource, old, quota):
        before = usage(resource, old)
        delta = {name: value - before.get(name, ZERO) for name, value in delta.items()}
    return {name: value for name, value in delta.items() if value > ZERO}
