"""Which requests another server answers; how they get there is in `api.delegating`.

Most servers have no others behind them, so that is imported when it is first asked for, in a
thread.
"""

from __future__ import annotations

import importlib
import sys

from kubetrio.aggregation.routes import Route
from kubetrio.api.delegation import Delegation
from kubetrio.api.request import Request, resolve
from kubetrio.api.response import AnyResponse
from kubetrio.api.routing import passes_upgrades
from kubetrio.env import Env
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


def route_of(delegation: Delegation, path: str) -> Route | None:
    """Server that a path is delegated to; None when it is served here."""
    version = version_asked(path)
    return None if version is None else delegation.routes.get(version)


async def _import(env: Env) -> None:
    if MODULE not in sys.modules:
        await env.run_blocking(importlib.import_module, MODULE)


async def delegated(delegation: Delegation, request: Request, route: Route) -> AnyResponse:
    """Another server's answer."""
    await _import(delegation.env)
    from kubetrio.api.proxy.delegating import delegate

    return await delegate(delegation, request, route)


async def document_of_others(
    delegation: Delegation, request: Request, path: str
) -> AnyResponse | None:
    """A document of OpenAPI v3 that another server has; None when none has.

    Args:
        delegation: knows the other servers.
        request: asks for the document.
        path: below ``/openapi/v3/``.
    """
    route = delegation.aggregation.documents.route_of_document(path)
    return None if route is None else await delegated(delegation, request, route)


def tunnels(delegation: Delegation, method: str, raw_path: str) -> bool:
    """Whether an upgrade to another protocol is for a server behind this one.

    Args:
        delegation: knows the other servers.
        method: HTTP method.
        raw_path: path as sent, without the query.
    """
    if delegation.routes and route_of(delegation, resolve(method, raw_path, {}).path) is not None:
        return True
    return passes_upgrades(method, raw_path)
