"""Paths that lead to where a pod runs: streams and proxies.

This module decides where they lead and who may go there; `proxying` and `upgrading` carry the
bytes.

Source: connect operations of Pod, Service and Node in the API reference; KEP-4006 (streams over
WebSocket).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from kubetrio.admission.attributes import Operation
from kubetrio.api.admitting import admitted
from kubetrio.api.api import Api, Edge, Security, Storage, Writes, attributes_of
from kubetrio.api.proxy import translating
from kubetrio.api.proxy.containers import container_of
from kubetrio.api.proxy.locations import (
    Kubelet,
    behind_proxy,
    kubelet_of,
    node_location,
    pod_location,
    service_location,
)
from kubetrio.api.proxy.podlogs import log
from kubetrio.api.proxy.proxying import forward
from kubetrio.api.proxy.upgrading import TUNNELLED, tunnel, unwrapped
from kubetrio.api.request import Request, truthy
from kubetrio.api.response import AnyResponse
from kubetrio.api.verbs import Verb
from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery.asking import verdict_of
from kubetrio.machinery.identity import Decision
from kubetrio.machinery.status import bad_request, forbidden
from kubetrio.resources import reading
from kubetrio.schema import wellknown
from kubetrio.schema.kind import Kind

WEBSOCKETS = "ExtendWebSocketsToKubelet"
"""What a kubelet declares that takes every WebSocket as it comes."""
STREAM_SWITCHES = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
"""Query parameters here and at the kubelet."""


def connect_options(request: Request, resource: Kind) -> dict[str, Any]:
    """The options of a connection as admission sees them, such as ``PodExecOptions``."""
    info, query = request.info, request.query
    kind = resource.subresources[info.subresource].kind.kind
    chosen: dict[str, Any] = {"kind": kind, "apiVersion": "v1"}
    if info.subresource == "proxy":
        path = info.path.partition(f"/{info.name}/proxy")[2]
        return {**chosen, "path": path} if path else chosen
    if info.subresource == "portforward":
        ports = [int(each) for each in request.query_list("ports") if each.isdecimal()]
        return {**chosen, "ports": ports} if ports else chosen
    for name, _ in STREAM_SWITCHES:
        if truthy(query.get(name, "0")):
            chosen[name] = True
    if query.get("container"):
        chosen["container"] = query["container"]
    if info.subresource == "exec" and (command := list(request.query_list("command"))):
        chosen["command"] = command
    return chosen


async def _admit(writes: Writes, request: Request, resource: Kind) -> None:
    chosen = connect_options(request, resource)
    async with admitted(writes, request, resource, chosen, operation=Operation.CONNECT):
        pass


# ---------------------------------------------------------------------- streams


async def _may_create(security: Security, request: Request) -> None:
    """Ask for the right to create, whatever the method.

    A WebSocket begins with GET, and who may read pods may not yet run something in them.

    Raises:
        ApiError: 403.
    """
    if request.info.verb == "create":
        return
    asked = replace(attributes_of(request), verb="create")
    verdict = await verdict_of(security.authorizer.authorize, asked)
    if verdict.decision is not Decision.ALLOW:
        resource = request.resource
        if resource is None:
            raise AssertionError("decode finds the resource")
        raise forbidden(resource.group_resource, request.info.name, verdict.reason)


async def _pod_and_kubelet(
    storage: Storage, edge: Edge, request: Request, resource: Kind, *, container: bool
) -> tuple[str, Kubelet]:
    """The path of a pod, or of one of its containers, at its kubelet."""
    info = request.info
    pod = await reading.read(storage.store, resource, info.namespace, info.name)
    path = f"{info.namespace}/{info.name}"
    if container:
        path += "/" + container_of(pod, request.query.get("container", ""))
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {info.name} does not have a host assigned")
    return path, await kubelet_of(storage, edge, node, resource.group_resource)


def streams_of(request: Request) -> translating.Streams:
    """The streams that a client wants of a process."""
    return translating.Streams(
        **{here: truthy(request.query.get(here, "0")) for here, _ in STREAM_SWITCHES}
    )


def stream_query(request: Request) -> str:
    """The query that tells a kubelet what to run, and which streams to open."""
    query = request.query
    pairs = [(there, "1") for here, there in STREAM_SWITCHES if truthy(query.get(here, "0"))]
    pairs += [("command", word) for word in request.query_list("command")]
    return urlencode(sorted(pairs, key=lambda pair: pair[0]))


def _needs_upgrade(request: Request) -> None:
    if not request.upgrade:
        raise bad_request("Upgrade request required")


async def stream(
    storage: Storage,
    security: Security,
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
) -> AnyResponse:
    """A process in a container, or its terminal."""
    await _admit(writes, request, resource)
    await _may_create(security, request)
    path, kubelet = await _pod_and_kubelet(storage, edge, request, resource, container=True)
    _needs_upgrade(request)
    where = kubelet.location(f"/{request.info.subresource}/{path}", stream_query(request))
    if translating.wanted(request) and WEBSOCKETS not in kubelet.features:
        return translating.translate(edge, request, where, streams_of(request))
    return await tunnel(edge, request, where)


async def portforward(
    storage: Storage,
    security: Security,
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
) -> AnyResponse:
    """Ports of a pod."""
    await _admit(writes, request, resource)
    await _may_create(security, request)
    ports = forwarded_ports(request.query_list("ports"))
    path, kubelet = await _pod_and_kubelet(storage, edge, request, resource, container=False)
    _needs_upgrade(request)
    query = urlencode({"port": ",".join(map(str, ports))}) if ports else ""
    where = kubelet.location(f"/portForward/{path}", query)
    tunnelled = tunnelled_protocols(request)
    if tunnelled and WEBSOCKETS not in kubelet.features:
        return await unwrapped(edge, request, where, tunnelled)
    return await tunnel(edge, request, where)


def tunnelled_protocols(request: Request) -> list[str]:
    """Protocols that a client offers to tunnel through a WebSocket, as they are called without."""
    if request.header(b"upgrade").lower() != "websocket":
        return []
    offered = (name.strip() for name in request.header(b"sec-websocket-protocol").split(","))
    return [
        name.removeprefix(TUNNELLED)
        for name in offered
        if name.startswith(TUNNELLED) and name.endswith(".k8s.io")
    ]


def forwarded_ports(values: Sequence[str]) -> list[int]:
    """The ports that a request names, in lists separated by commas.

    Args:
        values: each ``ports`` of the query.

    Raises:
        ApiError: 400 in the words of Go's ``strconv``.
    """
    try:
        return [
            gonumbers.parse_uint(each, bits=16) for value in values for each in value.split(",")
        ]
    except ValueError as error:
        raise bad_request(f"cannot convert to []int32: {error}") from None


# ---------------------------------------------------------------------- proxies


async def proxy(
    storage: Storage, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """HTTP to a pod, to an endpoint of a service, or to a kubelet."""
    await _admit(writes, request, resource)
    info = request.info
    match resource.resource:
        case wellknown.PODS:
            location = await pod_location(storage, edge, info.namespace, info.name)
        case wellknown.SERVICES:
            location = await service_location(storage, edge, info.namespace, info.name)
        case _:
            location = await node_location(storage, edge, info.name)
    location = behind_proxy(location, info.path, info.parts, request.raw_query)
    passed_on = tunnel if request.upgrade else forward
    return await passed_on(edge, request, location)


def verbs_of(api: Api) -> Mapping[str, Verb]:
    """Return what answers each subresource, bound to the parts that it works with.

    Args:
        api: the parts.
    """
    storage, security, writes, edge = api.storage, api.security, api.writes, api.edge
    streaming = partial(stream, storage, security, writes, edge)
    return {
        "attach": streaming,
        "exec": streaming,
        "log": partial(log, storage, edge),
        "portforward": partial(portforward, storage, security, writes, edge),
        "proxy": partial(proxy, storage, writes, edge),
    }
