"""Paths that are not resources: discovery, OpenAPI, version, health, metrics.

Documents derive from a registry snapshot; each is made when first asked for and kept as bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from kubetrio import __version__
from kubetrio.api.health import Health
from kubetrio.api.pages import METRICS_TYPE, Pages
from kubetrio.api.request import Request
from kubetrio.api.response import (
    JSON,
    AnyResponse,
    Headers,
    Response,
    json_bytes,
    json_response,
    page_not_found,
)
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import ApiError, method_not_allowed, unknown_path
from kubetrio.schema import discovery, openapi, openapi2_proto
from kubetrio.schema.registry import Registry
from kubetrio.wire.accept import parse_accept

if TYPE_CHECKING:
    from kubetrio.api.flowpages import FlowPages
    from kubetrio.metrics import Metrics

KUBERNETES_VERSION = "1.36.2"
GIT_VERSION = f"v{KUBERNETES_VERSION}+kubetrio{__version__}"
VARY = (b"Vary", b"Accept")
PUBLIC = (b"Cache-Control", b"public")
PROTO_OPENAPI = "application/com.github.proto-openapi.spec"


def version_info() -> dict[str, str]:
    """The ``/version`` document."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


class Documents:
    """Answers for one server.

    Args:
        registry: what is served.
        health: named checks.
        metrics: counters for ``/metrics``.
        address: ``host:port`` that clients reach, for ``GET /api``.
        pages: pages around the API.
        now: wall clock, seconds since the epoch.
    """

    def __init__(
        self,
        registry: Registry,
        health: Health,
        metrics: Metrics,
        address: str,
        pages: Pages,
        now: Callable[[], float],
    ) -> None:
        self._pages = pages
        self._now = now
        self._registry = registry
        self._health = health
        self._metrics = metrics
        self._address = address
        self._cache: dict[str, tuple[bytes, bytes]] = {}
        self.flow_pages: FlowPages | None = None

    async def answer(self, request: Request) -> AnyResponse:
        """Answer a request for a path that is not a resource.

        Raises:
            ApiError: 404, 405 or 406.
        """
        path = request.info.path
        parts = path.strip("/").split("/")
        root = parts[0]
        if root in self._health.checks:
            return self._health.answer(request)
        if root in ("api", "apis"):
            return self._discovery(request, parts)
        if root == "openapi":
            return await self._openapi(request, parts)
        if path in ("/version", "/version/"):
            self._only_get(request)
            return json_response(version_info())
        if root == "debug" and self.flow_pages is not None:
            return self.flow_pages.answer(request)
        if path == "/metrics":
            self._only_get(request)
            return Response(200, self._metrics.exposition(), METRICS_TYPE)
        if path in ("", "/"):
            self._only_get(request)
            return json_response(discovery.root_paths(self._registry, self._health.paths()))
        page = self._pages.answer(path, self._now())
        if page is None:
            return page_not_found()
        self._only_get(request)
        return page

    @staticmethod
    def _only_get(request: Request) -> None:
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()

    # ------------------------------------------------------------------ discovery

    def _discovery(self, request: Request, parts: list[str]) -> AnyResponse:
        registry = self._registry
        known = self._find(parts)
        if known is None:
            if parts[0] == "apis" and len(parts) >= 2 and parts[1] not in registry.groups:
                return page_not_found()
            raise unknown_path()
        self._only_get(request)
        if len(parts) == 1:
            aggregated = self._aggregated(request, parts[0])
            if aggregated is not None:
                return aggregated
        body, tag = self._document("/".join(parts), known)
        return self._tagged(request, body, tag, JSON, (VARY,) if len(parts) == 1 else ())

    def _find(self, parts: list[str]) -> Callable[[], Any] | None:
        """What makes the legacy document of a path, or None."""
        registry = self._registry
        match parts:
            case ["api"]:
                return lambda: discovery.api_versions(self._address)
            case ["apis"]:
                return lambda: discovery.api_group_list(registry)
            case ["api", version]:
                group_version = GroupVersion("", version)
            case ["apis", group]:
                if not group or group not in registry.groups:
                    return None
                return lambda: discovery.api_group(registry, group)
            case ["apis", group, version] if group:
                group_version = GroupVersion(group, version)
            case _:
                return None
        if group_version not in registry.by_group_version:
            return None
        return lambda: discovery.api_resource_list(registry, group_version)

    def _aggregated(self, request: Request, root: str) -> AnyResponse | None:
        """Aggregated discovery, when it is what the client prefers.

        Raises:
            ApiError: 406 when the client takes nothing that there is.
        """
        wanted = discovery_version(request.header(b"accept"))
        if not wanted:
            return None
        groups = "core" if root == "api" else "named"
        body, tag = self._document(
            f"{root};{wanted}",
            lambda: discovery.aggregated(self._registry, groups, wanted),  # type: ignore[arg-type]
        )
        media = f"application/json;g=apidiscovery.k8s.io;v={wanted};as=APIGroupDiscoveryList"
        return self._tagged(request, body, tag, media.encode(), (VARY, PUBLIC))

    def _document(self, key: str, make: Callable[[], Any]) -> tuple[bytes, bytes]:
        """A document's bytes and entity tag, made once."""
        if key not in self._cache:
            body = json_bytes(make())
            self._cache[key] = (body, discovery.etag(body).encode())
        return self._cache[key]

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
        self._only_get(request)
        if parts == ["openapi", "v2"]:
            if wants_protobuf(request.header(b"accept")):
                body, tag = await self._swagger_protobuf()
                media = openapi2_proto.MEDIA_TYPE.encode()
                return self._tagged(request, body, tag, media, (VARY,))
            body, tag = self._document("openapi/v2", self._swagger)
            return self._tagged(request, body, tag, JSON, (VARY,))
        if parts == ["openapi", "v3"]:
            body, tag = self._document(
                "openapi/v3", lambda: openapi.index(self._registry, version=GIT_VERSION)
            )
            return self._tagged(request, body, tag, b"text/plain; charset=utf-8", (VARY,))
        if parts[:2] == ["openapi", "v3"]:
            return self._openapi_document(request, "/".join(parts[2:]))
        return page_not_found()

    def _swagger(self) -> dict[str, Any]:
        return openapi.swagger_v2(self._registry, version=GIT_VERSION)

    async def _swagger_protobuf(self) -> tuple[bytes, bytes]:
        """The Swagger document as protobuf, made once; other tasks run while it is."""
        key = "openapi/v2;protobuf"
        if key not in self._cache:
            work = openapi2_proto.steps(self._swagger())
            while True:
                await trio.lowlevel.checkpoint()
                try:
                    next(work)
                except StopIteration as done:
                    body: bytes = done.value
                    break
            self._cache[key] = (body, discovery.etag(body).encode())
        return self._cache[key]

    def _openapi_document(self, request: Request, path: str) -> AnyResponse:
        key = f"openapi/v3/{path}"
        if key not in self._cache:
            document = openapi.document(self._registry, path, version=GIT_VERSION)
            if document is None:
                return page_not_found()
            self._cache[key] = (document, discovery.etag(document).encode())
        body, tag = self._cache[key]
        sent = request.query.get("hash")
        headers: list[tuple[bytes, bytes]] = [VARY]
        if sent:
            known = openapi.document_hash(self._registry, path, version=GIT_VERSION)
            if sent != known:
                location = f"/openapi/v3/{path}?hash={known}".encode()
                return Response(301, b"", b"", [(b"Location", location)])
            headers.append((b"Cache-Control", b"public, immutable"))
        return self._tagged(request, body, tag, JSON, headers)


def discovery_version(accept: str) -> str:
    """Version of aggregated discovery a client prefers, empty for the legacy form.

    Raises:
        ApiError: 406 when it takes neither.
    """
    plain = not accept
    for entry in accept.split(","):
        media, *parameters = (part.strip() for part in entry.split(";"))
        given = dict(p.split("=", 1) for p in parameters if "=" in p)
        if given.get("as") == "APIGroupDiscoveryList":
            if given.get("g") == "apidiscovery.k8s.io" and given.get("v") in ("v2", "v2beta1"):
                return given["v"]
            continue
        if media in ("application/json", "*/*", "application/*", ""):
            return ""
        plain = plain or "as" not in given
    if plain:
        return ""
    raise ApiError(
        406, "NotAcceptable", "only the following media types are accepted: application/json"
    )


def wants_protobuf(accept: str) -> bool:
    """Whether a client prefers the Swagger document as protobuf to JSON.

    Raises:
        ApiError: 406 when it wants protobuf of another kind and takes nothing else.
    """
    for clause in parse_accept(accept):
        media = f"{clause.type}/{clause.subtype}"
        if media in openapi2_proto.ASKED_FOR:
            return True
        if media in ("application/json", "application/*", "*/*"):
            return False
    if PROTO_OPENAPI in accept:
        offered = ", ".join(("application/json", *openapi2_proto.ASKED_FOR))
        raise ApiError(
            406, "NotAcceptable", f"only the following media types are accepted: {offered}"
        )
    return False
