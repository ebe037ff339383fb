"""Keeps the Service ``kubernetes`` and its endpoints while the server runs.

kube-apiserver looks every ten seconds; here a write or deletion of one of them is put right at
once.  As there, a Service that exists is left as it is, and endpoints always lead to the server.

Source: k8s.io/kubernetes/pkg/controlplane/controller/kubernetesservice.
"""

from __future__ import annotations

from typing import NoReturn

import trio

from kubetrio.bootstrap.objects import Bootstrap
from kubetrio.informers.dispatch import Dispatcher

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
        try:
            while True:
                self._woken = trio.Event()
                await self._objects.own_service()
                if await self._missing():
                    await trio.sleep(AGAIN_S)
                else:
                    await self._woken.wait()
        finally:
            for unsubscribe in ends:
                unsubscribe()

    async def _missing(self) -> bool:
        store = self._dispatcher.store
        return None in [await store.get(key) for key in self._keys]
