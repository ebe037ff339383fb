"""Tells users of owners that are in another namespace than their dependents.

Such an owner does not count: the object is collected.  kube-controller-manager says so with an
event.  Looking for the owner everywhere takes time, so it is done beside the collector, one object
at a time, and what comes too fast is not looked for: an event is a hint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import trio

from kubetrio.controllers.garbage.graph import Ref
from kubetrio.controllers.recorder import WARNING, EventRecorder, Reference
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.observe.logs import Log
from kubetrio.resources import objects
from kubetrio.resources.writes import Target
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import NAMESPACES
from kubetrio.store.errors import StoreError

Object = dict[str, Any]
log = Log("kubetrio.controllers")
MOST_WAITING = 100
REASON = "OwnerRefInvalidNamespace"


class Candidate(NamedTuple):
    """An object whose owner was not found.

    Args:
        involved: the object, as events name it.
        ref: its owner.
        kind: of the owner.
    """

    involved: Reference
    ref: Ref
    kind: Kind


class CrossNamespaceOwners:
    """Looks for owners in other namespaces.

    Args:
        registry: what is served.
        informers: of the server; they know all namespaces.
        recorder: of events.
    """

    def __init__(
        self, registry: LiveRegistry, informers: SharedInformerFactory, recorder: EventRecorder
    ) -> None:
        self._store = informers.store
        self._namespaces = informers.informer_for(registry.resources["", "v1", NAMESPACES])
        self._recorder = recorder
        self._send, self._receive = trio.open_memory_channel[Candidate](MOST_WAITING)

    def add(self, target: Target, meta: Object, ref: Ref, kind: Kind) -> None:
        """Have an owner looked for that was not found.

        Args:
            target: the object that names it.
            meta: its metadata.
            ref: the owner.
            kind: of the owner, whose objects are in namespaces.
        """
        kind_of_it = target.resource
        involved = Reference(
            kind_of_it.api_version, kind_of_it.kind, target.namespace, target.name, meta["uid"]
        )
        try:
            self._send.send_nowait(Candidate(involved, ref, kind))
        except trio.WouldBlock:
            pass  # an event is a hint

    async def run(self) -> None:
        """Look for owners until cancelled.

        Raises:
            StoreError: they cannot be read.
        """
        await self._namespaces.sync()
        while True:
            one = await self._receive.receive()
            try:
                owner = await self._elsewhere(one)
            except StoreError as error:
                log.warning("cannot look for an owner", owner=one.ref.name, error=str(error))
                continue
            if owner:
                self._report(one)

    def _report(self, one: Candidate) -> None:
        ref, namespace = one.ref, one.involved.namespace
        owner = (
            f"[{ref.api_version}/{ref.kind}, namespace: {namespace}, name: {ref.name}, "
            f"uid: {ref.uid}]"
        )
        text = f'ownerRef {owner} does not exist in namespace "{namespace}"'
        self._recorder.record(one.involved, WARNING, REASON, text)

    async def _elsewhere(self, one: Candidate) -> bool:
        for item in self._namespaces.indexer.list():
            namespace = item.key.rpartition("/")[2]
            if namespace == one.involved.namespace:
                continue
            stored = await self._store.get(one.kind.key(namespace, one.ref.name))
            if stored is not None and objects.uid(stored.value) == one.ref.uid:
                return True
        return False
