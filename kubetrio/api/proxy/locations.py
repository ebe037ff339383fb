"""Where a request about a pod, a service or a node leads to: kubelets, pods and endpoints.

Source: kube-apiserver's proxies as documented in "Access Services Running on Clusters" (scheme,
name and port in one path element) and the API reference of Node (addresses, daemonEndpoints).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote as percent

from kubetrio.api.api import Edge, Storage
from kubetrio.backend.backends import PeerVerification
from kubetrio.backend.dial import DialError, NotAllowed, join_host_port
from kubetrio.backend.guard import proxyable
from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.resources import reading
from kubetrio.schema.wellknown import (
    CORE_ENDPOINTS,
    CORE_NODES,
    CORE_PODS,
    CORE_SERVICES,
    NODE_RESOURCE,
    SLICES,
)
from kubetrio.transport import Transport

Object = dict[str, Any]
KUBELET_PORT = 10250
SERVICE_LABEL = "kubernetes.io/service-name"
SCHEMES = ("", "http", "https")
PATH_SAFE = "$&+,/:;=@"  # what Go's net/url leaves alone in a path, beside letters and digits


@dataclass(frozen=True, slots=True)
class Location:
    """A place that answers HTTP.

    Args:
        host: address or name.
        port: TCP port, or empty for the scheme's own.
        trust: whose certificates count there; says the scheme, too.
        path: decoded path.
        query: text behind the question mark.
        addresses: of the host, found and judged; what is dialled, so that a name cannot be
            another address's the second time.
    """

    host: str
    port: str
    trust: PeerVerification
    path: str = ""
    query: str = ""
    addresses: tuple[str, ...] = ()

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return "http" if self.trust is PeerVerification.PLAIN else "https"

    @property
    def dial_port(self) -> str:
        """Port to connect to."""
        return self.port or ("80" if self.trust is PeerVerification.PLAIN else "443")

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL."""
        if self.port:
            return join_host_port(self.host, self.port)
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def target(self) -> str:
        """Path and query as they go on the wire."""
        path = percent(self.path or "/", safe=PATH_SAFE)
        return f"{path}?{self.query}" if self.query else path

    @property
    def url(self) -> str:
        """All of it."""
        return f"{self.scheme}://{self.authority}{self.target}"


# ---------------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A node's kubelet.

    Args:
        host: preferred address of the node.
        port: where it listens.
        features: what it says it can do (``status.declaredFeatures``).
        addresses: of the host, found and judged.
    """

    host: str
    port: str
    features: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    def location(
        self, path: str, query: str = "", trust: PeerVerification = PeerVerification.KUBELET
    ) -> Location:
        """A path of its API."""
        return Location(self.host, self.port, trust, path, query, self.addresses)


async def kubelet_of(storage: Storage, edge: Edge, name: str, asked: GroupResource) -> Kubelet:
    """The kubelet of a node.

    Args:
        storage: knows the nodes.
        edge: connects to them.
        name: of the node.
        asked: what the request is about; a 404 names that, as kube-apiserver's does.

    Raises:
        ApiError: 404 without the node, 500 when it has no address of a preferred type, 400 when
            the server must not connect to its address.
    """
    kubelet = await _kubelet(storage, edge, name, asked)
    where = await _judged(edge, kubelet.location(""))
    return replace(kubelet, addresses=where.addresses)


async def _judged(edge: Edge, where: Location) -> Location:
    """A location with its addresses; without, when there are none: connecting tells why.

    Raises:
        ApiError: 400, the server must not connect to one of them.
    """
    try:
        resolved = await edge.backends.lookup(where.host, where.dial_port, where.trust)
    except NotAllowed as error:
        raise bad_request(str(error)) from None
    except DialError:
        return where
    return replace(where, addresses=resolved)


async def connected(edge: Edge, where: Location) -> Transport:
    """A connection to a location.

    Raises:
        DialError: there is none.
    """
    return await edge.backends.connect(where.host, where.dial_port, where.trust, where.addresses)


async def _kubelet(storage: Storage, edge: Edge, name: str, asked: GroupResource) -> Kubelet:
    """See `kubelet_of`; its address is not looked at."""
    kind = storage.registry.resources[CORE_NODES]
    node = await reading.read(storage.store, kind, "", name, asked=asked)
    status = node.get("status") or {}
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    port = endpoint.get("Port") or 0
    return Kubelet(
        node_address(node, edge.backends.config.address_types),
        str(port if port > 0 else KUBELET_PORT),
        tuple(status.get("declaredFeatures") or ()),
    )


def node_address(node: Object, preferred: Sequence[str]) -> str:
    """The address of the first preferred type that a node has.

    Raises:
        ApiError: 500, there is none; kube-apiserver sends no reason.
    """
    addresses = (node.get("status") or {}).get("addresses") or ()
    for address_type in preferred:
        for each in addresses:
            if each["type"] == address_type:
                return str(each["address"])
    known = " ".join(f"{{{each['type']} {each['address']}}}" for each in addresses)
    text = f"no preferred addresses found; known addresses: [{known}]"
    raise ApiError(500, "", text)


async def node_location(storage: Storage, edge: Edge, text: str) -> Location:
    """Where a node's proxy leads to: its kubelet, or another port of the machine.

    Raises:
        ApiError: 400, 404 or 500.
    """
    scheme, name, port = _named("node", text)
    kubelet = await _kubelet(storage, edge, name, NODE_RESOURCE)
    if port in ("", kubelet.port):
        where = kubelet.location("")
    else:
        where = Location(kubelet.host, port, _trust(scheme))
    # A proxy leads away from this machine, also when it leads to a kubelet.
    try:
        resolved = await edge.backends.lookup(where.host, where.dial_port, PeerVerification.ANY)
    except NotAllowed as error:
        raise bad_request(str(error)) from None
    except DialError as error:
        raise bad_request(str(error).removeprefix("dial tcp: ")) from None
    return replace(where, addresses=resolved)


# ---------------------------------------------------------------------- pods and services


def split_target(text: str) -> tuple[str, str, str] | None:
    """Scheme, name and port of ``name``, ``name:port`` or ``scheme:name:port``; None if neither."""
    parts = text.split(":")
    match parts:
        case [name]:
            scheme, port = "", ""
        case [name, port]:
            scheme = ""
        case [scheme, name, port]:
            pass
        case _:
            return None
    return (scheme, name, port) if name and scheme in SCHEMES else None


def _named(what: str, text: str) -> tuple[str, str, str]:
    """See `split_target`.

    Raises:
        ApiError: 400, neither.
    """
    target = split_target(text)
    if target is None:
        raise bad_request(f"invalid {what} request {quote(text)}")
    return target


def _trust(scheme: str) -> PeerVerification:
    return PeerVerification.ANY if scheme == "https" else PeerVerification.PLAIN


def pod_addresses(pod: Object) -> list[str]:
    """Addresses of a pod, the first one first."""
    status = pod.get("status") or {}
    several = [each.get("ip") or "" for each in status.get("podIPs") or ()]
    return several or [status["podIP"]] if status.get("podIP") else several


async def pod_location(storage: Storage, edge: Edge, namespace: str, text: str) -> Location:
    """Where a pod's proxy leads to: the port asked for, or the first that a container declares.

    Raises:
        ApiError: 400 or 404.
    """
    scheme, name, port = _named("pod", text)
    kind = storage.registry.resources[CORE_PODS]
    pod = await reading.read(storage.store, kind, namespace, name)
    if not port:
        declared = (each["ports"][0] for each in pod["spec"]["containers"] if each.get("ports"))
        port = str(next((each["containerPort"] for each in declared), ""))
    address = next(iter(pod_addresses(pod)), "")
    if not proxyable(address):
        raise bad_request("address not allowed")
    return await _judged(edge, Location(address, port, _trust(scheme)))


def _unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)


def _named_port(service: Object, number: int) -> str:
    """The name of a service's port that a request gives by its number."""
    for each in service["spec"].get("ports") or ():
        if each["port"] == number:
            return str(each.get("name") or "")
    name = service["metadata"]["name"]
    raise _unavailable(f"no service port {number} found for service {quote(name)}")


async def service_location(storage: Storage, edge: Edge, namespace: str, text: str) -> Location:
    """Where a service's proxy leads to: one of its ready endpoints, by chance.

    Only endpoints that are pods of the namespace count, as for kube-apiserver: otherwise a
    user who may write endpoints could have the server connect to anything.

    Raises:
        ApiError: 400, 404 or 503.
    """
    scheme, name, port = _named("service", text)
    services = storage.registry.resources[CORE_SERVICES]
    try:
        number = gonumbers.parse_int(port)
    except ValueError:
        pass  # a name
    else:
        port = _named_port(await reading.read(storage.store, services, namespace, name), number)
    subsets = await _subsets(storage, namespace, name, services.group_resource)
    if not subsets:
        raise _unavailable(f"no endpoints available for service {quote(name)}")
    for subset in _shuffled(edge, subsets):
        ports = [p["port"] for p in subset.get("ports") or () if (p.get("name") or "") == port]
        for number in ports:
            for address in _shuffled(edge, subset.get("addresses") or ()):
                if await _is_pod(storage, namespace, address):
                    where = Location(address["ip"], str(number), _trust(scheme))
                    return await _judged(edge, where)
    raise _unavailable(f"no endpoints available for service {quote(text)}")


def _shuffled(edge: Edge, items: Sequence[Object]) -> Iterator[Object]:
    """All items, beginning with any of them."""
    if items:
        first = edge.env.rng.randrange(len(items))
        yield from items[first:]
        yield from items[:first]


async def _subsets(
    storage: Storage, namespace: str, name: str, asked: GroupResource
) -> Sequence[Object]:
    """Ready addresses and ports of a service.

    kube-apiserver 1.36 looks at Endpoints; without those, EndpointSlices count.
    """
    kind = storage.registry.resources[CORE_ENDPOINTS]
    try:
        endpoints = await reading.read(storage.store, kind, namespace, name, asked=asked)
    except ApiError as error:
        if error.code != 404:
            raise
        slices = await _slices(storage, namespace, name)
        if not slices:
            raise
        return [subset for each in slices if (subset := _as_subset(each))["addresses"]]
    return endpoints.get("subsets") or ()


async def _slices(storage: Storage, namespace: str, name: str) -> list[Object]:
    kind = storage.registry.resources[SLICES]
    return [
        each
        for each in await reading.read_all(storage.store, kind, namespace)
        if (each["metadata"].get("labels") or {}).get(SERVICE_LABEL) == name
        and each["addressType"] != "FQDN"
    ]


def _as_subset(endpoint_slice: Mapping[str, Any]) -> Object:
    """A slice in the shape of a subset of Endpoints."""
    addresses = [
        {"ip": each["addresses"][0], "targetRef": each.get("targetRef")}
        for each in endpoint_slice.get("endpoints") or ()
        if (each.get("conditions") or {}).get("ready") is not False
    ]
    ports = [each for each in endpoint_slice.get("ports") or () if each.get("port")]
    return {"addresses": addresses, "ports": ports}


async def _is_pod(storage: Storage, namespace: str, address: Object) -> bool:
    reference = address.get("targetRef") or {}
    if reference.get("namespace") != namespace:
        return False
    kind = storage.registry.resources[CORE_PODS]
    try:
        pod = await reading.read(storage.store, kind, namespace, reference.get("name") or "")
    except ApiError:  # 404: an endpoint that is left over
        return False
    return address["ip"] in pod_addresses(pod)


# ---------------------------------------------------------------------- paths


def clean_path(path: str) -> str:
    """A path without empty, ``.`` and ``..`` elements, its last slash kept; empty stays empty."""
    if not path:
        return ""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    cleaned = "/" + "/".join(parts)
    return cleaned + "/" if path.endswith("/") and parts else cleaned


def behind_proxy(location: Location, path: str, parts: Sequence[str], query: str) -> Location:
    """A location with what a proxy's URL names behind ``proxy``.

    Args:
        location: of the pod, service or node.
        path: decoded path of the request.
        parts: its elements from the resource on.
        query: text behind the question mark.
    """
    rest = "/".join(parts[3:])
    if rest:
        rest = "/" + rest
    if path.endswith("/") and not rest.endswith("/"):
        rest += "/"
    return replace(location, path=clean_path(rest), query=query)
