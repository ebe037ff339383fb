"""Discovery and OpenAPI of other servers, asked for now and then and kept.

What cannot be had is shown as stale; what cannot be believed is as good as absent.  All of it is
bounded, since other servers may say what they like.

Source: k8s.io/kube-aggregator/pkg/apiserver (handler_discovery), pkg/controllers/openapi and
openapiv3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import trio

from kubetrio.aggregation.frontproxy import AGGREGATOR, Fetched, FrontProxy, TooLarge, Unusable
from kubetrio.aggregation.routes import Route, Routes
from kubetrio.aggregation.servicelookup import Unresolved
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import BackendError
from kubetrio.env import Env
from kubetrio.informers.reconciler import Later, Reconciler
from kubetrio.informers.workqueue import RateLimiter, WorkQueue
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.jsonvalues import is_deeper
from kubetrio.machinery.names import GroupVersion
from kubetrio.observe.logs import Log
from kubetrio.runtime.groups import call_all
from kubetrio.schema.aggregated import (
    AggregatedDocuments,
    AggregatedVersion,
    checked,
    from_resource_list,
)
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.swagger_merge import part_of
from kubetrio.wire import jsonpieces

Object = dict[str, Any]
ServicePort = tuple[str, str, int]

log = Log("kubetrio.aggregation")
DISCOVERY, OPENAPI = "discovery-manager", "open_api_aggregation_controller"
REFRESH_S = 60.0
DISCOVERY_BASE_S = 0.5
DISCOVERY_MAX_S = 60.0
OPENAPI_MAX_S = 3600.0
FIRST_S = 1.0
DISCOVERY_LIMIT_S, OPENAPI_LIMIT_S = 5.0, 60.0
DISCOVERY_BYTES, OPENAPI_BYTES = 4 << 20, 16 << 20
MOST_DEPTH = 200
"""Of a document: orjson prints 254 levels, and what is made of it has some more."""
KEPT_BYTES = 4 << 20
"""Of OpenAPI of one version, as JSON: all of them are put into one document."""
KIND = "APIGroupDiscoveryList"
ACCEPTED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as={KIND}" for version in ("v2", "v2beta1")
)
OPENAPI_USER = UserInfo("system:aggregator")
OK, UNCHANGED, NOT_FOUND, UNAVAILABLE = 200, 304, 404, 503
NOT_THERE = (Unresolved, DialError, BackendError, TooLarge, Unusable)


class NotHad(Later):
    """A document cannot be had; it is asked for again later."""


@dataclass(slots=True)
class _Known:
    """What a server said of all that it serves."""

    versions: dict[GroupVersion, Object] = field(default_factory=dict)
    etag: str = ""
    at: float = -1.0


class OtherDocuments:
    """What is known of the documents of other servers.

    Args:
        routes: which there are.
        registry: what is served here.
    """

    def __init__(self, routes: Routes, registry: LiveRegistry) -> None:
        self._routes = routes
        self._registry = registry
        self._entries: dict[str, Object] = {}
        self._indexed: dict[str, dict[str, str]] = {}
        self._swaggers: dict[str, Object] = {}
        self._made: AggregatedDocuments | None = None
        self._subscribers: list[Callable[[], None]] = []
        routes.subscribe(self._written)

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Have a function called when something of it changed; it must return at once."""
        self._subscribers.append(changed)

    def current(self) -> AggregatedDocuments:
        """All of it, as it is now."""
        if self._made is None:
            routes = sorted(self._routes.all(), key=_by_priority)
            indexed: dict[str, str] = {}
            for route in reversed(routes):
                indexed.update(self._indexed.get(route.name) or {})
            self._made = AggregatedDocuments(
                versions={
                    route.group_version: AggregatedVersion(route.priorities, self._entry(route))
                    for route in routes
                },
                local=self._routes.local,
                indexed=indexed,
                swaggers=tuple(
                    self._swaggers[route.name] for route in routes if route.name in self._swaggers
                ),
            )
        return self._made

    def route_of_document(self, path: str) -> Route | None:
        """Who has a document of OpenAPI v3."""
        for route in sorted(self._routes.all(), key=_by_priority):
            if path in self._indexed.get(route.name, ()):
                return route
        return None

    def _entry(self, route: Route) -> Object:
        unknown = {"version": route.group_version.version, "freshness": "Stale"}
        return self._entries.get(route.name, unknown)

    def set_entry(self, name: str, entry: Object) -> None:
        """Note what the aggregated discovery document says of a version."""
        if self._routes.get(name) is not None and self._entries.get(name) != entry:
            self._entries[name] = entry
            self._remake()

    def set_openapi(self, name: str, indexed: dict[str, str], swagger: Object | None) -> None:
        """Note what there is of OpenAPI.

        Args:
            name: of the APIService.
            indexed: documents of v3, and where they are.
            swagger: of v2, its own paths alone; None to leave it as it is.
        """
        same = self._indexed.get(name, {}) == indexed and swagger is None
        self._indexed[name] = indexed
        if swagger is not None:
            self._swaggers[name] = swagger
        if not same:
            self._remake()

    def _written(self, name: str) -> None:
        if self._routes.get(name) is None:
            gone = [kept.pop(name, None) for kept in (self._entries, self._indexed, self._swaggers)]
            shown = self._made is not None and self._made.versions
            if not (any(gone) or shown or self._routes.by_version) and self._served_here(name):
                return  # one of this server, and no other server has any
        self._remake()

    def _served_here(self, name: str) -> bool:
        """Whether this server has what an APIService of this name is about."""
        version, _, group = name.partition(".")
        return GroupVersion(group, version) in self._registry.current.by_group_version

    def _remake(self) -> None:
        self._made = None
        call_all(self._subscribers)


def _by_priority(route: Route) -> tuple[int, str, int, str]:
    group, version = route.priorities
    return -group, route.group_version.group, -version, route.name


class Discovery(Reconciler):
    """Keeps what other servers say of their resources.

    Args:
        routes: which there are.
        proxy: asks them.
        documents: where it is noted.
    """

    def __init__(self, routes: Routes, proxy: FrontProxy, documents: OtherDocuments) -> None:
        super().__init__(DISCOVERY, [routes.informer], workers=2)
        self.queue = WorkQueue(DISCOVERY, RateLimiter(DISCOVERY_BASE_S, DISCOVERY_MAX_S))
        self._routes = routes
        self._proxy = proxy
        self._documents = documents
        self._known: dict[ServicePort, _Known] = {}
        self._dirty: dict[str, float] = {}
        routes.subscribe(self._changed)

    def _changed(self, name: str) -> None:
        if self._routes.get(name) is not None or name in self._dirty:
            self._dirty[name] = trio.current_time()
            self.queue.add(name)

    async def sync(self, key: str) -> None:
        """Ask the server of an APIService what it has.

        Raises:
            NotHad: it does not say; what is shown of it is stale.
        """
        route = self._routes.get(key)
        if route is None:
            self._dirty.pop(key, None)
            used = {one.server for one in self._routes.all()}
            for server in [server for server in self._known if server not in used]:
                del self._known[server]
            return
        entry: Object = {"version": route.group_version.version}
        try:
            with trio.fail_after(DISCOVERY_LIMIT_S):
                versions = await self._versions(route)
        except (*NOT_THERE, NotHad, ValueError, trio.TooSlowError) as error:
            self._documents.set_entry(key, {**entry, "freshness": "Stale"})
            raise NotHad(f"{type(error).__name__}: {error}") from error
        entry |= versions.get(route.group_version) or {}
        self._documents.set_entry(key, {**entry, "freshness": "Current"})
        self._dirty[key] = trio.current_time() + REFRESH_S
        self.queue.add_after(key, REFRESH_S)

    async def _versions(self, route: Route) -> dict[GroupVersion, Object]:
        known = self._known.setdefault(route.server, _Known())
        if known.at > self._dirty.get(route.name, 0.0):
            return known.versions  # asked for another version of it just now
        asked = trio.current_time()
        headers = [(b"Accept", ACCEPTED.encode())]
        if known.etag:
            headers.append((b"If-None-Match", known.etag.encode("latin-1", "replace")))
        answer = await self._proxy.fetch(
            route, "/apis", AGGREGATOR, headers, most_bytes=DISCOVERY_BYTES
        )
        if answer.status == UNCHANGED and known.etag:
            known.at = asked
            return known.versions
        if answer.status == UNAVAILABLE:
            raise NotHad("service unavailable")
        if answer.status == OK and f"as={KIND}" in answer.media_type.replace(" ", ""):
            known.versions = _aggregated(_read(answer.body))
            known.etag, known.at = answer.etag, asked
            return known.versions
        return {route.group_version: await self._walked(route)}

    async def _walked(self, route: Route) -> Object:
        """A version's resources as an older server says them."""
        user = UserInfo(AGGREGATOR.name)
        answer = await self._proxy.fetch(
            route, route.path, user, [(b"Accept", b"application/json")], most_bytes=DISCOVERY_BYTES
        )
        if answer.status != OK:
            raise NotHad(f"{route.path} is answered with {answer.status}")
        try:
            listed = from_resource_list(_read(answer.body).get("resources") or ())
            resources = [checked(one) for one in listed]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("no APIResourceList") from error
        return {"resources": resources} if resources else {}


class OpenApi(Reconciler):
    """Keeps OpenAPI of other servers: all of v2, and the index of v3.

    Args:
        routes: which there are.
        proxy: asks them.
        documents: where it is noted.
        env: threads.
    """

    def __init__(
        self, routes: Routes, proxy: FrontProxy, documents: OtherDocuments, env: Env
    ) -> None:
        super().__init__(OPENAPI, [routes.informer])
        self.queue = WorkQueue(OPENAPI, RateLimiter(REFRESH_S, OPENAPI_MAX_S))
        self._routes = routes
        self._proxy = proxy
        self._documents = documents
        self._env = env
        self._etags: dict[str, tuple[ServicePort, str]] = {}
        routes.subscribe(self._changed)

    def _changed(self, name: str) -> None:
        if self._routes.get(name) is None:
            self._etags.pop(name, None)
        elif name not in self._etags or self.queue.limiter.failures(name):
            self.queue.forget(name)
            self.queue.add_after(name, FIRST_S)

    async def sync(self, key: str) -> None:
        """Ask the server of an APIService for its documents.

        Raises:
            NotHad: it does not have them; those of before stay.
        """
        route = self._routes.get(key)
        if route is None:
            return
        try:
            with trio.fail_after(OPENAPI_LIMIT_S):
                indexed = await self._index(route)
                swagger = await self._swagger(route)
        except (*NOT_THERE, NotHad, ValueError, trio.TooSlowError) as error:
            raise NotHad(f"{type(error).__name__}: {error}") from error
        if self._routes.get(key) is not None:
            self._documents.set_openapi(key, indexed, swagger)
        self.queue.add_after(key, REFRESH_S)

    async def _index(self, route: Route) -> dict[str, str]:
        """Where documents of v3 are that are about the group."""
        answer = await self._fetch(route, "/openapi/v3")
        if answer.status == NOT_FOUND:
            return {}
        if answer.status != OK:
            raise NotHad(f"/openapi/v3 is answered with {answer.status}")
        paths = _read(answer.body).get("paths")
        if not isinstance(paths, dict):
            raise ValueError("no index of OpenAPI v3")
        prefixes = (route.path[1:], f"apis/{route.group_version.group}")
        urls: dict[str, str] = {}
        for path in prefixes:
            url = (paths.get(path) or {}).get("serverRelativeURL") if path in paths else None
            if isinstance(url, str) and url.startswith(f"/openapi/v3/{path}"):
                urls[path] = url
        return urls

    async def _swagger(self, route: Route) -> Object | None:
        """What v2 says of the version; None when it says the same as before."""
        server, etag = self._etags.get(route.name, (route.server, ""))
        headers = [(b"Accept", b"application/json")]
        if etag and server == route.server:
            headers.append((b"If-None-Match", etag.encode("latin-1", "replace")))
        answer = await self._fetch(route, "/openapi/v2", headers)
        if answer.status == UNCHANGED and etag:
            return None
        if answer.status == NOT_FOUND:
            self._etags[route.name] = (route.server, "")
            return {"paths": {}, "definitions": {}, "parameters": {}}
        if answer.status != OK:
            raise NotHad(f"/openapi/v2 is answered with {answer.status}")
        part = await self._env.run_foreign(_part, answer.body, f"{route.path}/")
        self._etags[route.name] = (route.server, answer.etag)
        return part

    async def _fetch(
        self, route: Route, path: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> Fetched:
        return await self._proxy.fetch(route, path, OPENAPI_USER, headers, most_bytes=OPENAPI_BYTES)


def _part(body: bytes, prefix: str) -> Object:
    """What of a Swagger document is about a version.

    Raises:
        ValueError: it is none, or it is too large.
    """
    large = len(body) > jsonpieces.LARGE_BYTES
    try:
        document = jsonpieces.read(body, orjson.loads) if large else orjson.loads(body)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if is_deeper(document, MOST_DEPTH):
        raise ValueError("it is nested too deeply")
    part = part_of(document, prefix)
    if len(orjson.dumps(part)) > KEPT_BYTES:
        raise ValueError(f"it is larger than {KEPT_BYTES} bytes")
    return part


def _read(body: bytes) -> Object:
    """A small document.

    Raises:
        ValueError: it is no JSON object.
    """
    document = orjson.loads(body)
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    return document


def _aggregated(document: Object) -> dict[GroupVersion, Object]:
    """The versions of an aggregated discovery document.

    Raises:
        ValueError: it is none.
    """
    versions: dict[GroupVersion, Object] = {}
    try:
        for group in document.get("items") or ():
            for version in group.get("versions") or ():
                name = GroupVersion(group["metadata"].get("name") or "", version["version"])
                resources = [checked(one) for one in version.get("resources") or ()]
                versions[name] = {"resources": resources} if resources else {}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no APIGroupDiscoveryList") from error
    return versions
