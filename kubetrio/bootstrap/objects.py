"""Objects every cluster has: system namespaces, the ``kubernetes`` Service and its endpoints.

Kept by facts in ``schemas/bootstrap.json``; what exists is left alone, except where it names the
server's own address.

Nothing of it is asked of what users configure (`admission.plugin.Base.about_own`).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from kubetrio.bootstrap.masterleases import MasterLeases
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.store.errors import Unreadable
from kubetrio.store.model import Store
from kubetrio.wire.report import Report

Object = dict[str, Any]
Correct = Callable[[Object, Object], Object]
"""What a stored object should become, from it and the one that is wanted."""

log = Log("kubetrio.bootstrap")
NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
# An APIService for each group and version that this server has.
KEPT_KINDS = ("APIService ",)
OWN_SERVICE = "Service default/kubernetes"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
OWN_ADDRESS = ("Endpoints default/kubernetes", "EndpointSlice default/kubernetes")
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
# The facts leave descriptions out; these are shown by ``kubectl describe``.
PRIORITY_CLASSES = {
    "system-node-critical": (
        "Used for system critical pods that must not be moved from their current node."
    ),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another "
        "node if necessary."
    ),
}
# Members of specs that the server fills in when it creates an object: its creator did not send
# them and does not own them.
FILLED_IN = {
    "Namespace": frozenset({"finalizers"}),
    "Service": frozenset({"clusterIPs", "ipFamilies"}),
}


def kept(stored: Object, wanted: Object) -> Object:  # noqa: ARG001  (a `Correct`)
    """What exists is left alone."""
    return stored


def replaced(stored: Object, wanted: Object) -> Object:
    """What exists becomes what is wanted."""
    return {**stored, **{key: value for key, value in wanted.items() if key != "metadata"}}


def kept_in_order(stored: Object, wanted: Object) -> Object:
    """What exists gets the spec that is wanted, unless a user took it over."""
    labels = stored["metadata"].get("labels") or {}
    managed = labels.get(AUTOMANAGED) == wanted["metadata"]["labels"][AUTOMANAGED]
    return {**stored, "spec": wanted["spec"]} if managed else stored


def leading_to(fact: Object, addresses: Sequence[str]) -> Object:
    """Endpoints, or a slice of them, that lead to some addresses.

    Args:
        fact: what leads to one address.
        addresses: of servers.
    """
    if "subsets" in fact:
        [subset] = fact["subsets"]
        return {**fact, "subsets": [{**subset, "addresses": [{"ip": ip} for ip in addresses]}]}
    [endpoint] = fact["endpoints"]
    return {**fact, "endpoints": [{**endpoint, "addresses": [ip]} for ip in addresses]}


def kept_ports(stored: Object, wanted: Object) -> Object:
    """What exists leads to the addresses that are wanted, in any order, and keeps its ports."""
    merged = replaced(stored, wanted)
    if _led_to(stored) == _led_to(wanted):
        return {**merged, **{name: stored[name] for name in _LEADING if name in stored}}
    if len(stored.get("subsets") or ()) == 1 and stored["subsets"][0].get("ports"):
        [subset] = merged["subsets"]
        return {**merged, "subsets": [{**subset, "ports": stored["subsets"][0]["ports"]}]}
    if stored.get("endpoints") and stored.get("ports"):
        return {**merged, "ports": stored["ports"]}
    return merged


_LEADING = ("subsets", "endpoints", "ports")


def _led_to(obj: Object) -> list[str] | None:
    """Addresses of endpoints in order, None for what is not in the form that servers write."""
    if "subsets" in obj:
        subsets: list[Object] = obj["subsets"] or []
        if len(subsets) != 1 or not subsets[0].get("ports"):
            return None
        return sorted(each["ip"] for each in subsets[0].get("addresses") or ())
    if not obj.get("ports"):
        return None
    return sorted(ip for each in obj.get("endpoints") or () for ip in each["addresses"])


class Bootstrap:
    """Makes the objects at start.

    An object that is refused is named in the log and left out, as kube-apiserver does: a server
    without it is of more use than none.

    Args:
        registry: what is served.
        operations: writes.
        store: reads.
        address: IP address of the server that clients reach.
        port: its port.
        service_ip: address of the ``kubernetes`` Service.
        now: wall clock, seconds since the epoch.
        servers: says which servers there are, None where this is the only one.
        reconciles: whether endpoints lead to servers; otherwise they are what others write.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        store: Store,
        *,
        address: str,
        port: int,
        service_ip: str,
        now: float,
        servers: MasterLeases | None = None,
        reconciles: bool = True,
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._store = store
        self._values = {"<advertise-address>": address, "10.0.0.1": service_ip}
        self._port = port
        self.servers = servers
        self._begins = False  # whether the ports of the endpoints are still those of another
        self._unreadable = ""  # what is wrong with the lease of a server, and has been told
        self._now = format_time(now)
        facts = builtin.parsed("bootstrap")
        self._led = OWN_ADDRESS if reconciles else ()
        self._own = {key: facts[key] for key in (OWN_SERVICE, *self._led)}

    async def run(self) -> None:
        """Create what is missing, correct what names another address.

        Raises:
            ApiError: the store takes no writes.
        """
        objects = builtin.parsed("bootstrap")
        for name in NAMESPACES:
            await self._ensure(objects[f"Namespace {name}"])
        for name, description in PRIORITY_CLASSES.items():
            await self._ensure({**objects[f"PriorityClass {name}"], "description": description})
        for key, fact in objects.items():
            if key.startswith(KEPT_KINDS):
                await self._ensure(fact, kept_in_order)
        await self._ensure(
            {**objects[f"ConfigMap kube-system/{TRACKING}"], "data": {"since": self._now[:10]}},
            self._dated,
        )
        await self.own_service(begins=True)

    def own_kinds(self) -> list[Kind]:
        """The kinds of the objects that are kept; all have one name."""
        return [self._resource(fact) for fact in self._own.values()]

    async def own_service(self, *, begins: bool = False) -> None:
        """Make the Service ``kubernetes`` if it is missing, and have its endpoints lead here.

        Where there are other servers, they lead to all of them; with the endpoint reconciler
        ``none`` they are left alone.  The ports are those of the server
        that began last: servers of one address differ in them, and would write without end.
        While the lease of a server cannot be read the endpoints stay as they are, as with
        kube-apiserver, which tells its log, too.

        Args:
            begins: whether the server begins.

        Raises:
            ApiError: the store takes no writes.
            StoreError: the same.
        """
        await self._free_address()
        await self._ensure(self._filled(self._own[OWN_SERVICE]))
        if self.servers is None:
            for key in self._led:
                await self._ensure(self._filled(self._own[key]), replaced)
            return
        self._begins |= begins
        try:
            await self.servers.renew()
            addresses = await self.servers.addresses()
        except Unreadable as error:
            if str(error) != self._unreadable:
                log.error(error, "the lease of a server cannot be read: the endpoints of the "
                          "Service kubernetes are left as they are")  # fmt: skip
            self._unreadable = str(error)
            return
        self._unreadable = ""
        for key in self._led:
            fact = leading_to(self._filled(self._own[key]), addresses)
            await self._ensure(fact, replaced if self._begins else kept_ports)
        self._begins = False

    # ------------------------------------------------------------------ what stored ones become

    def _dated(self, stored: Object, wanted: Object) -> Object:
        """A date that is none is replaced, any other stays."""
        try:
            dt.date.fromisoformat((stored.get("data") or {}).get("since", ""))
        except ValueError:
            return {**stored, "data": {**(stored.get("data") or {}), **wanted["data"]}}
        return stored

    # ------------------------------------------------------------------ writing

    def _filled(self, value: Any) -> Any:
        """A fact with its placeholders replaced."""
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if value == "<secure-port>":
            return self._port
        return self._values.get(value, value) if isinstance(value, str) else value

    def _resource(self, fact: Object) -> Kind:
        group_version = GroupVersion.parse(fact["apiVersion"])
        return self._registry.by_kind[GroupVersionKind(*group_version, fact["kind"])]

    async def _free_address(self) -> None:
        """Delete the address of the ``kubernetes`` Service when there is no such Service.

        A disk that got full between the two leaves it, and the Service would be refused for it.
        """
        services = self._registry.by_kind[GroupVersionKind("", "v1", "Service")]
        addresses = self._registry.by_kind[GroupVersionKind("networking.k8s.io", "v1", "IPAddress")]
        if await self._store.get(services.key("default", "kubernetes")) is not None:
            return
        target = Target(resource=addresses, namespace="", name=self._values["10.0.0.1"])
        stored = await self._store.get(target.key)
        if stored is not None:
            parent = orjson.loads(stored.value)["spec"]["parentRef"]
            if (parent.get("namespace"), parent["name"]) == ("default", "kubernetes"):
                with contextlib.suppress(ApiError):  # who deleted the Service did it just now
                    await self._operations.delete(target, DeleteOptions(), OWN)

    async def _ensure(self, fact: Object, correct: Correct = kept) -> None:
        """Make an object, or correct the stored one; a refusal is logged.

        Raises:
            ApiError: the store takes no writes.
        """
        try:
            await self._write(fact, correct)
        except ApiError as error:
            if error.code >= 500:
                raise
            log.warning("object not written", object=_shown(fact), reason=error.message)

    async def _write(self, fact: Object, correct: Correct) -> None:
        resource = self._resource(fact)
        kind = resource.group_version_kind
        obj = scheme_of(kind.group).decode(kind, fact, Report(), {})
        resource.rules.default(obj)
        meta = obj["metadata"]
        target = Target(resource=resource, namespace=meta.get("namespace", ""), name=meta["name"])
        item = await self._store.get(target.key)
        if item is None:
            try:
                await self._operations.create(target, obj, OWN, sent=_sent(obj))
            except ApiError as error:
                if error.code != 409:
                    raise
            return
        stored = orjson.loads(item.value)
        if correct(stored, obj) == stored:
            return

        def corrected(live: Object) -> Object:
            return {**correct(live, obj), "metadata": dict(live["metadata"])}

        await self._operations.patch(target, corrected, OWN)


def _shown(obj: Object) -> str:
    meta = obj["metadata"]
    return "/".join(filter(None, (obj["kind"], meta.get("namespace"), meta["name"])))


def _sent(wanted: Object) -> Object:
    """What a client would have sent to get an object."""
    sent = {key: value for key, value in wanted.items() if key != "status"}
    sent["metadata"] = dict(wanted["metadata"])
    filled_in = FILLED_IN.get(wanted["kind"])
    if filled_in:
        sent["spec"] = {k: v for k, v in wanted["spec"].items() if k not in filled_in}
    return sent


def service_ip(cidr: str) -> str:
    """Address of the ``kubernetes`` Service: the first one of the range."""
    return str(next(ipaddress.ip_network(cidr, strict=False).hosts()))
