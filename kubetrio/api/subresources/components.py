"""ComponentStatuses: what kube-apiserver knows about the components beside it (deprecated).

Scheduler and controller manager are asked at their usual ports on this machine, and the store is
read from.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import trio

from kubetrio.api.api import Api, Edge, Storage
from kubetrio.api.encoding.encoders import encoder_for
from kubetrio.api.options import list_options
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.subresources.unstored import unstored_list
from kubetrio.api.verbs import Verb
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import StoreError
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import COLLECTION, OBJECT

Object = dict[str, Any]
STORE = "etcd-0"
PORTS = {"scheduler": "10259", "controller-manager": "10257"}
COMPONENTS = (*PORTS, STORE)
PROBING = "kubetrio.api.proxy.probing"
ANSWERS_WITHIN_S = 2.0  # the store
"""What connects is imported, in a thread, when it is first asked for."""
STATUS = {True: "True", False: "False", None: "Unknown"}


async def component(storage: Storage, edge: Edge, name: str) -> Object:
    """The status of a component, asked for now."""
    if name == STORE:
        healthy, condition = await _store(storage)
    else:
        if PROBING not in sys.modules:
            await edge.env.run_blocking(importlib.import_module, PROBING)
        from kubetrio.api.proxy.probing import probe

        healthy, text = await probe(edge, PORTS[name])
        condition = {"message": text} if text else {}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": STATUS[healthy], **condition}],
    }


async def _store(storage: Storage) -> tuple[bool | None, Object]:
    try:
        await storage.store.probe(ANSWERS_WITHIN_S)
    except StoreError as error:
        return False, {"error": str(error)}
    return True, {"message": "ok"}


async def get(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """One component."""
    encoder = encoder_for(request, resource, OBJECT, edge.env.now, edge.cache)
    name = request.info.name
    if name not in COMPONENTS:
        raise not_found(GroupResource("", "componentstatus"), name)
    body = encoder.object(jsonwire.encode(await component(storage, edge, name)))
    return Response(200, body, encoder.content_type)


async def list_(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """The components that the selectors choose; there are no versions and no pages."""
    encoder = encoder_for(request, resource, COLLECTION, edge.env.now, edge.cache)
    chosen = list_options(request, resource).selection
    statuses: dict[str, Object] = {}

    async def ask(name: str) -> None:
        statuses[name] = await component(storage, edge, name)

    async with trio.open_nursery() as nursery:
        for name in COMPONENTS:
            nursery.start_soon(ask, name)
    objects = [statuses[name] for name in COMPONENTS]
    body = await unstored_list(
        encoder, (obj for obj in objects if not chosen or chosen.matches(obj))
    )
    return Response(200, body, encoder.content_type)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    storage, edge = api.storage, api.edge
    return {
        ("components", "get"): partial(get, storage, edge),
        ("components", "list"): partial(list_, storage, edge),
    }
