"""A client in the server's process, with the vocabulary of the field.

Its requests go through every stage of the pipeline as others do: authentication as the user that it
is made for, flow control, authorization, admission.  Objects go in as values and come out as new
ones; nothing is sent.  A failure is the `ApiError` that others get as a ``Status`` or as text.

A client of `LOOPBACK` is what kube-apiserver's loopback client is: it may do everything and waits
in no queue, as all of ``system:masters``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

import orjson
import trio

from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request, by_name
from kubetrio.api.response import AnyResponse, StreamResponse, TunnelResponse
from kubetrio.client.streams import Lines, joined, lines_of
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]
PatchType = Literal["json", "merge", "strategic"]

LOOPBACK: UserInfo = UserInfo("system:apiserver", groups=(MASTERS,))
"""The server itself."""
PATCHES: Mapping[PatchType, bytes] = {
    "json": b"application/json-patch+json",
    "merge": b"application/merge-patch+json",
    "strategic": b"application/strategic-merge-patch+json",
}
APPLY = b"application/apply-patch+yaml"
JSON = b"application/json"


class WrongThreadError(RuntimeError):
    """A client was used outside the run of its server; the text says which client to use there."""


class Listed(NamedTuple):
    """A page of a list.

    Args:
        items: the objects.
        resource_version: at which they were read.
        token: continues the list; empty at its end.
    """

    items: list[Object]
    resource_version: str
    token: str


class Event(NamedTuple):
    """One event of a watch.

    Args:
        type: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
        object: the object, or of a bookmark its revision only.
    """

    type: str
    object: Object


class Events:
    """The events of a watch; taking one raises the `ApiError` that ends it.

    Args:
        lines: of the stream.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        line = await self._lines.next()
        if not line:
            raise StopAsyncIteration
        event = orjson.loads(line)
        if event["type"] == "ERROR":
            raise ApiError.of(event["object"])
        return Event(event["type"], event["object"])


class Client:
    """One user's client.

    Args:
        handle: the pipeline.
        registry: what is served.
        user: who asks; the server itself unless told otherwise.
        user_agent: name in logs, and of the field manager where none is given.
        home: the run of the server, outside which the client cannot be used; None not to look.
    """

    def __init__(
        self,
        handle: Handle,
        registry: LiveRegistry,
        user: UserInfo = LOOPBACK,
        *,
        user_agent: str = "kubetrio",
        home: trio.lowlevel.TrioToken | None = None,
    ) -> None:
        self._handle = handle
        self._home = home
        self._registry = registry
        self._user = user
        self._agent = user_agent.encode()

    def as_user(self, user: UserInfo) -> Client:
        """Return a client that acts as another user."""
        agent = self._agent.decode()
        return Client(self._handle, self._registry, user, user_agent=agent, home=self._home)

    def kind(self, api_version: str, kind: str) -> Kind:
        """The kind of objects by what they say of themselves.

        Raises:
            ApiError: 404, it is not served.
            ValueError: no ``apiVersion``.
        """
        for candidate in self._registry.current.by_group_version.get(
            GroupVersion.parse(api_version), ()
        ):
            if candidate.kind == kind:
                return candidate
        message = f'no matches for kind "{kind}" in version "{api_version}"'
        raise ApiError(404, "NotFound", message)

    # ------------------------------------------------------------------ reads

    async def get(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        resource_version: str = "",
    ) -> Object:
        """One object, or what a subresource answers about it.

        Raises:
            ApiError: 403, 404, 429 and others.
        """
        query = {"resourceVersion": resource_version}
        return await self._object("GET", _path(kind, namespace, name, subresource), query)

    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
    ) -> Listed:
        """A collection, or a page of it.

        Args:
            kind: of what.
            namespace: in which; empty for all of them.
            label_selector: as in ``labelSelector``.
            field_selector: as in ``fieldSelector``.
            limit: objects of a page; 0 for all.
            token: of the page before.
            resource_version: as in ``resourceVersion``.

        Raises:
            ApiError: 400, 403, 410 (the token is too old), 429 and others.
        """
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "limit": str(limit or ""),
            "continue": token,
            "resourceVersion": resource_version,
        }
        whole = await self._object("GET", _path(kind, namespace), query)
        meta = whole["metadata"]
        for item in whole["items"]:
            item["kind"], item["apiVersion"] = kind.kind, kind.api_version
        return Listed(whole["items"], meta["resourceVersion"], meta.get("continue", ""))

    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = False,
        timeout_s: int = 0,
    ) -> AbstractAsyncContextManager[Events]:
        """Events of a collection, for as long as a block lasts.

        A watcher that does not take its events is served by the rules for slow clients: it reads
        on from the store, and ends with 410 where that is gone.

        Args:
            kind: of what.
            namespace: in which; empty for all of them.
            resource_version: where to begin; empty for the present state first.
            label_selector: as in ``labelSelector``.
            field_selector: as in ``fieldSelector``.
            bookmarks: whether to be told of revisions without events.
            timeout_s: when the server ends it; 0 for the server's choice.

        Raises:
            ApiError: 400, 403, 410, 429 and others; also while events are taken.
        """
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "allowWatchBookmarks": "1" if bookmarks else "",
            "timeoutSeconds": str(timeout_s or ""),
        }
        return self._watch(_path(kind, namespace), query)

    @asynccontextmanager
    async def _watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Events]:
        response = await self._answer("GET", path, query)
        if not isinstance(response, StreamResponse):
            raise TypeError("a watch is a stream")
        async with lines_of(response) as lines:
            yield Events(lines)

    # ------------------------------------------------------------------ writes

    async def create(
        self,
        obj: Object,
        *,
        subresource: str = "",
        name: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object:
        """A new object, or one posted to a subresource of ``name`` (a Binding, an Eviction, …).

        Raises:
            ApiError: 400, 403, 409, 422, 429 and others.
        """
        kind = self._kind_below(obj, subresource)
        namespace = (obj.get("metadata") or {}).get("namespace", "")
        path = _path(kind, namespace, name if subresource else "", subresource)
        return await self._object("POST", path, _how(dry_run, field_manager), obj)

    async def update(
        self,
        obj: Object,
        *,
        kind: Kind | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object:
        """An object replaced.

        Args:
            obj: the new one.
            kind: whose subresource it is, where that is of another kind, as a Scale is.
            subresource: that is replaced, or empty.
            dry_run: store nothing.
            field_manager: who writes.

        Raises:
            ApiError: 400, 403, 404, 409 (another client was faster), 422, 429 and others.
        """
        kind, meta = kind or self.kind(obj["apiVersion"], obj["kind"]), obj["metadata"]
        path = _path(kind, meta.get("namespace", ""), meta["name"], subresource)
        return await self._object("PUT", path, _how(dry_run, field_manager), obj)

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object:
        """An object changed in part.

        Args:
            kind: its kind.
            name: its name.
            patch: the patch; operations for ``json``.
            namespace: its namespace, or empty.
            how: the kind of patch.
            subresource: of which it is a patch, or empty.
            dry_run: store nothing.
            field_manager: who patches.

        Raises:
            ApiError: 400, 403, 404, 409, 415, 422, 429 and others.
        """
        path = _path(kind, namespace, name, subresource)
        query = _how(dry_run, field_manager)
        body = orjson.dumps(patch)
        return await self._object("PATCH", path, query, body=body, media=PATCHES[how])

    async def apply(
        self,
        configuration: Object,
        *,
        field_manager: str,
        force: bool = False,
        kind: Kind | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply.

        Args:
            configuration: what is wanted, with kind, apiVersion and name.
            field_manager: who applies.
            force: whether fields of others are taken over.
            kind: whose subresource it is, where that is of another kind, as a Scale is.
            subresource: of which it is applied, or empty.
            dry_run: store nothing.

        Raises:
            ApiError: 400, 403, 409 (conflicts), 422, 429 and others.
        """
        kind = kind or self.kind(configuration["apiVersion"], configuration["kind"])
        meta = configuration["metadata"]
        path = _path(kind, meta.get("namespace", ""), meta["name"], subresource)
        how = {**_how(dry_run, field_manager), "force": "1" if force else ""}
        body = orjson.dumps(configuration)
        return await self._object("PATCH", path, how, body=body, media=APPLY)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> Object:
        """An object deleted, or on its way: its last state, or a ``Status``.

        Args:
            kind: its kind.
            name: its name.
            namespace: its namespace, or empty.
            **options: members of ``DeleteOptions``, such as ``propagationPolicy``.

        Raises:
            ApiError: 403, 404, 409, 422, 429 and others.
        """
        return await self._delete(_path(kind, namespace, name), {}, options)

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        **options: Any,
    ) -> Object:
        """Every object of a collection that the selectors choose: a list of their last states.

        Raises:
            ApiError: 400, 403, 422, 429 and others.
        """
        query = {"labelSelector": label_selector, "fieldSelector": field_selector}
        return await self._delete(_path(kind, namespace), query, options)

    async def _delete(self, path: str, query: Mapping[str, str], options: Object) -> Object:
        body = b""
        if options:
            body = orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        return await self._object("DELETE", path, query, body=body)

    def _kind_below(self, obj: Object, subresource: str) -> Kind:
        """The kind whose path an object is posted to."""
        if not subresource:
            return self.kind(obj["apiVersion"], obj["kind"])
        for kind in self._registry.resources.values():
            below = kind.subresources.get(subresource)
            if below is not None and below.kind.kind == obj["kind"]:
                return kind
        raise ApiError(404, "NotFound", f'no subresource "{subresource}" takes a {obj["kind"]}')

    # ------------------------------------------------------------------ the pipeline

    async def _object(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        given: Object | None = None,
        *,
        body: bytes = b"",
        media: bytes = JSON,
    ) -> Object:
        response = await self._answer(method, path, query, given, body=body, media=media)
        body = await joined(response)
        if not _is_json(response):
            raise TypeError(f"{path} answers with something that is no object")
        obj: Object = orjson.loads(body)
        return obj

    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        given: Object | None = None,
        *,
        body: bytes = b"",
        media: bytes = JSON,
    ) -> AnyResponse:
        if self._home is not None:
            _see_home(self._home)
        raw = [(b"accept", JSON), (b"user-agent", self._agent)]
        if body or given is not None:
            raw.append((b"content-type", media))

        async def read_body(_: int) -> bytes:
            return body

        request = Request(
            method=method,
            raw_path=path,
            raw_query=urlencode({key: value for key, value in query.items() if value}),
            headers=by_name(raw),
            raw_headers=raw,
            read_body=read_body,
            certificate=self._user,
            ready=True,
            given=given,
        )
        response = await self._handle(request)
        if response.status >= 400:
            raise await _failure(response)
        return response


def _see_home(home: trio.lowlevel.TrioToken) -> None:
    """Refuse a call from outside the run of the server.

    Raises:
        WrongThreadError: it is another run, or none.
    """
    try:
        here = trio.lowlevel.current_trio_token()
    except RuntimeError:
        here = None
    if here is not home:
        raise WrongThreadError(
            "this client belongs to the Trio run of its server: outside it use handle.client(), "
            "where handle is what in_thread or aio.open_server gave, or handle.call(fn, ...)"
        )


async def _failure(response: AnyResponse) -> ApiError:
    """The failure of an answer, which is a ``Status`` or text, as from flow control."""
    body = await joined(response)
    if _is_json(response):
        return ApiError.of(orjson.loads(body))
    after = next((value for name, value in response.headers if name == b"Retry-After"), b"")
    seconds = int(after) if after.isdigit() else None
    return ApiError.of_text(response.status, body.decode(errors="replace"), seconds)


def _is_json(response: AnyResponse) -> bool:
    return not isinstance(response, TunnelResponse) and response.content_type.startswith(JSON)


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    path = f"{root}{inside}/{kind.resource}"
    for part in filter(None, (name, subresource)):
        path += f"/{quote(part, safe='')}"
    return path


def _how(dry_run: bool, field_manager: str) -> dict[str, str]:
    return {"dryRun": "All" if dry_run else "", "fieldManager": field_manager}
