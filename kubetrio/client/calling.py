"""Requests of one user to the pipeline of the same process, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import trio

from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request, by_name
from kubetrio.api.response import AnyResponse, TunnelResponse
from kubetrio.client.streams import joined
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
JSON = b"application/json"


class WrongThreadError(RuntimeError):
    """A client was used outside the run of its server; the text says which client to use there."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends requests of one user.

    Args:
        handle: the pipeline.
        user: who asks.
        user_agent: name in logs, and of the field manager where none is given.
        home: the run of the server, outside which nothing can be sent; None not to look.
    """

    handle: Handle
    user: UserInfo
    user_agent: str
    home: trio.lowlevel.TrioToken | None

    async def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        given: Mapping[str, object] | None = None,
        *,
        body: bytes = b"",
        media: bytes = JSON,
    ) -> Object:
        """The object that a request is answered with.

        Args:
            method: of HTTP.
            path: without the query.
            query: parameters; empty values are left out.
            given: the body, as a value.
            body: the body, as bytes.
            media: type of the body.

        Raises:
            ApiError: the answer is a failure.
            TypeError: the answer is no object.
            WrongThreadError: the caller is in another run than the server.
        """
        response = await self.answer(method, path, query, given, body=body, media=media)
        body = await joined(response)
        if not _is_json(response):
            raise TypeError(f"{path} answers with something that is no object")
        obj: Object = orjson.loads(body)
        return obj

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        given: Mapping[str, object] | None = None,
        *,
        body: bytes = b"",
        media: bytes = JSON,
    ) -> AnyResponse:
        """The answer to a request; see `call`.

        Raises:
            ApiError: it is a failure.
            WrongThreadError: the caller is in another run than the server.
        """
        if self.home is not None:
            _see_home(self.home)
        raw = [(b"accept", JSON), (b"user-agent", self.user_agent.encode())]
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
            certificate=self.user,
            ready=True,
            given=given,
        )
        response = await self.handle(request)
        if response.status >= 400:
            raise await _failure(response)
        return response


def path_of(kind: Kind[Any], namespace: str, name: str = "", subresource: str = "") -> str:
    """The path of a collection, an object or a subresource.

    Args:
        kind: of the objects.
        namespace: empty for all of them, or for a kind without.
        name: of an object, or empty.
        subresource: of the object, or empty.
    """
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    path = f"{root}{inside}/{kind.resource}"
    for part in filter(None, (name, subresource)):
        path += f"/{quote(part, safe='')}"
    return path


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
