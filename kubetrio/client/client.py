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
from typing import Any, Literal, get_args, get_type_hints, overload

import orjson
import trio

from kubetrio.api.pipeline import Handle
from kubetrio.api.response import StreamResponse
from kubetrio.client.answers import Events, Listed
from kubetrio.client.calling import Caller, path_of
from kubetrio.client.streams import lines_of
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind, ObjectT
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
        self._caller = Caller(handle, user, user_agent, home)
        self._registry = registry

    def as_user(self, user: UserInfo) -> Client:
        """Return a client that acts as another user."""
        of = self._caller
        return Client(of.handle, self._registry, user, user_agent=of.user_agent, home=of.home)

    @overload
    def kind(self, of: type[ObjectT], /) -> Kind[ObjectT]: ...

    @overload
    def kind(self, api_version: str, kind: str, /) -> Kind: ...

    def kind(self, of: type[Any] | str, kind: str = "", /) -> Kind[Any]:
        """The kind of objects by what they say of themselves, or by the type that they have.

        Args:
            of: their ``apiVersion``; or a type of `kubetrio.types` or of ``kubetrio gen-types``,
                which objects of this kind then have.
            kind: their ``kind``, beside an ``apiVersion``.

        Raises:
            ApiError: 404, it is not served.
            TypeError: the type does not say which kind it is of.
            ValueError: no ``apiVersion``.
        """
        api_version, kind = (of, kind) if isinstance(of, str) else _said_by(of)
        for candidate in self._registry.current.by_group_version.get(
            GroupVersion.parse(api_version), ()
        ):
            if candidate.kind == kind:
                return candidate
        message = f'no matches for kind "{kind}" in version "{api_version}"'
        raise ApiError(404, "NotFound", message)

    # ------------------------------------------------------------------ reads

    @overload
    async def get(
        self, kind: Kind[ObjectT], name: str, namespace: str = "", *, resource_version: str = ""
    ) -> ObjectT: ...

    @overload
    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        subresource: str,
        resource_version: str = "",
    ) -> Object: ...

    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        resource_version: str = "",
    ) -> Any:
        """One object, or what a subresource answers about it.

        Raises:
            ApiError: 403, 404, 429 and others.
        """
        query = {"resourceVersion": resource_version}
        return await self._caller.call("GET", path_of(kind, namespace, name, subresource), query)

    async def list(
        self,
        kind: Kind[ObjectT],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        token: str = "",
        resource_version: str = "",
    ) -> Listed[ObjectT]:
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
        whole: Any = await self._caller.call("GET", path_of(kind, namespace), query)
        meta = whole["metadata"]
        for item in whole["items"]:
            item["kind"], item["apiVersion"] = kind.kind, kind.api_version
        return Listed(whole["items"], meta["resourceVersion"], meta.get("continue", ""))

    def watch(
        self,
        kind: Kind[ObjectT],
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        bookmarks: bool = False,
        timeout_s: int = 0,
    ) -> AbstractAsyncContextManager[Events[ObjectT]]:
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
        return self._watch(path_of(kind, namespace), query)

    @asynccontextmanager
    async def _watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Events[Any]]:
        response = await self._caller.answer("GET", path, query)
        if not isinstance(response, StreamResponse):
            raise TypeError("a watch is a stream")
        async with lines_of(response) as lines:
            yield Events(lines)

    # ------------------------------------------------------------------ writes

    @overload
    async def create(
        self,
        obj: Object,
        *,
        subresource: str = "",
        name: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object: ...

    @overload
    async def create(
        self, obj: ObjectT, *, dry_run: bool = False, field_manager: str = ""
    ) -> ObjectT: ...

    @overload
    async def create(
        self,
        obj: Mapping[str, object],
        *,
        subresource: str,
        name: str,
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object: ...

    async def create(
        self,
        obj: Any,
        *,
        subresource: str = "",
        name: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Any:
        """A new object, or one posted to a subresource of ``name`` (a Binding, an Eviction, …).

        Raises:
            ApiError: 400, 403, 409, 422, 429 and others.
        """
        kind = self._kind_below(obj, subresource)
        namespace = (obj.get("metadata") or {}).get("namespace", "")
        path = path_of(kind, namespace, name if subresource else "", subresource)
        return await self._caller.call("POST", path, _how(dry_run, field_manager), obj)

    @overload
    async def update(
        self,
        obj: Object,
        *,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object: ...

    @overload
    async def update(
        self,
        obj: ObjectT,
        *,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> ObjectT: ...

    async def update(
        self,
        obj: Any,
        *,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Any:
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
        path = path_of(kind, meta.get("namespace", ""), meta["name"], subresource)
        return await self._caller.call("PUT", path, _how(dry_run, field_manager), obj)

    @overload
    async def patch(
        self,
        kind: Kind[ObjectT],
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        *,
        how: PatchType = "merge",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> ObjectT: ...

    @overload
    async def patch(
        self,
        kind: Kind[Any],
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        *,
        how: PatchType = "merge",
        subresource: str,
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object: ...

    async def patch(
        self,
        kind: Kind[Any],
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        *,
        how: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Any:
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
        path = path_of(kind, namespace, name, subresource)
        query = _how(dry_run, field_manager)
        body = orjson.dumps(patch)
        return await self._caller.call("PATCH", path, query, body=body, media=PATCHES[how])

    @overload
    async def apply(
        self,
        configuration: Object,
        *,
        field_manager: str,
        force: bool = False,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object: ...

    @overload
    async def apply(
        self,
        configuration: ObjectT,
        *,
        field_manager: str,
        force: bool = False,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> ObjectT: ...

    async def apply(
        self,
        configuration: Any,
        *,
        field_manager: str,
        force: bool = False,
        kind: Kind[Any] | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Any:
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
        path = path_of(kind, meta.get("namespace", ""), meta["name"], subresource)
        how = {**_how(dry_run, field_manager), "force": "1" if force else ""}
        body = orjson.dumps(configuration)
        return await self._caller.call("PATCH", path, how, body=body, media=APPLY)

    async def delete(
        self, kind: Kind[Any], name: str, namespace: str = "", **options: Any
    ) -> Object:
        """An object deleted, or on its way: its last state, or a ``Status``.

        Args:
            kind: its kind.
            name: its name.
            namespace: its namespace, or empty.
            **options: members of ``DeleteOptions``, such as ``propagationPolicy``.

        Raises:
            ApiError: 403, 404, 409, 422, 429 and others.
        """
        return await self._delete(path_of(kind, namespace, name), {}, options)

    async def delete_collection(
        self,
        kind: Kind[Any],
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
        return await self._delete(path_of(kind, namespace), query, options)

    async def _delete(self, path: str, query: Mapping[str, str], options: Object) -> Object:
        body = b""
        if options:
            body = orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        return await self._caller.call("DELETE", path, query, body=body)

    def _kind_below(self, obj: Mapping[str, Any], subresource: str) -> Kind:
        """The kind whose path an object is posted to."""
        if not subresource:
            return self.kind(obj["apiVersion"], obj["kind"])
        for kind in self._registry.resources.values():
            below = kind.subresources.get(subresource)
            if below is not None and below.kind.kind == obj["kind"]:
                return kind
        raise ApiError(404, "NotFound", f'no subresource "{subresource}" takes a {obj["kind"]}')


def _said_by(of: type[Any]) -> tuple[str, str]:
    """The ``apiVersion`` and ``kind`` that a ``TypedDict`` says its objects have.

    Raises:
        TypeError: it does not say so.
    """
    hints = get_type_hints(of)
    match [get_args(hints.get(member)) for member in ("apiVersion", "kind")]:
        case [(str(api_version),), (str(kind),)]:
            return api_version, kind
    raise TypeError(f"{of.__name__} does not say its apiVersion and kind, each as a Literal")


def _how(dry_run: bool, field_manager: str) -> dict[str, str]:
    return {"dryRun": "All" if dry_run else "", "fieldManager": field_manager}
