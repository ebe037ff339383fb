"""What other API servers have in a namespace: found in what they say they serve, and deleted there.

They are asked as a client of this server would ask them through it, as the namespace controller's
service account; they decide what it may do.

Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/namespaced_resources_deleter.go;
k8s.io/client-go/discovery (ServerPreferredNamespacedResources) and rest (errors).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import orjson
import trio

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.aggregation.documents import NOT_THERE
from kubetrio.aggregation.frontproxy import Fetched
from kubetrio.aggregation.routes import Route
from kubetrio.controllers.identity import controller_user
from kubetrio.controllers.namespaces.conditions import Left
from kubetrio.gotext.text import quote as go_quote
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names import GroupResource, GroupVersion
from kubetrio.machinery.status import ApiError
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]

LIMIT_S = 60.0  # as kube-apiserver's --request-timeout
PAGE = 100
PAGE_BYTES = 16 << 20
SAID_BYTES = 64 << 10  # of the answer to a deletion: it may hold all that is deleted
TEXT = 2048
"""Characters of what a server says is wrong: it goes into the conditions of namespaces."""
AT_A_TIME = 4
ACCEPTED = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
BODY = b'{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}'
NOT_FOUND, NOT_ALLOWED, UNAVAILABLE = 404, 405, 503
GONE = frozenset({NOT_FOUND, NOT_ALLOWED})
"""What is answered by a server that does not have what it says it has."""
FIRST_MOVED, FIRST_SERVER_ERROR = 300, 500


class CollectionError(Exception):
    """Another server does not delete, or does not say what is left; the text says why."""


class OtherResource(NamedTuple):
    """A resource that another server has.

    Args:
        route: who.
        resource: its name.
        verbs: what can be done with it.
    """

    route: Route
    resource: str
    verbs: frozenset[str]

    @property
    def group_resource(self) -> GroupResource:
        """What conditions call it."""
        return GroupResource(self.route.group_version.group, self.resource)

    def path(self, namespace: str, *names: str) -> str:
        """Of its collection in a namespace, or of an object there."""
        parts = ("namespaces", namespace, self.resource, *names)
        return "/".join([self.route.path, *(quote(part, safe="") for part in parts)])


class Listed(NamedTuple):
    """An object.

    Args:
        name: its name.
        finalizers: what it waits for.
    """

    name: str
    finalizers: Sequence[str]


class OtherServers:
    """The content of namespaces that other servers have.

    Args:
        aggregation: knows them.
        registry: what this server has.
        account: the service account that asks.

    Attributes:
        documents: what they say they have.
    """

    def __init__(self, aggregation: Aggregation, registry: LiveRegistry, account: str) -> None:
        self._routes = aggregation.routes
        self._proxy = aggregation.proxy
        self._registry = registry
        self._user: UserInfo = controller_user(account)
        self.documents = aggregation.documents

    def found(self) -> tuple[Sequence[OtherResource], Sequence[GroupVersion]]:
        """Resources with namespaces that can be deleted, and versions that nothing is known of.

        Of several versions of a group the first that has a resource is asked.
        """
        elsewhere = self.documents.current()
        if not elsewhere.versions:
            return (), ()
        resources: dict[GroupResource, OtherResource] = {}
        unknown: list[GroupVersion] = []
        for group, versions in elsewhere.groups(self._registry.current).items():
            for version in (GroupVersion(group, name) for name in versions):
                other, route = elsewhere.versions.get(version), self._routes.by_version.get(version)
                if other is None or route is None:
                    continue
                if not route.available or other.entry.get("freshness") != "Current":
                    unknown.append(version)
                    continue
                for one in other.entry.get("resources") or ():
                    if one["scope"] == "Namespaced" and one["resource"]:
                        resource = OtherResource(route, one["resource"], frozenset(one["verbs"]))
                        resources.setdefault(resource.group_resource, resource)
        return [one for one in resources.values() if "delete" in one.verbs], unknown

    async def delete(self, resource: OtherResource, namespace: str) -> Left:
        """Delete all objects of a resource; returns what is left of them.

        Raises:
            CollectionError: the server does not, or is not there.
        """
        if not await self._delete_collection(resource, namespace):
            await self._delete_each(resource, namespace)
        left = await self._list(resource, namespace)
        return Left(len(left), Counter(name for _, finalizers in left for name in finalizers))

    async def _delete_collection(self, resource: OtherResource, namespace: str) -> bool:
        """False when the server cannot."""
        if "deletecollection" not in resource.verbs:
            return False
        answer = await self._ask(resource, "DELETE", resource.path(namespace))
        if answer.status in GONE:
            return False
        _check(answer)
        return True

    async def _delete_each(self, resource: OtherResource, namespace: str) -> None:
        refused: list[CollectionError] = []
        limiter = trio.CapacityLimiter(AT_A_TIME)

        async def delete(name: str) -> None:
            async with limiter:
                try:
                    answer = await self._ask(resource, "DELETE", resource.path(namespace, name))
                    if answer.status not in GONE:
                        _check(answer)
                except CollectionError as error:
                    refused.append(error)

        names = [name for name, _ in await self._list(resource, namespace)]
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(delete, name)
        if refused:
            raise refused[0]

    async def _list(self, resource: OtherResource, namespace: str) -> list[Listed]:
        """All objects; none where the server does not list them."""
        items: list[Listed] = []
        more = ""
        with _in_time():  # the server may say for ever that there is more
            while "list" in resource.verbs:
                query = {"limit": PAGE, **({"continue": more} if more else {})}
                path = f"{resource.path(namespace)}?{urlencode(query)}"
                answer = await self._ask(resource, "GET", path)
                if answer.status in GONE:
                    break
                _check(answer)
                page, more = _read(answer.body)
                items += page
                if not more:
                    break
        return items

    async def _ask(self, resource: OtherResource, method: str, path: str) -> Fetched:
        headers = [(b"Accept", ACCEPTED.encode())]
        ask = partial(self._proxy.fetch, resource.route, path, self._user)
        with _in_time():
            try:
                if method == "GET":
                    return await ask(headers, most_bytes=PAGE_BYTES)
                headers.append((b"Content-Type", b"application/json"))
                return await ask(
                    headers, method=method, body=BODY, most_bytes=SAID_BYTES, whole=False
                )
            except (*NOT_THERE, ApiError) as error:
                raise CollectionError(f"error trying to reach service: {error}"[:TEXT]) from error


@contextmanager
def _in_time() -> Iterator[None]:
    """Have a block last no longer than a request may.

    Raises:
        CollectionError: it does.
    """
    try:
        with trio.fail_after(LIMIT_S):
            yield
    except trio.TooSlowError as error:
        raise CollectionError("error trying to reach service: context deadline exceeded") from error


def _check(answer: Fetched) -> None:
    """Raise for what is no success, in the server's words if it has some, else in client-go's.

    Raises:
        CollectionError: see above.
    """
    status = answer.status
    if status < FIRST_MOVED:
        return
    body = answer.body[:TEXT].decode(errors="replace").strip()
    text = f"the server responded with the status code {status} but did not return more information"
    if status == UNAVAILABLE:
        text = "the server is currently unable to handle the request"
    elif status >= FIRST_SERVER_ERROR:
        text = (
            f"an error on the server ({go_quote(body)}) has prevented the request from succeeding"
        )
    try:
        told = orjson.loads(answer.body)
    except ValueError:
        told = None
    if isinstance(told, dict) and told.get("kind") == "Status":
        message = told.get("message")
        text = message[:TEXT] if isinstance(message, str) and message else text
    raise CollectionError(text)


def _read(body: bytes) -> tuple[list[Listed], str]:
    """A list's objects, and where it goes on.

    Raises:
        CollectionError: it is no list.
    """
    try:
        listed = orjson.loads(body)
        metas = [_map(one["metadata"]) for one in listed.get("items") or ()]
        more = _map(listed.get("metadata") or {}).get("continue") or ""
        items = [Listed(str(meta["name"]), _texts(meta.get("finalizers") or ())) for meta in metas]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CollectionError("the server's answer is no list of objects") from error
    return items, str(more)


def _map(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("no JSON object")
    return value


def _texts(values: Any) -> Sequence[str]:
    return [str(one) for one in values]
