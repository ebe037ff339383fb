"""Objects every cluster has: system namespaces, the ``kubernetes`` Service and its endpoints.

Kept by facts in ``schemas/bootstrap.json``; what exists is left alone, except where it names the
server's own address.
"""

from __future__ import annotations

import ipaddress
from typing import Any

import orjson

from kubetrio.auth.identity import MASTERS, UserInfo
from kubetrio.logs import Log
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.resources.defaults import apply_defaults
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.lifecycle import Lifecycle
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema import builtin
from kubetrio.schema.registry import Registry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.store.model import Store

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
CONFLICT = 409
SERVER = UserInfo("system:apiserver", groups=(MASTERS,))
NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
# An APIService for each group and version that this server has.
KEPT_KINDS = ("APIService ",)
OWN_ADDRESS = (
    "Service default/kubernetes",
    "Endpoints default/kubernetes",
    "EndpointSlice default/kubernetes",
)


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
# Members of specs that the server fills in when it creates an object: whoever made it did not send
# them and does not own them.
FILLED_IN = {
    "Namespace": frozenset({"finalizers"}),
    "Service": frozenset({"clusterIPs", "ipFamilies"}),
}


class Bootstrap:
    """Makes the objects at start.

    Args:
        registry: what is served.
        lifecycle: writes.
        store: reads.
        address: IP address of the server that clients reach.
        port: its port.
        service_ip: address of the ``kubernetes`` Service.
        now: wall clock as a Kubernetes time.
    """

    def __init__(
        self,
        registry: Registry,
        lifecycle: Lifecycle,
        store: Store,
        *,
        address: str,
        port: int,
        service_ip: str,
        now: str,
    ) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._store = store
        self._values = {"<advertise-address>": address, "10.0.0.1": service_ip}
        self._port = port
        self._now = now

    async def run(self) -> None:
        """Create what is missing, correct what names another address."""
        objects = builtin.load("bootstrap")
        for name in NAMESPACES:
            await self._ensure(objects[f"Namespace {name}"], keep=True)
        for name, description in PRIORITY_CLASSES.items():
            fact = {**objects[f"PriorityClass {name}"], "description": description}
            await self._ensure(fact, keep=True)
        for key, fact in objects.items():
            if key.startswith(KEPT_KINDS):
                await self._ensure(fact, keep=True)
        for key in OWN_ADDRESS:
            await self._ensure(self._filled(objects[key]), keep=False)

    def _filled(self, value: Any) -> Any:
        """A fact with its placeholders replaced."""
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if value == "<secure-port>":
            return self._port
        return self._values.get(value, value) if isinstance(value, str) else value

    async def _ensure(self, fact: Object, *, keep: bool) -> None:
        group_version = GroupVersion.parse(fact["apiVersion"])
        kind = GroupVersionKind(*group_version, fact["kind"])
        resource = self._registry.by_kind[kind]
        scheme = scheme_of(kind.group)
        wanted = scheme.decode(kind, fact, [], {})
        apply_defaults(resource, wanted)
        meta = wanted["metadata"]
        target = Target(resource=resource, namespace=meta.get("namespace", ""), name=meta["name"])
        who = WriteOptions(user=SERVER, field_manager="kube-apiserver", own=True)
        found = await self._store.get(target.key)
        if found is None:
            sent = _sent(wanted)
            FieldManager(resource, who.field_manager, self._now).created(sent)
            wanted["metadata"] = sent["metadata"]
            try:
                await self._lifecycle.create(target, wanted, who)
            except ApiError as error:
                _tell(target, error)
            return
        if keep:
            return
        old = orjson.loads(found.value)
        if all(old.get(key) == wanted[key] for key in wanted if key != "metadata"):
            return

        fields = FieldManager(resource, who.field_manager, self._now)

        async def change(stored: Object | None) -> Object:
            base = stored or wanted
            new = {**base, **{k: v for k, v in wanted.items() if k != "metadata"}}
            new["metadata"] = dict(base["metadata"])
            fields.updated(base, new)
            return new

        try:
            await self._lifecycle.update(target, change, who)
        except ApiError as error:
            _tell(target, error)


def _tell(target: Target, error: ApiError) -> None:
    """Go on without an object that was refused, by an admission policy for instance.

    A server that did not start could not be told otherwise.
    """
    if error.code != CONFLICT:  # somebody else was faster
        log.warning("object not written", key=target.key, reason=error.message)


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
