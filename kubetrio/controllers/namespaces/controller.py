"""Ends namespaces that are deleted, once nothing is in them.

kube-controller-manager waits five seconds before it looks at a namespace, for other servers to hear
of its deletion.  Here admission knows it at once.  What was admitted before that, and took longer
than the namespace lived, is looked for once more when it is gone.

Source: docs "Namespaces"; k8s.io/kubernetes/pkg/controller/namespace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.namespaces.conditions import RemainingContent, updated, wrong
from kubetrio.controllers.namespaces.content import ACCOUNT, Content
from kubetrio.controllers.namespaces.others import OtherServers
from kubetrio.informers.informer import Item
from kubetrio.informers.workqueue import RateLimiter
from kubetrio.machinery.status import ApiError, internal_error
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.observe.logs import Log
from kubetrio.resources import objects
from kubetrio.resources.writes import Target
from kubetrio.schema.wellknown import NAMESPACES
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]
log = Log("kubetrio.controllers")

FINALIZER = "kubernetes"
LONGEST_S = 60.0  # between two attempts that fail
SETTLE_S = 0.25  # how long further changes in a namespace are waited for
STRAGGLERS_S = 60.0  # as long as a write may take that was admitted before
FINALIZE_ATTEMPTS = 8
GONE = "gone/"
"""Begins keys of namespaces that ended; others are the names of such as are to end."""


class NamespaceController(Controller):
    """Deletes the content of namespaces; its keys are their names.

    Args:
        context: what it is made of.
    """

    name = "namespace-controller"
    workers = 10  # as kube-controller-manager's --concurrent-namespace-syncs

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", NAMESPACES]
        self._dispatcher = context.informers.dispatcher
        others = OtherServers(context.aggregation, context.registry, ACCOUNT)
        self._content = Content(context.registry, context.operations, self._store, others)
        self._who = as_service_account(ACCOUNT)
        # Namespaces that wait for what is in them; while there are some, all commits are looked at.
        self._waiting: set[str] = set()
        self._unsubscribe: Callable[[], None] | None = None
        self._unknown: set[str] = set()  # namespaces that other servers may have something in
        self.queue.limiter = RateLimiter(max_s=LONGEST_S)
        context.aggregation.documents.subscribe(self._others_changed)
        self.follow(self._kind, self._changed)

    def begin_anew(self) -> None:
        """See `Reconciler`; no client writes meanwhile, so that there are no stragglers."""
        self.queue.begin_anew(lambda key: key.startswith(GONE))

    def _changed(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._deleted(old)
        elif old is None:
            self._added(new)
        else:
            self._updated(old, new)

    def _added(self, item: Item) -> None:
        if "deletionTimestamp" in item.object["metadata"]:
            self.queue.add(item.object["metadata"]["name"])

    def _updated(self, old: Item, new: Item) -> None:
        # Who writes the finalizers of its spec may put this controller's own there once more.
        begins = "deletionTimestamp" not in old.object["metadata"]
        if begins or _finalizers(old) != _finalizers(new):
            self._added(new)

    def _deleted(self, item: Item) -> None:
        name = item.object["metadata"]["name"]
        self._wait(name, False)
        self.queue.add_after(GONE + name, STRAGGLERS_S)

    def _wait(self, namespace: str, waits: bool) -> None:
        """Have a namespace looked at when something in it changes, or no more."""
        if waits:
            self._waiting.add(namespace)
            if self._unsubscribe is None:
                self._unsubscribe = self._dispatcher.subscribe("/", self._committed)
        else:
            self._waiting.discard(namespace)
            self._unknown.discard(namespace)
            if not self._waiting and self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None

    def _committed(self, event: Event) -> None:
        if event.type is not EventType.CREATED:
            namespace = event.key.rsplit("/", 2)[1]
            if namespace in self._waiting:
                self.queue.add_after(namespace, SETTLE_S)

    def _others_changed(self) -> None:
        for namespace in self._unknown:
            self.queue.add(namespace)

    async def sync(self, key: str) -> None:
        """Delete what is in a namespace, and let it go if that is all gone.

        Args:
            key: its name, behind `GONE` where it has ended.

        Raises:
            ApiError: something could not be deleted or written.
            StoreError: the same, or it cannot be read.
        """
        if key.startswith(GONE):
            await self._look_for_stragglers(key.removeprefix(GONE))
            return
        namespace = await self._read(key)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            self._wait(key, False)
            return
        if not (namespace.get("spec") or {}).get("finalizers"):
            self._wait(key, False)
            return  # finalizers in its metadata are others'
        self._wait(key, True)  # whatever changes from now on is looked at again
        deleted = parse_time(namespace["metadata"]["deletionTimestamp"])
        elapsed_s = self._env.now() - deleted
        remains, wait_s = await self._content.delete(key, elapsed_s)
        if remains.unknown:
            self._unknown.add(key)
        else:
            self._unknown.discard(key)
        if wait_s:
            self.queue.add_after(key, wait_s // 2 + 1)
        await self._tell(namespace, remains)
        if problems := remains.problems():
            raise internal_error(f"cannot empty the namespace: {'; '.join(problems)}")
        if not wait_s:
            await self._finalize(namespace)
            self._wait(key, False)

    async def _read(self, name: str) -> Object | None:
        stored = await self._store.get(self._kind.key("", name))
        return None if stored is None else objects.read(self._kind, stored.value)

    async def _tell(self, namespace: Object, remains: RemainingContent) -> None:
        """Write the conditions, if they change."""
        status = namespace.get("status") or {}
        before = status.get("conditions") or []
        conditions = updated(before, wrong(remains), format_time(self._env.now()))
        if conditions == before and status.get("phase") == "Terminating":
            return
        told = {**status, "phase": "Terminating", "conditions": conditions}
        name = namespace["metadata"]["name"]
        target = Target(self._kind, "", name, "status")
        try:
            await self._operations.replace(target, _copy(namespace, status=told), self._who)
        except ApiError as error:  # it goes on all the same
            log.warning("cannot update status conditions", namespace=name, error=str(error))

    async def _finalize(self, namespace: Object) -> None:
        """Let a namespace go.

        Raises:
            ApiError: it cannot be written.
        """
        name, uid = namespace["metadata"]["name"], namespace["metadata"].get("uid")
        target = Target(self._kind, "", name, "finalize")
        for left in reversed(range(FINALIZE_ATTEMPTS)):
            now = await self._read(name)
            if now is None or now["metadata"].get("uid") != uid:
                return
            spec = now.get("spec") or {}
            kept = sorted({one for one in spec.get("finalizers") or () if one != FINALIZER})
            body = _copy(now, spec={**spec, "finalizers": kept})
            try:
                await self._operations.replace(target, body, self._who)
            except ApiError as error:
                if error.code == 404:
                    return
                if error.code != 409 or not left:
                    raise
            else:
                return

    async def _look_for_stragglers(self, name: str) -> None:
        """Delete what was stored in a namespace after it was found empty."""
        if await self._read(name) is not None:
            return
        remains, wait_s = await self._content.delete(name, STRAGGLERS_S, elsewhere=False)
        if remains.failures:
            raise internal_error(f"cannot empty the namespace: {'; '.join(remains.failures)}")
        if wait_s:
            self.queue.add_after(GONE + name, wait_s)


def _finalizers(item: Item) -> Any:
    return (item.object.get("spec") or {}).get("finalizers")


def _copy(namespace: Object, **members: Any) -> Object:
    """A namespace to write: what is written is changed on the way."""
    return {**namespace, "metadata": dict(namespace["metadata"]), **members}
