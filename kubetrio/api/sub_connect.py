"""Paths that lead to where a pod runs: logs, streams and proxies.

Everything that kube-apiserver decides itself is answered as it would; what a kubelet or a pod
would have to answer is a 501 that says so.

Source: API reference of PodLogOptions and the connect operations of Pod, Service and Node.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.api import options
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.verbs import Verb
from kubetrio.machinery.fielderrors import forbidden, not_supported, quote
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import ApiError, Cause, bad_request, invalid, resource_details
from kubetrio.resources import revising
from kubetrio.schema.registry import ResourceType

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Api

Object = dict[str, Any]
CONNECTED = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose bodies are not objects of the API."""
PROXIED = ("create", "delete", "get", "patch", "update")
STREAMS = ("All", "Stdout", "Stderr")
CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
SCHEMES = ("", "http", "https")


async def _admit(api: Api, request: Request, resource: ResourceType) -> None:
    info = request.info
    await api.lifecycle.admit(
        Attributes(
            operation=Operation.CONNECT,
            resource=resource,
            subresource=info.subresource,
            namespace=info.namespace,
            name=info.name,
            user=request.user,
            obj=dict(request.query),
            old=None,
            dry_run=False,
        )
    )


def _unsupported(resource: ResourceType, request: Request, where: str) -> NoReturn:
    info = request.info
    raise ApiError(
        501,
        "NotImplemented",
        f"{resource.resource}/{info.subresource} is not supported: "
        f"this server does not connect to {where}",
        resource_details(resource.group_resource, info.name),
    )


# ---------------------------------------------------------------------- pods


def container_of(pod: Object, wanted: str) -> str:
    """The container a request is about.

    Args:
        pod: the pod.
        wanted: name in the request, or empty for the only one.

    Raises:
        ApiError: 400.
    """
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names = {key: [each["name"] for each in spec.get(key) or ()] for key in CONTAINER_LISTS}
    if wanted:
        if not any(wanted in each for each in names.values()):
            raise bad_request(f"container {wanted} is not valid for pod {pod_name}")
        return wanted
    plain, first = names["containers"], names["initContainers"]
    if len(plain) == 1:
        return str(plain[0])
    text = f"a container name must be specified for pod {pod_name}"
    if plain:
        text += f", choose one of: [{' '.join(plain)}]"
    if first:
        text += f" or one of the init containers: [{' '.join(first)}]"
    raise bad_request(text)


def check_log_options(query: Mapping[str, str], name: str) -> None:
    """Check the query of a log request.

    Args:
        query: first value of each parameter.
        name: name of the pod.

    Raises:
        ApiError: 400 or 422.
    """
    numbers = {
        key: options.integer(query[key])
        for key in ("tailLines", "limitBytes", "sinceSeconds")
        if query.get(key)
    }
    causes: list[Cause] = []
    tail = numbers.get("tailLines", 0)
    if tail < 0:
        causes.append(invalid_value("tailLines", tail, "must be greater than or equal to 0"))
    limit = numbers.get("limitBytes", 1)
    if limit < 1:
        causes.append(invalid_value("limitBytes", limit, "must be greater than 0"))
    since = numbers.get("sinceSeconds")
    if since is not None and query.get("sinceTime"):
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(forbidden("", detail))
    elif since is not None and since < 1:
        causes.append(invalid_value("sinceSeconds", since, "must be greater than 0"))
    stream = query.get("stream")
    if stream is not None:
        if stream not in STREAMS:
            causes.append(not_supported("stream", stream, STREAMS))
        elif stream != "All" and "tailLines" in numbers:
            detail = "`tailLines` and specific `stream` are mutually exclusive for now"
            causes.append(forbidden("tailLines", detail))
    if causes:
        raise invalid(GroupKind("", "PodLogOptions"), name, causes)


async def log(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """Output of a container; nothing from a pod that has no node."""
    info = request.info
    check_log_options(request.query, info.name)
    pod = await revising.read(api.store, resource, info.namespace, info.name)
    container_of(pod, request.query.get("container", ""))
    if pod["spec"].get("nodeName"):
        await _on_node(api, request, resource, pod)
    return Response(204, b"", b"")


async def stream(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """A process in a container, or its terminal."""
    await _admit(api, request, resource)
    info = request.info
    pod = await revising.read(api.store, resource, info.namespace, info.name)
    container_of(pod, request.query.get("container", ""))
    await _on_node(api, request, resource, pod)


async def portforward(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """Ports of a pod."""
    await _admit(api, request, resource)
    info = request.info
    pod = await revising.read(api.store, resource, info.namespace, info.name)
    await _on_node(api, request, resource, pod)


async def _on_node(api: Api, request: Request, resource: ResourceType, pod: Object) -> NoReturn:
    """Where a pod's node would be asked: it must have one, and that must exist."""
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {request.info.name} does not have a host assigned")
    await revising.read(api.store, api.registry.resources["", "v1", "nodes"], "", node)
    _unsupported(resource, request, "kubelets")


# ---------------------------------------------------------------------- proxies


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


def proxyable(address: str) -> bool:
    """Whether a proxy may connect to an address: no loopback, link-local or multicast one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    local = parsed.is_loopback or parsed.is_link_local or parsed.is_multicast
    return not (local or parsed.is_unspecified)


async def proxy_pod(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """HTTP to a pod."""
    await _admit(api, request, resource)
    info = request.info
    target = split_target(info.name)
    if target is None:
        raise bad_request(f"invalid pod request {quote(info.name)}")
    pod = await revising.read(api.store, resource, info.namespace, target[1])
    if not proxyable((pod.get("status") or {}).get("podIP") or ""):
        raise bad_request("address not allowed")
    _unsupported(resource, request, "pods")


def _unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)


def _named_port(service: Object, port: str) -> str:
    """The name of a service's port that a request gives by name or number."""
    if not port.isascii() or not port.isdigit():
        return port
    for each in service["spec"].get("ports") or ():
        if each["port"] == int(port):
            return str(each.get("name") or "")
    name = service["metadata"]["name"]
    raise _unavailable(f"no service port {int(port)} found for service {quote(name)}")


def _has_endpoint(subsets: Sequence[Object], port: str) -> bool:
    return any(
        subset.get("addresses")
        and any((each.get("name") or "") == port for each in subset.get("ports") or ())
        for subset in subsets
    )


async def proxy_service(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """HTTP to one of a service's endpoints."""
    await _admit(api, request, resource)
    info = request.info
    target = split_target(info.name)
    if target is None:
        raise bad_request(f"invalid service request {quote(info.name)}")
    _, name, port = target
    if port.isascii() and port.isdigit():
        service = await revising.read(api.store, resource, info.namespace, name)
        port = _named_port(service, port)
    kind = api.registry.resources["", "v1", "endpoints"]
    endpoints = await revising.read(api.store, kind, info.namespace, name)
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        raise _unavailable(f"no endpoints available for service {quote(name)}")
    if not _has_endpoint(subsets, port):
        raise _unavailable(f"no endpoints available for service {quote(info.name)}")
    _unsupported(resource, request, "pods")


async def proxy_node(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """HTTP to a kubelet."""
    await _admit(api, request, resource)
    target = split_target(request.info.name)
    if target is None:
        raise bad_request(f"invalid node request {quote(request.info.name)}")
    await revising.read(api.store, resource, "", target[1])
    _unsupported(resource, request, "kubelets")


VERBS: Mapping[tuple[str, str, str, str], Verb] = {
    ("", "pods", "log", "get"): log,
    **{("", "pods", "exec", verb): stream for verb in ("get", "create")},
    **{("", "pods", "attach", verb): stream for verb in ("get", "create")},
    **{("", "pods", "portforward", verb): portforward for verb in ("get", "create")},
    **{("", "pods", "proxy", verb): proxy_pod for verb in PROXIED},
    **{("", "services", "proxy", verb): proxy_service for verb in PROXIED},
    **{("", "nodes", "proxy", verb): proxy_node for verb in PROXIED},
}
