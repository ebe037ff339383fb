"""ResourceQuota: a namespace gets no more than its quotas allow.

What is admitted is charged to the quotas' status before it is stored, so that requests at the
same time cannot pass together.  The status itself is made, and corrected, by a reconciler; a quota
without one refuses nothing.

Source: docs "Resource Quotas"; the plugin runs last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, denied
from kubetrio.admission.quotausage import (
    CLAIMS,
    PODS,
    SERVICES,
    ZERO,
    Amounts,
    concerned,
    counts_for,
    missing_requests,
    printed,
    usage,
)
from kubetrio.machinery import quantity
from kubetrio.machinery.status import conflict

Object = dict[str, Any]
ATTEMPTS = 32
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

    async def charge(self, quota: Object, used: Mapping[str, str]) -> bool:
        """Write what is used of a quota; False when somebody else wrote it meanwhile."""
        ...


class ResourceQuota(Base):
    """The plugin.

    Args:
        lookup: says cheaply whether a namespace has quotas at all.
        quotas: reads and charges them.
    """

    name = "ResourceQuota"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    about_own = False

    def __init__(self, lookup: Lookup, quotas: Quotas) -> None:
        self._lookup = lookup
        self._quotas = quotas

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what exceeds a quota, charge what does not."""
        obj, namespace = attributes.obj, attributes.namespace
        resource = attributes.resource.group_resource
        if obj is None or attributes.subresource or not attributes.resource.namespaced:
            return
        if attributes.operation is Operation.UPDATE and resource not in UPDATED:
            return
        if not await self._lookup.of_namespace("resourcequotas", namespace):
            return
        key = attributes.resource.key(namespace, obj["metadata"].get("name") or attributes.name)
        expected = not attributes.dry_run
        if expected:
            self._quotas.expect(namespace, key)
        try:
            for _ in range(ATTEMPTS):
                if await self._try(attributes, obj):
                    return
            why = "the quotas of the namespace change too often"
            raise conflict(resource, attributes.name, why)
        except BaseException:
            if expected:
                self._quotas.forget(namespace, key)
            raise

    async def _try(self, attributes: Attributes, obj: Object) -> bool:
        """Check and charge once; False when a quota was written meanwhile."""
        resource = attributes.resource.group_resource
        delta = self._delta(attributes, obj)
        for quota in await self._quotas.of(attributes.namespace):
            status = quota.get("status") or {}
            hard = quantity.amounts(status.get("hard"))
            names = concerned(resource, hard)
            if not names or not counts_for(resource, obj, quota):
                continue
            name = quota["metadata"]["name"]
            if resource == PODS and (why := missing_requests(obj, names)):
                raise denied(attributes, f"failed quota: {name}: {why}")
            used = quantity.amounts(status.get("used"))
            if any(each not in used for each in names):
                listed = ",".join(names)
                why = f"status unknown for quota: {name}, resources: {listed}"
                raise denied(attributes, why)
            asked = {each: delta[each] for each in names if each in delta}
            if not asked:
                continue
            after = {**used, **{each: used[each] + value for each, value in asked.items()}}
            over = [each for each in asked if after[each] > hard[each]]
            if over:
                requested, before, limited = (
                    printed({each: source[each] for each in over}) for source in (asked, used, hard)
                )
                raise denied(
                    attributes,
                    f"exceeded quota: {name}, requested: {requested}, used: {before}, "
                    f"limited: {limited}",
                )
            texts = {each: str(after[each]) for each in sorted(after)}
            if not attributes.dry_run and not await self._quotas.charge(quota, texts):
                return False
        return True

    @staticmethod
    def _delta(attributes: Attributes, obj: Object) -> Amounts:
        """What a write adds to what is used."""
        resource = attributes.resource.group_resource
        delta = usage(resource, obj)
        if attributes.operation is Operation.UPDATE and attributes.old is not None:
            before = usage(resource, attributes.old)
            names = delta.keys() | before.keys()
            delta = {name: delta.get(name, ZERO) - before.get(name, ZERO) for name in sorted(names)}
        return {name: value for name, value in delta.items() if value}
