"""The graph of the Node authorizer, followed from the commit stream.

A change is in force before its writer has an answer.
"""

from __future__ import annotations

from typing import Any

from kubetrio.auth.node.graph import Graph
from kubetrio.auth.node.uses import ATTACHMENT, CLAIM, POD, SLICE, secrets_of_volume, uses_of_pod
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reflector import Reflector
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.registry import Registry
from kubetrio.schema.wellknown import POD_RESOURCE
from kubetrio.store.model import Event, EventType
from kubetrio.wire.gojson import parse_stored

Object = dict[str, Any]
NODE_NAME = b'"nodeName"'
"""What the bytes of each pod on a node have somewhere."""


class NodeGraphInformer:
    """A graph that follows what is stored.

    Args:
        dispatcher: the commit stream.
        registry: says where kinds are stored.
    """

    def __init__(self, dispatcher: Dispatcher, registry: Registry) -> None:
        self.graph = Graph()
        kinds = {kind.group_resource: kind for kind in registry.resources.values()}
        self._reflectors = [
            Reflector(dispatcher, kinds[resource].storage_prefix, changed, around=True)
            for resource, changed in (
                (POD_RESOURCE, self._pod),
                (GroupResource("", "persistentvolumes"), self._volume),
                (GroupResource("storage.k8s.io", "volumeattachments"), self._attachment),
                (GroupResource("resource.k8s.io", "resourceslices"), self._slice),
            )
            if resource in kinds
        ]

    async def start(self) -> None:
        """Read what is stored, and follow from then on.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        for reflector in self._reflectors:
            await reflector.sync()

    def _pod(self, event: Event) -> None:
        namespace, name = event.key.rsplit("/", 2)[1:]
        user = (POD, namespace, name)
        if event.type is EventType.DELETED or NODE_NAME not in event.value:
            self.graph.release(user)
            return
        pod = _parsed(event)
        node = (pod.get("spec") or {}).get("nodeName")
        if node:
            self.graph.bind(user, node, uses_of_pod(pod))
        else:
            self.graph.release(user)

    def _volume(self, event: Event) -> None:
        name = event.key.rpartition("/")[2]
        volume = {} if event.type is EventType.DELETED else _parsed(event)
        claim = (volume.get("spec") or {}).get("claimRef")
        if claim is None:
            self.graph.release_volume(name)
            return
        claim_key = (CLAIM, claim.get("namespace") or "", claim.get("name") or "")
        self.graph.bind_volume(name, claim_key, secrets_of_volume(volume))

    def _attachment(self, event: Event) -> None:
        self._of_node(event, ATTACHMENT)

    def _slice(self, event: Event) -> None:
        self._of_node(event, SLICE)

    def _of_node(self, event: Event, kind: str) -> None:
        user = (kind, "", event.key.rpartition("/")[2])
        obj = {} if event.type is EventType.DELETED else _parsed(event)
        node = (obj.get("spec") or {}).get("nodeName")
        if node:
            self.graph.bind(user, node)
        else:
            self.graph.release(user)


def _parsed(event: Event) -> Object:
    obj: Object = parse_stored(event.value)
    return obj
