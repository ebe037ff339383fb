"""NodeMetrics and PodMetrics of simulated nodes, and their pods: made when they are asked for.

They are followed from the first request on; before it they cost nothing.  Errors are those of
metrics-server, which finds the pod or node first, and then what it uses.

Source: kubernetes-sigs/metrics-server/pkg/api (node.go, pod.go).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kubetrio.api.api import Api, Edge, Storage
from kubetrio.api.encoding.accepting import offered
from kubetrio.api.encoding.encoders import AnyEncoder, encoder_for
from kubetrio.api.options import list_options
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.subresources.unstored import unstored_list
from kubetrio.api.verbs import Verb
from kubetrio.kinds.core.nodedigests import PREFIX as NODES
from kubetrio.kinds.core.pods.digests import PREFIX as PODS
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.schema.kind import Kind
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import COLLECTION, OBJECT, Offer

if TYPE_CHECKING:
    from kubetrio.informers.digests import Digests
    from kubetrio.simulation.usage import MeteredNode, MeteredPod

Object = dict[str, Any]


async def _metered(storage: Storage) -> tuple[Digests[MeteredNode], Digests[MeteredPod]]:
    """What is kept of all nodes and pods."""
    from kubetrio.simulation.usage import metered_node, metered_pod

    nodes = storage.informers.digests(NODES, metered_node)
    pods = storage.informers.digests(PODS, metered_pod)
    await nodes.sync()
    await pods.sync()
    return nodes, pods


def _all_nodes(
    nodes: Digests[MeteredNode], pods: Digests[MeteredPod], now: float
) -> Iterator[Object]:
    from kubetrio.simulation.usage import node_metrics

    on_node: defaultdict[str, list[MeteredPod]] = defaultdict(list)
    for _, _, pod in pods.everywhere():
        on_node[pod.node].append(pod)
    for name, node in sorted(nodes.within("").items()):
        if node.reports:
            yield node_metrics(name, node, on_node[name], now)


def _all_pods(
    nodes: Digests[MeteredNode], pods: Digests[MeteredPod], namespace: str, now: float
) -> Iterator[Object]:
    """Those of a namespace, of all when that is empty."""
    from kubetrio.simulation.usage import pod_metrics

    reporting = {name for name, node in nodes.within("").items() if node.reports}
    chosen = [
        (where, name, pod)
        for where, name, pod in pods.everywhere()
        if pod.node in reporting and namespace in ("", where)
    ]
    chosen.sort(key=lambda one: one[:2])
    for where, name, pod in chosen:
        yield pod_metrics(where, name, pod, now)


def _encoder(edge: Edge, request: Request, resource: Kind, offer: Offer) -> AnyEncoder:
    offer = offered(resource, offer, cbor=edge.config.cbor)
    return encoder_for(request, resource, offer, edge.env.now, edge.cache)


async def node(storage: Storage, resource: Kind, name: str, now: float) -> Object:
    """What a node uses.

    Args:
        storage: has nodes and pods.
        resource: that of the metrics.
        name: of the node.
        now: wall clock, in seconds.

    Raises:
        ApiError: 404, there is no such node, or it says nothing.
    """
    from kubetrio.simulation.usage import node_metrics

    nodes, pods = await _metered(storage)
    kept = nodes.get("", name)
    if kept is None:
        raise not_found(GroupResource("", resource.resource), name)
    if not kept.reports:
        raise not_found(resource.group_resource, name)
    there = [pod for _, _, pod in pods.everywhere() if pod.node == name]
    return node_metrics(name, kept, there, now)


async def pod(storage: Storage, resource: Kind, namespace: str, name: str, now: float) -> Object:
    """What a pod uses.

    Args:
        storage: has nodes and pods.
        resource: that of the metrics.
        namespace: of the pod.
        name: of the pod.
        now: wall clock, in seconds.

    Raises:
        ApiError: 404, there is no such pod, or its node says nothing of it.
    """
    from kubetrio.simulation.usage import pod_metrics

    nodes, pods = await _metered(storage)
    kept = pods.get(namespace, name)
    if kept is None:
        raise not_found(GroupResource("", resource.resource), name)
    where = nodes.get("", kept.node)
    if where is None or not where.reports:
        raise not_found(resource.group_resource, f"{namespace}/{name}")
    return pod_metrics(namespace, name, kept, now)


async def get(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """What a node or a pod uses."""
    encoder = _encoder(edge, request, resource, OBJECT)
    info, now = request.info, edge.env.now()
    if resource.namespaced:
        obj = await pod(storage, resource, info.namespace, info.name, now)
    else:
        obj = await node(storage, resource, info.name, now)
    return Response(200, encoder.object(jsonwire.encode(obj)), encoder.content_type)


async def list_(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """What the nodes or pods use that selectors choose; there are no versions and no pages."""
    encoder = _encoder(edge, request, resource, COLLECTION)
    chosen = list_options(request, resource).selection
    now = edge.env.now()
    nodes, pods = await _metered(storage)
    if resource.namespaced:
        objects = _all_pods(nodes, pods, request.info.namespace, now)
    else:
        objects = _all_nodes(nodes, pods, now)
    if chosen is not None:
        objects = filter(chosen.matches, objects)
    return Response(200, await unstored_list(encoder, objects), encoder.content_type)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    storage, edge = api.storage, api.edge
    return {
        ("metrics", "get"): partial(get, storage, edge),
        ("metrics", "list"): partial(list_, storage, edge),
    }
