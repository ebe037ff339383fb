"""One call of a webhook: where it is, who the server is to it, what comes back.

A call holds nothing but its connection: no lock of the server, and no more of an answer than
`MOST_BYTES`.  It ends with its time-out or with the request that it is made for, whichever is
first.

Source: docs "Dynamic Admission Control" (contacting the webhook).
"""

from __future__ import annotations

import importlib
import math
import sys
from base64 import b64decode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import trio

from kubetrio.aggregation.servicelookup import ResolveService, Unresolved
from kubetrio.env import Env
from kubetrio.plugins.webhooks.answers import NoReview, ReviewType, review_in
from kubetrio.plugins.webhooks.credentials import Credentials

if TYPE_CHECKING:
    from kubetrio.outgoing.client import Answer, Outgoing
    from kubetrio.outgoing.target import Target

Object = dict[str, Any]

MOST_BYTES = 8 << 20
"""Of an answer: a patch may hold an object of the largest size, in base64."""
LARGE_BYTES = 128 << 10
"""Of an answer that is read beside the event loop."""
AGENT = "kube-apiserver-admission"
RETRIES = 10
"""How often a webhook is asked again that says when (``Retry-After``)."""
LIBRARY = "httpx2"
_BUSY = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a webhook is.

    Args:
        url: where reviews are sent.
        target: the server that has it, and who this one is to it.
        service: namespace, name and port of its Service; None for a plain URL.
    """

    url: str
    target: Target
    service: tuple[str, str, int] | None = None


def place_of(config: Object, credentials: Credentials) -> Place:
    """Where a ``clientConfig`` leads.

    Raises:
        NoReview: nowhere.
    """
    bundle = b64decode(config.get("caBundle") or "")
    service = config.get("service")
    if service is None:
        return _by_url(config.get("url") or "", bundle, credentials)
    namespace, name = service.get("namespace") or "", service.get("name") or ""
    port = service.get("port") or 443
    host = f"{name}.{namespace}.svc"
    url = f"https://{host}:{port}{_path(service.get('path') or '/')}"
    target = _trusting(credentials.of(f"{host}:{port}"), f"https://{host}:{port}", bundle)
    target = replace(target, server_name=target.server_name or host)
    return Place(url=url, target=target, service=(namespace, name, port))


def _by_url(url: str, bundle: bytes, credentials: Credentials) -> Place:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NoReview(f"Unparsable URL: {error}", 500) from None
    if not url:
        raise NoReview("webhook configuration must have either service or URL", 500)
    host = parts.netloc if port is not None else f"{parts.netloc}:443"
    target = _trusting(credentials.of(host), f"{parts.scheme}://{parts.netloc}", bundle)
    return Place(url=urlunsplit(parts._replace(path=_path(parts.path))), target=target)


def _path(path: str) -> str:
    """A path as Go's client joins it: without empty elements, and no slash at its end."""
    return "/" + "/".join(part for part in path.split("/") if part)


def _trusting(target: Target, url: str, bundle: bytes) -> Target:
    authorities = b"\n".join(part for part in (target.ca, bundle) if part)
    return replace(target, url=url, ca=authorities or None)


class Caller:
    """Calls webhooks of one server.

    Args:
        outgoing: makes the calls.
        resolve: finds Services.
        env: threads.
    """

    def __init__(self, outgoing: Outgoing, resolve: ResolveService, env: Env) -> None:
        self._outgoing = outgoing
        self._resolve = resolve
        self.env = env

    async def ask(
        self,
        place: Place,
        review: bytes,
        version: str,
        *,
        timeout_s: float,
        kind: ReviewType | None = None,
    ) -> Object:
        """What a webhook answers to a review.

        Args:
            place: where it is.
            review: what it is asked.
            version: of the review.
            timeout_s: seconds for all of it.
            kind: of the review; None for one of admission.

        Raises:
            NoReview: nothing that could be read as a review came back.
        """
        answer = await self.post(place, review, timeout_s=timeout_s)
        media_type, body = answer.headers.get("content-type", ""), answer.body
        if len(body) < LARGE_BYTES:
            return review_in(answer.status, media_type, body, version, kind)
        return await self.env.run_blocking(
            review_in, answer.status, media_type, body, version, kind
        )

    async def post(self, place: Place, review: bytes, *, timeout_s: float) -> Answer:
        """What a webhook answers, whatever that is.

        Args:
            place: where it is.
            review: what it is asked.
            timeout_s: seconds for all of it.

        Raises:
            NoReview: nothing came back.
        """
        if LIBRARY not in sys.modules:
            await self.env.run_blocking(importlib.import_module, LIBRARY)
        left_s = min(timeout_s, trio.current_effective_deadline() - trio.current_time())
        url = f"{place.url}?timeout={math.ceil(max(left_s, 0.0)) or 1}s"
        what = f'Post "{url}": '
        answer: Answer | None = None
        with trio.move_on_after(timeout_s):
            answer = await self._answer(place, url, what, review, timeout_s)
        if answer is None:
            raise NoReview(f"{what}context deadline exceeded")
        return answer

    async def _answer(
        self, place: Place, url: str, what: str, review: bytes, timeout_s: float
    ) -> Answer:
        from kubetrio.outgoing.client import CallError

        headers = (
            ("Content-Type", "application/json"),
            ("Accept", "application/json, */*"),
            ("User-Agent", AGENT),
        )
        for again in range(RETRIES + 1):
            connect_to = None
            if place.service is not None:
                try:
                    connect_to = await self._resolve(*place.service)
                except Unresolved as error:
                    raise NoReview(f"{what}{error}") from None
            try:
                answer = await self._outgoing.call(
                    place.target,
                    url=url,
                    body=review,
                    headers=headers,
                    timeout_s=timeout_s,
                    most_bytes=MOST_BYTES,
                    connect_to=connect_to,
                )
            except CallError as error:
                raise NoReview(_cut_off(str(error), what)) from None
            wait = answer.headers.get("retry-after", "")
            if again == RETRIES or not (
                (answer.status == _BUSY or answer.status >= 500) and wait.isdigit()
            ):
                return answer
            await trio.sleep(min(int(wait), timeout_s))
        raise AssertionError("the last attempt returns")


def _cut_off(text: str, what: str) -> str:
    """What is said of a failed call; Go's client has other words for a body that ends too early."""
    if text.removeprefix(what) != "unexpected EOF":
        return text
    return (
        "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
    )
