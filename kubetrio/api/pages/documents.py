"""Paths that are not resources: discovery, OpenAPI, version, health, metrics.

Documents derive from a registry snapshot; each is made when first asked for and kept as bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import trio

from kubetrio import __version__
from kubetrio.aggregation.documents import OtherDocuments
from kubetrio.api.encoding.serializers import dump
from kubetrio.api.pages.health import Health
from kubetrio.api.pages.pages import METRICS_TYPE, Pages
from kubetrio.api.request import Request
from kubetrio.api.response import (
    JSON,
    TEXT,
    AnyResponse,
    Headers,
    Response,
    page_not_found,
)
from kubetrio.auth.authorize import forbidden
from kubetrio.machinery.identity import ANONYMOUS, Attributes
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import method_not_allowed, unknown_path
from kubetrio.observe.logs import Log
from kubetrio.release import EARLIER_MINOR, KUBERNETES_VERSION, MAJOR, MINOR, MINOR_VERSION
from kubetrio.schema import discovery, openapi
from kubetrio.schema.registry import LiveRegistry, Registry
from kubetrio.schema.steps import Steps, release
from kubetrio.wire import jsonwire, negotiate
from kubetrio.wire.accept import parse_accept
from kubetrio.wire.negotiate import DOCUMENT

if TYPE_CHECKING:
    from kubetrio.api.pages.faultpages import FaultPages
    from kubetrio.api.pages.flowpages import FlowPages
    from kubetrio.observe.metrics import Metrics

T = TypeVar("T")
log = Log("kubetrio.api")

GIT_VERSION = f"v{KUBERNETES_VERSION}+kubetrio{__version__}"
DOCUMENT_VERSION = MINOR_VERSION
"""What OpenAPI documents call themselves: the version that is emulated, which has no patch."""
VARY = (b"Vary", b"Accept")
PUBLIC = (b"Cache-Control", b"public")
UI, SIGN_IN = "ui", "/ui/"
ROOTS = frozenset({"", "/", "/index.html"})
JSON_FORM = JSON.decode()
SWAGGER_FORMS = (JSON_FORM, *openapi.SWAGGER_PROTOBUF)
V3_FORMS = (JSON_FORM, *openapi.PROTOBUF)


def version_info() -> dict[str, str]:
    """The ``/version`` document."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": str(MAJOR),
        "minor": str(MINOR),
        "emulationMajor": str(MAJOR),
        "emulationMinor": str(MINOR),
        "minCompatibilityMajor": str(MAJOR),
        "minCompatibilityMinor": str(EARLIER_MINOR),
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


class PagesForPeople(Protocol):
    """Pages below ``/ui/``."""

    async def answer(self, request: Request) -> AnyResponse:
        """Answer a request whose user may make it."""
        ...

    def sign_in(self, request: Request) -> Response:
        """Return the page in which a token is typed."""
        ...


class Documents:
    """Answers for one server.

    Args:
        registry: what is served.
        health: named checks.
        metrics: counters for ``/metrics``.
        address: ``host:port`` that clients reach, for ``GET /api``.
        pages: pages around the API.
        now: wall clock, seconds since the epoch.
        others: what is known of the documents of other servers.
        ask_others: answers a request for a document of OpenAPI v3 that another server has; None
            when none has it any more.
        ui: pages for people, below ``/ui/``.
        flow_pages: pages of flow control, None where there is nothing to show.
        fault_pages: pages of faults, None where clients may not inject any.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        health: Health,
        metrics: Metrics,
        address: str,
        pages: Pages,
        now: Callable[[], float],
        *,
        others: OtherDocuments,
        ask_others: Callable[[Request, str], Awaitable[AnyResponse | None]],
        ui: PagesForPeople,
        flow_pages: FlowPages | None,
        fault_pages: FaultPages | None,
    ) -> None:
        self._pages = pages
        self._now = now
        self._registry = registry
        registry.subscribe(self.forget)
        self._health = health
        self._metrics = metrics
        self._address = address
        self._cache: dict[str, tuple[bytes, bytes]] = {}
        self._making = trio.Lock()
        self._ui = ui
        self._flow_pages = flow_pages
        self._fault_pages = fault_pages
        self._others = others.current
        self._ask_others = ask_others
        others.subscribe(self.forget)

    def forget(self, *_: Registry) -> None:
        """Make documents anew: something else is served."""
        self._cache = {}

    async def answer(self, request: Request) -> AnyResponse:
        """Answer a request for a path that is not a resource.

        Raises:
            ApiError: 404, 405 or 406.
        """
        path = request.info.path
        if path.startswith("//"):
            return page_not_found()
        parts = path.strip("/").split("/")
        root = parts[0]
        if root in self._health.checks:
            return await self._health.answer(request)
        if root in ("api", "apis"):
            return await self._discovery(request, parts)
        if root == "openapi":
            return await self._openapi(request, parts)
        if path in ("/version", "/version/"):
            if request.method != "GET":
                raise method_not_allowed()
            negotiate.pass_router(request.header(b"accept"), negotiate.PLAIN_JSON)
            return indented(version_info())
        if parts[:2] == ["debug", "faults"] and self._fault_pages is not None:
            return await self._fault_pages.answer(request)
        if root == "debug" and self._flow_pages is not None:
            return self._flow_pages.answer(request)
        if path == "/metrics":
            return Response(200, await self._pages.metrics(self._metrics.gathered), METRICS_TYPE)
        if root == UI:
            return await self._ui.answer(request)
        if path in ROOTS:
            paths = self._health.paths()
            return indented(discovery.root_paths(self._registry.current, paths, self._others()))
        page = await self._pages.answer(request, self._now())
        return page_not_found() if page is None else page

    def refuse(self, request: Request, attributes: Attributes, reason: str) -> Response:
        """Refuse a request; a browser without credentials gets the page for signing in.

        Args:
            request: the user may not make it.
            attributes: what authorizers were asked.
            reason: what they say.

        Raises:
            ApiError: 403.
        """
        stranger = request.user.name == ANONYMOUS.name and request.info.path == SIGN_IN
        if (
            stranger
            and request.method == "GET"
            and b"text/html" in request.headers.get(b"accept", b"")
        ):
            return self._ui.sign_in(request)
        raise forbidden(attributes, reason)

    # ------------------------------------------------------------------ discovery

    async def _discovery(self, request: Request, parts: list[str]) -> AnyResponse:
        registry = self._registry.current
        known = self._find(parts)
        if known is None:
            groups = self._others().groups(registry)
            own = len(parts) >= 2 and parts[1] in registry.groups
            custom = own and not registry.is_builtin(parts[1])
            if parts[0] == "apis" and len(parts) >= 2 and (custom or parts[1] not in groups):
                return page_not_found()
            raise unknown_path()
        root = len(parts) == 1
        if parts == ["api"]:
            offer = negotiate.CORE_ROOT
        elif root:
            offer = negotiate.GROUPS_ROOT
        else:
            offer = negotiate.GROUP if len(parts) == 2 and parts[0] == "apis" else DOCUMENT
        if offer.routed and request.method != "GET" and not _is_custom(registry, parts):
            raise method_not_allowed()
        accepted = accepted_by(request, offer)
        key = "/".join(parts)
        headers: Headers = (VARY,) if root else ()
        if accepted.as_kind:
            which: Literal["core", "named"] = "core" if parts == ["api"] else "named"
            key, headers = f"{key};{accepted.as_version}", (VARY, PUBLIC)
            known = partial(discovery.aggregated_steps, registry, which, self._others())
        key = f"{key};{accepted.serializer};{accepted.pretty}"
        body, tag = await self._made(key, partial(_dumped, known, accepted))
        return self._tagged(request, body, tag, accepted.media_type.encode(), headers)

    def _find(self, parts: list[str]) -> Callable[[], Steps[Any]] | None:
        """What makes the legacy document of a path, or None."""
        registry, others = self._registry.current, self._others()
        match parts:
            case ["api"]:
                return partial(_at_once, discovery.api_versions, self._address)
            case ["apis"]:
                return partial(_at_once, discovery.api_group_list, registry, others)
            case ["api", version]:
                group_version = GroupVersion("", version)
            case ["apis", group]:
                if not group or group not in others.groups(registry, walked=True):
                    return None
                return partial(_at_once, discovery.api_group, registry, group, others)
            case ["apis", group, version] if group:
                group_version = GroupVersion(group, version)
            case _:
                return None
        if group_version not in registry.by_group_version:
            return None
        return partial(_at_once, discovery.api_resource_list, registry, group_version)

    @staticmethod
    def _tagged(
        request: Request, body: bytes, tag: bytes, media: bytes, headers: Headers
    ) -> Response:
        more = [*headers, (b"ETag", tag)]
        if request.headers.get(b"if-none-match") == tag:
            return Response(304, b"", b"", more)
        return Response(200, body, media, more)

    # ------------------------------------------------------------------ OpenAPI

    async def _openapi(self, request: Request, parts: list[str]) -> AnyResponse:
        if request.info.path.endswith("/"):
            return nothing() if parts[:2] == ["openapi", "v3"] else page_not_found()
        if parts == ["openapi", "v2"]:
            form = preferred(request.header(b"accept"), SWAGGER_FORMS)
            if not form:
                return not_acceptable()
            if form != JSON_FORM:
                body, tag = await self._made("openapi/v2;protobuf", self._swagger_protobuf)
                media = openapi.SWAGGER_PROTOBUF[0].encode()
                return self._tagged(request, body, tag, media, (VARY,))
            body, tag = await self._made("openapi/v2", self._swagger_json)
            return self._tagged(request, body, tag, JSON, (VARY,))
        if parts == ["openapi", "v3"]:
            body, tag = await self._made("openapi/v3", self._index_json)
            return self._tagged(request, body, tag, TEXT, (VARY,))
        if parts[:2] == ["openapi", "v3"]:
            return await self._openapi_document(request, "/".join(parts[2:]))
        return page_not_found()

    def _index_json(self) -> Steps[bytes]:
        index = yield from openapi.index_steps(self._registry.current, version=DOCUMENT_VERSION)
        for path, url in self._others().indexed.items():
            index["paths"].setdefault(path, {"serverRelativeURL": url})
        index["paths"] = dict(sorted(index["paths"].items()))
        return jsonwire.encode(index)

    def _swagger_json(self) -> Steps[bytes]:
        document = yield from self._swagger(self._others().swaggers)
        return (yield from _consumed(openapi.json_steps, document))

    def _swagger_protobuf(self) -> Steps[bytes]:
        from kubetrio.schema import openapi2_proto  # kubectl asks for it, once

        encode, swaggers = openapi2_proto.MESSAGES.steps, self._others().swaggers
        document = yield from self._swagger(swaggers)
        try:
            return (yield from _consumed(encode, document))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            if not swaggers:
                raise
            # What others say need not fit the message; what is said of this server does.
            log.warning("OpenAPI of other servers is left out of protobuf", reason=str(error))
        return (yield from _consumed(encode, (yield from self._swagger(()))))

    def _swagger(self, swaggers: Sequence[dict[str, Any]]) -> Steps[dict[str, Any]]:
        """The Swagger document, with those of other servers."""
        document = yield from openapi.swagger_steps(
            self._registry.current, version=DOCUMENT_VERSION
        )
        if swaggers:
            from kubetrio.schema.swagger_merge import merged_steps

            for other in swaggers:
                yield from merged_steps(document, other)
        return document

    async def _made(self, key: str, make: Callable[[], Steps[bytes]]) -> tuple[bytes, bytes]:
        """A large document's bytes and entity tag, made once; other tasks run while it is."""
        if key not in self._cache:
            async with self._making:  # who comes second finds what the first one made
                cache = self._cache  # what is served may change meanwhile
                if key not in cache:
                    body = await _paced(make())
                    tag = await _paced(discovery.etag_steps(body))
                    cache[key] = (body, tag.encode())
                return cache[key]
        return self._cache[key]

    async def _openapi_document(self, request: Request, path: str) -> AnyResponse:
        digest = openapi.document_hash(self._registry.current, path, version=DOCUMENT_VERSION)
        if digest is None:
            answer = await self._ask_others(request, path)
            return nothing() if answer is None else answer
        form = preferred(request.header(b"accept"), V3_FORMS)
        if not form:
            return not_acceptable()
        key, media, steps = f"openapi/v3/{path}", JSON, openapi.document_steps
        if form != JSON_FORM:
            key, media = f"{key};protobuf", openapi.PROTOBUF[0].encode()
            steps = openapi.protobuf_steps
        body, tag = await self._made(
            key, partial(steps, self._registry.current, path, version=DOCUMENT_VERSION)
        )
        sent = request.query.get("hash")
        headers: list[tuple[bytes, bytes]] = [VARY]
        if sent:
            if sent != digest:
                location = f"/openapi/v3/{path}?hash={digest}".encode()
                return Response(301, b"", media, [VARY, (b"ETag", tag), (b"Location", location)])
            headers.append((b"Cache-Control", b"public, immutable"))
            headers.append((b"Expires", a_year_from(self._now())))
        return self._tagged(request, body, tag, media, headers)


def _is_custom(registry: Registry, parts: list[str]) -> bool:
    """Whether a path is that of a version of custom resources, which answers to any method."""
    if len(parts) != 3:
        return False
    kinds = registry.by_group_version.get(GroupVersion(*parts[1:]), ())
    return not any(kind.builtin for kind in kinds)


def _at_once(make: Callable[..., Any], *arguments: Any) -> Steps[Any]:
    """A document that is small, in one step."""
    yield
    return make(*arguments)


def _dumped(make: Callable[[], Steps[Any]], accepted: negotiate.Accepted) -> Steps[bytes]:
    """A discovery document as a client takes it."""
    document = yield from make()
    yield
    return dump(document, accepted)


def _consumed(
    encode: Callable[[dict[str, Any]], Steps[bytes]], document: dict[str, Any]
) -> Steps[bytes]:
    """The bytes of a Swagger document, which is freed when they are made."""
    body = yield from encode(document)
    yield
    for member in ("paths", "definitions"):  # made for it; others are constants
        yield from release(document[member])
    return body


async def _paced(work: Steps[T]) -> T:
    """Result of work that lets all other tasks have a turn after each step."""
    while True:
        await trio.lowlevel.checkpoint()
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


def accepted_by(request: Request, offer: negotiate.Offer) -> negotiate.Accepted:
    """The representation of a document, and whether it is indented.

    Raises:
        ApiError: 406 when the client takes nothing that there is.
    """
    accepted = negotiate.negotiate(request.header(b"accept") or None, offer)
    pretty = negotiate.wants_pretty(request.query.get("pretty"), request.header(b"user-agent"))
    if accepted.serializer == "json" and pretty:
        return replace(accepted, pretty=True)
    return accepted


def a_year_from(now: float) -> bytes:
    """The time for ``Expires`` of what never changes, in the format of Go's ``RFC1123``.

    Args:
        now: wall clock, seconds since the epoch.
    """
    from email.utils import format_datetime

    today = datetime.fromtimestamp(now, UTC)
    leap_day = (today.month, today.day) == (2, 29)
    there = today.replace(year=today.year + 1, day=28 if leap_day else today.day)
    there += timedelta(days=leap_day)
    # Not strftime, whose words are those of the process's language.
    return format_datetime(there, usegmt=True).replace("GMT", "UTC").encode()


def nothing() -> Response:
    """404 without a word, for an OpenAPI document that is not there."""
    return Response(404, b"", b"")


def not_acceptable() -> Response:
    """406 without a word, for an OpenAPI document in a form that there is not."""
    return Response(406, b"", b"", (VARY,))


def indented(value: Any) -> Response:
    """A document that is no object of the API, as Go's ``MarshalIndent`` writes it."""
    return Response(200, jsonwire.encode_indented(value), JSON)


def preferred(accept: str, offered: Sequence[str]) -> str:
    """The media type that a client prefers of an OpenAPI document; empty when it takes none.

    Args:
        accept: the header as it came.
        offered: media types, the default first.
    """
    for clause in parse_accept(accept or "*/*"):
        for media in offered:
            type_, _, subtype = media.partition("/")
            if clause.type in (type_, "*") and clause.subtype in (subtype, "*"):
                return media
    return ""
