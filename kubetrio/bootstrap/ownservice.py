"""Keeps the Service ``kubernetes`` and its endpoints while the server runs.

kube-apiserver looks every ten seconds; here a write or deletion of one of them is put right at
once.  As there, a Service that exists is left as it is, and endpoints always lead to the server,
and to the others where several share a store (`masterleases`): a server that comes or goes is in
them, or is not any more, at once.

Source: k8s.io/kubernetes/pkg/controlplane/controller/kubernetesservice.
"""

from __future__ import annotations

from math import inf
from typing import NoReturn

import trio

from kubetrio.bootstrap.masterleases import PREFIX, RENEW_S
from kubetrio.bootstrap.objects import Bootstrap
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.model import Event, EventType

NAMESPACE, NAME = "default", "kubernetes"
AGAIN_S = 1.0  # later, where one of them could not be made


class OwnService:
    """The keeper.

    Args:
        objects: makes them.
        dispatcher: the commit stream, which says when to look.
    """

    def __init__(self, objects: Bootstrap, dispatcher: Dispatcher) -> None:
        self._objects = objects
        self._dispatcher = dispatcher
        self._keys = [kind.key(NAMESPACE, NAME) for kind in objects.own_kinds()]
        self._woken = trio.Event()

    async def run(self) -> NoReturn:
        """Look now, and whenever one of them was written.

        Raises:
            ApiError: the store takes no writes.
            StoreError: it cannot be read.
        """
        ends = [self._dispatcher.subscribe(key, lambda _: self._woken.set()) for key in self._keys]
        shared = self._objects.servers is not None
        if shared:
            ends.append(self._dispatcher.subscribe(PREFIX, self._server_changed))
        try:
            while True:
                self._woken = trio.Event()
                await self._objects.own_service()
                if await self._missing():
                    await trio.sleep(AGAIN_S)
                else:
                    with trio.move_on_after(RENEW_S if shared else inf):
                        await self._woken.wait()
        finally:
            for unsubscribe in ends:
                unsubscribe()

    def _server_changed(self, event: Event) -> None:
        """Look when a server has come or gone, not when one has said again that it is there."""
        if event.type is not EventType.UPDATED:
            self._woken.set()

    async def _missing(self) -> bool:
        store = self._dispatcher.store
        return None in [await store.get(key) for key in self._keys]
