"""Objects that each namespace has: the ServiceAccount ``default`` and the ConfigMap of authorities.

Source: docs "Managing Service Accounts" (ServiceAccount controller), KEP-1205 (kube-root-ca.crt);
k8s.io/kubernetes/pkg/controller/serviceaccount and .../certificates/rootcacertpublisher.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.rivals import Rivals
from kubetrio.informers.informer import Item
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import Target
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
        context: what it is made of.

    Attributes:
        plural: of the object's kind, in the core group.
        named: the object's name.
        account: service account of the controller.
    """

    plural: str
    named: str
    account: str

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", self.plural]
        self._who = as_service_account(self.account)
        self._rivals = Rivals(self.name, f"{self.plural}/{self.named}")
        self._namespaces = self.follow(
            context.registry.resources["", "v1", "namespaces"], self._namespace_changed
        )
        # Of the objects only those of one name matter; the first look at a namespace reads its.
        self._end = f"/{self.named}"
        context.informers.dispatcher.subscribe(self._kind.storage_prefix, self._changed)

    def _namespace_changed(self, _: Item | None, namespace: Item | None) -> None:
        if namespace is not None:
            self._seen(namespace)

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
        target = Target(self._kind, key, self.named)
        stored = await self._store.get(target.key)
        if stored is not None:
            if self.fits(orjson.loads(stored.value)):
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
            "metadata": {"name": self.named, "namespace": key},
        }
        try:
            await self._operations.create(target, self.corrected(body), self._who)
        except ApiError as error:
            # A namespace that goes away needs nothing.
            if error.code == 404 or _is_terminating(error):
                return
            if error.reason != "AlreadyExists":
                raise
            self.queue.add(key)  # another writer made it meanwhile: it may have to be corrected

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


class ServiceAccountsController(InEachNamespace):
    """Keeps the ServiceAccount ``default``."""

    name = "serviceaccount-controller"
    plural, named = "serviceaccounts", DEFAULT
    account = "service-account-controller"

    def fits(self, stored: Object) -> bool:  # noqa: ARG002  (of its name is all that counts)
        """Whatever it says, it is there."""
        return True

    def corrected(self, stored: Object) -> Object:
        """As it is."""
        return stored


class RootCAPublisher(InEachNamespace):
    """Keeps the ConfigMap ``kube-root-ca.crt``.

    Args:
        context: what it is made of.
    """

    name = "root-ca-certificate-publisher-controller"
    plural, named = "configmaps", ROOT_CA
    account = "root-ca-cert-publisher"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._root = context.trust.root
        self._root.listen(self.look_at_all)

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
