"""ComponentStatuses: what kube-apiserver knows about the components beside it (deprecated).

Scheduler and controllers are parts of this server or not there at all; the store is always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubetrio.api.encoders import encoder_for
from kubetrio.api.options import list_options
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.verbs import Verb
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.resources.representation import ListMeta
from kubetrio.schema.registry import ResourceType
from kubetrio.store.model import KeyValue
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import COLLECTION, OBJECT

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Api

Object = dict[str, Any]
COMPONENTS = ("etcd-0",)


class _NoVersion(ListMeta):
    """Metadata of a list that was not read from the store."""

    def as_dict(self) -> Object:
        """Nothing."""
        return {}


def component(name: str) -> Object:
    """The status of a component that works."""
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
    }


async def get(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """One component."""
    encoder = encoder_for(request, resource, OBJECT, api.env.now, api.cache)
    if request.info.name not in COMPONENTS:
        raise not_found(GroupResource("", "componentstatus"), request.info.name)
    body = encoder.object(jsonwire.encode(component(request.info.name)))
    return Response(200, body, encoder.content_type)


async def list_(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """The components that the selectors choose; there are no versions and no pages."""
    encoder = encoder_for(request, resource, COLLECTION, api.env.now, api.cache)
    chosen = list_options(request, resource).selection
    objects = [component(name) for name in COMPONENTS]
    items = [
        KeyValue(obj["metadata"]["name"], jsonwire.encode(obj), 0, 0)
        for obj in objects
        if chosen is None or chosen.matches(obj)
    ]
    writer = encoder.list_writer()
    parts = (writer.open(_NoVersion(resource_version="")), writer.items(items), writer.close())
    return Response(200, b"".join(parts), encoder.content_type)


VERBS: Mapping[tuple[str, str, str, str], Verb] = {
    ("", "componentstatuses", "", "get"): get,
    ("", "componentstatuses", "", "list"): list_,
}
