"""Objects that each namespace has: the ServiceAccount ``default`` and the ConfigMap of authorities.

Source: docs "Managing Service Accounts" (ServiceAccount controller), KEP-1205 (kube-root-ca.crt);
k8s.io/kubernetes/pkg/controller/serviceaccount and .../certificates/rootcacertpublisher.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import orjson

from kubetrio.auth.trust import RootBundle
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.rivals import Rivals
from kubetrio.informers.controller import Controller
from kubetrio.informers.informer import EventHandler, Item, SharedInformerFactory
from kubetrio.machinery.status import ApiError
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]

NAMESPACES = "/registry/namespaces/"
DEFAULT = "default"
ROOT_CA = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIBED = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. "
    "No other usage is guaranteed across distributions of Kubernetes clusters."
)


class InEachNamespace(Controller):
    """Keeps one object in each namespace that is not being deleted; its keys are namespaces.

    Args:
        name: in the table of controllers.
        plural: of the object's kind, in the core group.
        named: the object's name.
        account: service account of the controller.
        registry: what is served.
        operations: writes.
        informers: say what namespaces there are, and what becomes of the objects.
    """

    def __init__(
        self,
        name: str,
        plural: str,
        named: str,
        account: str,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
    ) -> None:
        self._kind = registry.resources["", "v1", plural]
        self._named = named
        self._operations = operations
        self._store = informers.store
        self._namespaces = informers.informer(NAMESPACES)
        super().__init__(name, [self._namespaces])
        self._who = as_service_account(account)
        self._rivals = Rivals(name, f"{plural}/{named}")
        handler = EventHandler(add=self._seen, update=lambda _, new: self._seen(new))
        self._namespaces.add_event_handler(handler)
        # Of the objects only those of one name matter; the first look at a namespace reads its.
        self._end = f"/{named}"
        informers.dispatcher.subscribe(self._kind.storage_prefix, self._changed)

    def _seen(self, namespace: Item) -> None:
        self.queue.add(namespace.key.removeprefix(NAMESPACES))

    def _changed(self, event: Event) -> None:
        if event.key.endswith(self._end) and event.type is not EventType.CREATED:
            self.queue.add(event.key.rsplit("/", 2)[1])

    def look_at_all(self) -> None:
        """Have every namespace looked at."""
        for namespace in self._namespaces.indexer.list():
            self._seen(namespace)

    async def sync(self, key: str) -> None:
        """Make the object of a namespace, or correct it.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
        """
        namespace = self._namespaces.lister.get(key)
        phase = ((namespace or {}).get("status") or {}).get("phase", "Active")
        if namespace is None or phase != "Active":
            return
        target = Target(self._kind, key, self._named)
        found = await self._store.get(target.key)
        if found is not None:
            if self.fits(orjson.loads(found.value)):
                return
            if wait_s := self._rivals.wait_s(key, self.wanted):
                self.queue.add_after(key, wait_s)
                return
            await self._operations.patch(target, self.corrected, self._who)
            self._rivals.corrected(key)
            return
        body = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": self._named, "namespace": key},
        }
        try:
            await self._operations.create(target, self.corrected(body), self._who)
        except ApiError as error:
            # A namespace that goes away needs nothing.
            if error.code == 404 or _is_terminating(error):
                return
            if error.reason != "AlreadyExists":
                raise
            self.queue.add(key)  # somebody else made it meanwhile: it may have to be corrected

    @property
    def wanted(self) -> str:
        """What an object should say, as far as that changes."""
        return ""

    @abstractmethod
    def fits(self, stored: Object) -> bool:
        """Whether an object may stay as it is."""

    @abstractmethod
    def corrected(self, stored: Object) -> Object:
        """What an object should be; the stored one is not changed."""


def _is_terminating(error: ApiError) -> bool:
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


class DefaultAccounts(InEachNamespace):
    """Keeps the ServiceAccount ``default``.

    Args:
        name: in the table of controllers.
        registry: what is served.
        operations: writes.
        informers: see `InEachNamespace`.
    """

    def __init__(
        self,
        name: str,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
    ) -> None:
        account = "service-account-controller"
        super().__init__(name, "serviceaccounts", DEFAULT, account, registry, operations, informers)

    def fits(self, stored: Object) -> bool:  # noqa: ARG002  (of its name is all that counts)
        """Whatever it says, it is there."""
        return True

    def corrected(self, stored: Object) -> Object:
        """As it is."""
        return stored


class RootCAPublisher(InEachNamespace):
    """Keeps the ConfigMap ``kube-root-ca.crt``.

    Args:
        name: in the table of controllers.
        registry: what is served.
        operations: writes.
        informers: see `InEachNamespace`.
        root: what it says.
    """

    def __init__(
        self,
        name: str,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
        root: RootBundle,
    ) -> None:
        account = "root-ca-cert-publisher"
        super().__init__(name, "configmaps", ROOT_CA, account, registry, operations, informers)
        self._root = root
        root.listen(self.look_at_all)

    @property
    def wanted(self) -> str:
        """The authorities."""
        return self._root.pem

    def fits(self, stored: Object) -> bool:
        """Whether it has the authorities and nothing else, and a description."""
        described = (stored["metadata"].get("annotations") or {}).get(DESCRIPTION)
        return bool(described) and stored.get("data") == {"ca.crt": self._root.pem}

    def corrected(self, stored: Object) -> Object:
        """With the authorities alone, and described; all else of its metadata stays."""
        meta = stored["metadata"]
        annotations = {**(meta.get("annotations") or {}), DESCRIPTION: DESCRIBED}
        return {
            **stored,
            "metadata": {**meta, "annotations": dict(sorted(annotations.items()))},
            "data": {"ca.crt": self._root.pem},
        }
