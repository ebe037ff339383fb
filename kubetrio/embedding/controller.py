"""Controllers over a client: informers, a queue, and a function that brings one object in order.

Source: controller-runtime for the words (manager, reconciler, request, owns); client-go for queues.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, overload

import trio

from kubetrio.client.client import Client
from kubetrio.embedding.informer import EVERYTHING, Informer, Selection, key_of
from kubetrio.informers.workqueue import ShutDown, WorkQueue
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import ObjectT

Object = dict[str, Any]
log = Log("kubetrio.embedding")


class ReconcileRequest(NamedTuple):
    """The object to look at.

    Args:
        namespace: empty for an object in no namespace.
        name: of the object.
    """

    namespace: str
    name: str


Reconcile = Callable[[ReconcileRequest], Awaitable[float | None]]
"""Brings an object in order; returns after how many seconds to look again, or None."""


class Controller:
    """One reconciler with its queue; made by `Manager.controller`.

    Args:
        name: in logs.
        reconcile: brings one object in order. What it raises is logged, and the object comes again
            later and later; an `ApiError` 409 is another client's write, and is not logged. After
            one with ``Retry-After``, such as 429, the object comes again when that has passed.
        workers: how many objects are worked on at a time; never one object twice.
    """

    def __init__(self, name: str, reconcile: Reconcile, workers: int = 1) -> None:
        self._name = name
        self._reconcile = reconcile
        self._workers = workers
        self._queue = WorkQueue(name)
        self._informers: list[Informer[Any]] = []

    def follows(self, informer: Informer[Any]) -> Controller:
        """Look at each object of an informer when it changes; returns this controller."""
        self._informers.append(informer)
        informer.on_change(lambda old, new: self._queue.add(key_of(new or old or {})))
        return self

    def owns(self, informer: Informer[Any], kind: str) -> Controller:
        """Look at the owner of each object of an informer; returns this controller.

        Args:
            informer: of what is owned.
            kind: of the owner, as ``ownerReferences`` say it; only controllers (``controller:
                true``) count.
        """
        self._informers.append(informer)

        def changed(old: Object | None, new: Object | None) -> None:
            meta = (new or old or {})["metadata"]
            for owner in meta.get("ownerReferences") or ():
                if owner.get("controller") and owner["kind"] == kind:
                    namespace = meta.get("namespace")
                    name = owner["name"]
                    self._queue.add(f"{namespace}/{name}" if namespace else name)

        informer.on_change(changed)
        return self

    def enqueue(self, name: str, namespace: str = "", *, after_s: float = 0.0) -> None:
        """Have an object looked at.

        Args:
            name: of the object.
            namespace: of the object, or empty.
            after_s: not before so many seconds.
        """
        self._queue.add_after(f"{namespace}/{name}" if namespace else name, after_s)

    async def settled(self) -> None:
        """Wait until nothing is to be looked at but what comes later."""
        await self._queue.settled()

    async def run(self) -> None:
        """Work until cancelled, as soon as the informers have their first list."""
        for informer in self._informers:
            await informer.synced.wait()
        async with trio.open_nursery() as nursery:
            for _ in range(self._workers):
                nursery.start_soon(self._work)

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except ShutDown:
                return
            try:
                await self._look_at(key)
            finally:
                self._queue.done(key)

    async def _look_at(self, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        try:
            again_s = await self._reconcile(ReconcileRequest(namespace, name))
        except Exception as error:  # noqa: BLE001  (an embedder's code; told, and tried again)
            if not (isinstance(error, ApiError) and error.code == 409):
                log.error(error, "Reconciler error", controller=self._name, object=key)
            if isinstance(error, ApiError) and error.retry_after:
                self._queue.add_after(key, error.retry_after)
            else:
                self._queue.add_rate_limited(key)
            return
        self._queue.forget(key)
        if again_s is not None:
            self._queue.add_after(key, again_s)


class Manager:
    """Informers and controllers that run together.

    Args:
        client: sends their requests, as its user.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._informers: dict[tuple[str, str, Selection], Informer[Any]] = {}
        self._controllers: list[Controller] = []

    @overload
    def informer(
        self,
        of: type[ObjectT],
        kind: Literal[""] = "",
        selection: Selection = EVERYTHING,
        *,
        resync_s: float = 0.0,
    ) -> Informer[ObjectT]: ...

    @overload
    def informer(
        self,
        of: str,
        kind: str,
        selection: Selection = EVERYTHING,
        *,
        resync_s: float = 0.0,
    ) -> Informer: ...

    def informer(
        self,
        of: type[Any] | str,
        kind: str = "",
        selection: Selection = EVERYTHING,
        *,
        resync_s: float = 0.0,
    ) -> Informer[Any]:
        """Return the informer of a kind, the same each time.

        Args:
            of: ``apiVersion`` of the objects, or their type; see `kubetrio.client.Client.kind`.
            kind: as objects say it, beside an ``apiVersion``.
            selection: which of them.
            resync_s: of a new informer, as of `Informer`.

        Raises:
            ApiError: 404, the kind is not served.
            TypeError: the type does not say which kind it is of.
        """
        found = self.client.kind(of, kind) if isinstance(of, str) else self.client.kind(of)
        key = (found.api_version, found.kind, selection)
        if key not in self._informers:
            made = Informer(self.client, found, selection, resync_s=resync_s)
            self._informers[key] = made
        return self._informers[key]

    def controller(
        self, name: str, reconcile: Reconcile, informer: Informer[Any], *, workers: int = 1
    ) -> Controller:
        """Add a controller of the objects of an informer.

        Args:
            name: in logs.
            reconcile: see `Controller`.
            informer: of the objects.
            workers: how many objects are worked on at a time.
        """
        made = Controller(name, reconcile, workers).follows(informer)
        self._controllers.append(made)
        return made

    async def run(self) -> None:
        """Run all of them until cancelled; what is added later does not run."""
        async with trio.open_nursery() as nursery:
            for informer in self._informers.values():
                nursery.start_soon(informer.run)
            for controller in self._controllers:
                nursery.start_soon(controller.run)

    async def settled(self) -> None:
        """Wait until all informers have their first list and no controller has work."""
        for informer in self._informers.values():
            await informer.synced.wait()
        for controller in self._controllers:
            await controller.settled()
