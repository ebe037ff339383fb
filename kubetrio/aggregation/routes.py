"""Which groups and versions are served by others: what APIServices say, as it is now.

Source: docs "Kubernetes API Aggregation Layer"; k8s.io/kube-aggregator/pkg/apiserver.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.informers.informer import EventHandler, Informer, Item, SharedInformerFactory
from kubetrio.machinery.names import GroupVersion
from kubetrio.runtime.groups import call_all
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]

GROUP = "apiregistration.k8s.io"
DEFAULT_PORT = 443
AVAILABLE = "Available"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An APIService that names a Service.

    Args:
        name: of the APIService.
        group_version: what is served there.
        namespace: of the Service.
        service: its name.
        port: one of its ports.
        ca: authorities of the server's certificate, PEM; those of the system when empty.
        insecure: whether its certificate is not checked.
        priorities: of the group and of the version.
        available: whether it was there at the last look.
    """

    name: str
    group_version: GroupVersion
    namespace: str
    service: str
    port: int
    ca: bytes
    insecure: bool
    priorities: tuple[int, int]
    available: bool

    @property
    def server(self) -> tuple[str, str, int]:
        """The Service and its port: several versions may be behind one."""
        return self.namespace, self.service, self.port

    @property
    def host(self) -> str:
        """Name that its certificate must be for."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def path(self) -> str:
        """Of its resources."""
        return path_of(self.group_version)


def path_of(group_version: GroupVersion) -> str:
    """The path below which a version's resources are."""
    root = "/apis" if group_version.group else "/api"
    return f"{root}/{group_version.api_version}"


def condition_of(service: Object) -> Object | None:
    """What an APIService says of its availability, None if it says nothing."""
    for one in (service.get("status") or {}).get("conditions") or ():
        if one.get("type") == AVAILABLE:
            condition: Object = one
            return condition
    return None


def is_available(service: Object) -> bool:
    """Whether an APIService says that it is available."""
    return (condition_of(service) or {}).get("status") == "True"


def group_version_of(service: Object) -> GroupVersion:
    """What an APIService is about."""
    spec = service["spec"]
    return GroupVersion(spec.get("group") or "", spec.get("version") or "")


def route_of(service: Object) -> Route | None:
    """Where an APIService leads, None for one of this server."""
    spec = service["spec"]
    reference = spec.get("service")
    if reference is None:
        return None
    return Route(
        name=service["metadata"]["name"],
        group_version=group_version_of(service),
        namespace=reference.get("namespace") or "",
        service=reference.get("name") or "",
        port=reference.get("port") or DEFAULT_PORT,
        ca=b64decode(spec.get("caBundle") or ""),
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        priorities=priorities_of(service),
        available=is_available(service),
    )


def priorities_of(service: Object) -> tuple[int, int]:
    """The priorities of an APIService's group and version."""
    spec = service["spec"]
    return spec.get("groupPriorityMinimum") or 0, spec.get("versionPriority") or 0


class Routes:
    """The routes of one server; empty until `sync`.

    Args:
        registry: what is served here.
        informers: follow APIServices.

    Attributes:
        kind: that of APIServices.
        informer: of them.
        by_version: routes by what they serve.
    """

    def __init__(self, registry: LiveRegistry, informers: SharedInformerFactory) -> None:
        self.kind: Kind = registry.resources[GROUP, "v1", "apiservices"]
        self.informer: Informer = informers.informer_for(self.kind)
        self.by_version: dict[GroupVersion, Route] = {}
        self._names: dict[str, Route] = {}
        self._subscribers: list[Callable[[str], None]] = []
        self.informer.add_event_handler(
            EventHandler(
                add=self._written,
                update=lambda _, item: self._written(item),
                delete=self._deleted,
            )
        )

    def subscribe(self, changed: Callable[[str], None]) -> None:
        """Have a function called with the name of each APIService that changed."""
        self._subscribers.append(changed)

    async def sync(self) -> None:
        """Wait until all that are stored are known.

        Raises:
            StoreError: they cannot be read.
        """
        await self.informer.sync()

    def get(self, name: str) -> Route | None:
        """The route of an APIService by its name."""
        return self._names.get(name)

    def all(self) -> list[Route]:
        """All routes, by name."""
        return [self._names[name] for name in sorted(self._names)]

    def local(self) -> Mapping[GroupVersion, tuple[int, int]]:
        """The priorities of versions that APIServices say are of this server."""
        return {
            group_version_of(one): priorities_of(one)
            for one in self.informer.lister.list()
            if one["metadata"]["name"] not in self._names
        }

    def _written(self, item: Item) -> None:
        # Most are of this server, and need no look.
        route = route_of(item.object) if b'"service"' in item.value else None
        name = item.key.rpartition("/")[2]
        self._forget(name)
        if route is not None:
            self._names[name] = self.by_version[route.group_version] = route
        self._tell(name)

    def _deleted(self, item: Item) -> None:
        name = item.key.rpartition("/")[2]
        self._forget(name)
        self._tell(name)

    def _forget(self, name: str) -> None:
        route = self._names.pop(name, None)
        if route is not None:
            del self.by_version[route.group_version]

    def _tell(self, name: str) -> None:
        call_all(self._subscribers, name)
