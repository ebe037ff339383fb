"""Further ranges of service addresses: ready, protected, and gone when nothing is in them.

Source: docs "Extend Service IP Ranges"; KEP-1880; k8s.io/kubernetes/pkg/controller/servicecidrs,
whose words and times these are.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.informers.informer import Item
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.resources.own import apply_status
from kubetrio.resources.writes import Target
from kubetrio.store.model import Event, Range
from kubetrio.store.scan import scan

Object = dict[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

FINALIZER = "networking.k8s.io/service-cidr-finalizer"
MANAGER = "service-cidr-controller"
ACCOUNT = "service-cidrs-controller"
GRACE_S = 10.0
"""How long a range that may go stays: allocators of other servers have to hear of it."""
READY = "Kubernetes Service CIDR is ready"
IN_USE = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR"
)
MANAGED = b'"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"'
_GROUP = ("networking.k8s.io", "v1")


class ServiceCIDRController(Controller):
    """The controller.

    Args:
        context: what it is made of.
    """

    name = "service-cidr-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources[(*_GROUP, "servicecidrs")]
        self._addresses = context.registry.resources[(*_GROUP, "ipaddresses")].storage_prefix
        self._who = as_service_account(ACCOUNT, MANAGER)
        self._informer = context.informers.informer_for(self._kind)
        self.follow(self._kind, self._changed)
        context.informers.dispatcher.subscribe(self._addresses, self._address_changed)

    def _changed(self, old: Item | None, new: Item | None) -> None:
        if (item := new or old) is not None:
            self.queue.add(item.object["metadata"]["name"])
        self._look_at_leaving()

    def _address_changed(self, _: Event) -> None:
        self._look_at_leaving()

    def _look_at_leaving(self) -> None:
        """Another range or a freed address may let one go that waits."""
        for item in self._informer.indexer.list():
            if b'"deletionTimestamp"' in item.value:
                self.queue.add(item.object["metadata"]["name"])

    async def sync(self, key: str) -> None:
        """Protect a range and say that it is ready; let it go when it is to go and may."""
        item = self._informer.lister.get(key)
        if item is None:
            return
        target = Target(resource=self._kind, namespace="", name=key)
        deleted = item["metadata"].get("deletionTimestamp")
        if deleted is None:
            if FINALIZER not in (item["metadata"].get("finalizers") or ()):
                await self._operations.patch(target, _protected, self._who)
            await self._say(target, item, "True", "", READY)
        elif not await self._may_go(key, item):
            await self._say(target, item, "False", "Terminating", IN_USE)
        elif (left := parse_time(deleted) + GRACE_S - self._env.now()) > 0:
            self.queue.add_after(key, left)
        elif FINALIZER in (item["metadata"].get("finalizers") or ()):
            await self._operations.patch(target, _released, self._who)

    async def _say(
        self, target: Target, found: Object, status: str, reason: str, message: str
    ) -> None:
        """Apply the condition, if it is not there already."""
        for condition in (found.get("status") or {}).get("conditions") or ():
            told = (condition["status"], condition.get("reason") or "", condition.get("message"))
            if condition["type"] == "Ready" and told == (status, reason, message):
                return
        ready = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": format_time(self._env.now()),
        }
        await apply_status(self._operations, target, {"conditions": [ready]}, self._who)

    async def _may_go(self, name: str, found: Object) -> bool:
        """Whether no address would be left without a range."""
        own = list(_networks(found))
        others = [
            network
            for item in self._informer.lister.list()
            if item["metadata"]["name"] != name
            for network in _networks(item)
        ]
        if all(any(_inside(network, other) for other in others) for network in own):
            return True
        async with aclosing(scan(self._store, Range.prefix(self._addresses))) as addresses:
            async for stored in addresses:
                if MANAGED not in stored.value:
                    continue
                address = ipaddress.ip_network(orjson.loads(stored.value)["metadata"]["name"])
                if any(_inside(address, network) for network in own) and not any(
                    _inside(address, other) for other in others
                ):
                    return False
        return True


def _networks(obj: Object) -> Iterator[Network]:
    for cidr in obj["spec"].get("cidrs") or ():
        yield ipaddress.ip_network(cidr, strict=False)


def _inside(network: Network, other: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return isinstance(other, ipaddress.IPv4Network) and network.subnet_of(other)
    return isinstance(other, ipaddress.IPv6Network) and network.subnet_of(other)


def _protected(live: Object) -> Object:
    finalizers = [*(live["metadata"].get("finalizers") or ()), FINALIZER]
    return {**live, "metadata": {**live["metadata"], "finalizers": finalizers}}


def _released(live: Object) -> Object:
    left = [one for one in live["metadata"].get("finalizers") or () if one != FINALIZER]
    return {**live, "metadata": {**live["metadata"], "finalizers": left}}
