"""Which requests another server answers; how they get there is in `api.delegating`.

Most servers have no others behind them, so that is imported when it is first asked for, in a
thread.
"""

from __future__ import annotations

import importlib
import sys

from kubetrio.aggregation.routes import Route
from kubetrio.api.api import Api
from kubetrio.api.request import Request, resolve
from kubetrio.api.response import AnyResponse
from kubetrio.api.routing import passes_upgrades
from kubetrio.machinery.names import GroupVersion

MODULE = "kubetrio.api.proxy.delegating"


def version_asked(path: str) -> GroupVersion | None:
    """The group and version that a path is about, None where it is about neither.

    Args:
        path: decoded.
    """
    match path.split("/"):
        case ["", "apis", group, version, *_]:
            return GroupVersion(group, version)
        case ["", "api", version, *_]:
            return GroupVersion("", version)
    return None


def route_of(api: Api, path: str) -> Route | None:
    """Who else serves a path, None when nobody does."""
    version = version_asked(path)
    return None if version is None else api.routes.get(version)


async def _import(api: Api) -> None:
    if MODULE not in sys.modules:
        await api.env.run_blocking(importlib.import_module, MODULE)


async def delegated(api: Api, request: Request, route: Route) -> AnyResponse:
    """Another server's answer."""
    await _import(api)
    from kubetrio.api.proxy.delegating import delegate

    return await delegate(api, request, route)


async def document_of_others(api: Api, request: Request, path: str) -> AnyResponse | None:
    """A document of OpenAPI v3 that another server has; None when none has.

    Args:
        api: knows the other servers.
        request: asks for the document.
        path: below ``/openapi/v3/``.
    """
    route = api.aggregation.documents.route_of_document(path)
    return None if route is None else await delegated(api, request, route)


def tunnels(api: Api, method: str, raw_path: str) -> bool:
    """Whether an upgrade to another protocol is not for this server but for one behind it.

    Args:
        api: knows the other servers.
        method: HTTP method.
        raw_path: path as sent, without the query.
    """
    if api.routes and route_of(api, resolve(method, raw_path, {}).path) is not None:
        return True
    return passes_upgrades(method, raw_path)
