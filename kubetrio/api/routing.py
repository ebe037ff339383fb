"""Which path takes which verb: 404 and 405 as kube-apiserver's route table answers them."""

from __future__ import annotations

from typing import Any

from kubetrio.api.request import Request, RequestInfo, resolve
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.names_validation import path_segment
from kubetrio.machinery.status import (
    ApiError,
    bad_request,
    method_not_allowed,
    not_found,
    not_supported,
    unknown_path,
)
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import NAMESPACES

PASSED_ON = frozenset({"attach", "exec", "portforward", "proxy"})
"""Subresources whose requests a kubelet, a pod or an endpoint answers."""
ACROSS_NAMESPACES = frozenset({"list", "watch"})
"""All that the path of a namespaced collection takes without a namespace.

Source: installer.go of kube-apiserver registers no other action there.
"""
COLLECTION_VERBS = frozenset({"list", "watch", "create", "deletecollection"})


class NotServed(Exception):
    """The path is below no known group: a plain 404."""


def find(registry: LiveRegistry, request: Request) -> Kind:
    """The resource of a request, its verb checked.

    Raises:
        NotServed: nothing is served there.
        ApiError: 400, 404 or 405.
    """
    resource = _named(registry, request.info)
    return (_builtin if resource.builtin else _custom)(request, resource)


def _named(registry: LiveRegistry, info: RequestInfo) -> Kind:
    """The resource that a path names.

    Raises:
        NotServed: the group is not served at all, or not by a router.
        ApiError: 404.
    """
    if info.group not in registry.groups or info.path.startswith("//"):
        raise NotServed
    resource = registry.resources.get((info.group, info.version, info.resource))
    if resource is not None:
        return resource
    if not registry.is_builtin(info.group):
        raise NotServed
    raise unknown_path()


def _builtin(request: Request, resource: Kind) -> Kind:
    """A built-in resource, its verb checked.

    Raises:
        ApiError: 404 or 405.
    """
    info = request.info
    _check_shape(info, resource)
    if info.verb == "watch" and "watch" not in resource.verbs and _behind_prefix(info):
        raise unknown_path()
    if info.verb == "proxy":
        raise unknown_path()  # a prefix that went long ago
    proxied = info.subresource == "proxy"
    if request.method in ("HEAD", "OPTIONS"):
        if not proxied:
            raise method_not_allowed()
    elif not info.verb:
        raise method_not_allowed()
    if info.verb == "watch":
        if len(info.parts) > 2:
            raise unknown_path()  # the old prefix stands before objects only
        if request.method != "GET":
            raise method_not_allowed()
    verbs = resource.verbs
    if info.subresource:
        sub = resource.subresources.get(info.subresource)
        if sub is None:
            raise unknown_path()
        verbs = sub.verbs
        if proxied and request.method == "OPTIONS":
            return resource
    elif bool(info.name) == (info.verb in COLLECTION_VERBS) and not _named_collection(info):
        raise method_not_allowed()
    if info.verb not in verbs:
        if info.verb == "watch" and "list" in verbs:
            advise(request, resource)  # this refusal is that of a handler
            raise not_supported(resource.group_resource, "watch")
        raise method_not_allowed()
    if resource.namespaced and not info.namespace and info.verb not in ACROSS_NAMESPACES:
        raise method_not_allowed()
    return resource


def _custom(request: Request, resource: Kind) -> Kind:
    """A custom resource, which no router stands before, its verb checked.

    Source: customresource_handler.go.

    Raises:
        NotServed: nothing of this scope is served.
        ApiError: 400, 404 or 405.
    """
    info = request.info
    if resource.namespaced:
        if not info.namespace and info.verb not in ACROSS_NAMESPACES:
            raise NotServed
    elif info.namespace:
        raise NotServed
    advise(request, resource)
    verbs = resource.verbs
    if info.subresource:
        below = resource.subresources.get(info.subresource)
        if below is None:
            raise not_found(resource.group_resource, info.name)
        verbs = below.verbs
    if info.verb not in verbs:
        raise not_supported(resource.group_resource, info.verb)
    if not info.name and info.verb in ("get", "update", "patch", "delete"):
        raise bad_request("name must be provided")
    return resource


def check_name(name: str) -> None:
    """Refuse a name in a path that no object can be stored under.

    Raises:
        ApiError: 400.
    """
    if "%" in name or name in (".", ".."):
        why = ";".join(path_segment(name))
        raise bad_request(f"Name parameter invalid: {quote(name)}: {why}")


def passes_upgrades(method: str, raw_path: str) -> bool:
    """Whether an upgrade to another protocol is for a server behind this one.

    Args:
        method: HTTP method.
        raw_path: path as sent, without the query.
    """
    return resolve(method, raw_path, {}).subresource in PASSED_ON


def _behind_prefix(info: RequestInfo) -> bool:
    """Whether the verb is the deprecated prefix of the path."""
    return info.path.split("/")[4 if info.prefix == "apis" else 3] == info.verb


def _named_collection(info: RequestInfo) -> bool:
    """Lists pinned to a name by a field selector, and watches of one object."""
    return info.verb in ("list", "watch")


def _check_shape(info: RequestInfo, resource: Kind) -> None:
    """Raise 404 for paths no route has."""
    in_path = len(info.parts) > 1
    if len(info.parts) > 3 and info.subresource != "proxy":
        raise unknown_path()
    if resource.namespaced:
        if not info.namespace and in_path:
            raise unknown_path()
    elif info.namespace and info.resource != NAMESPACES:
        raise unknown_path()


def advise(request: Request, resource: Kind) -> None:
    """Warn of a deprecated resource."""
    if resource.deprecated:
        request.warn([resource.deprecated])


STORED_SUBRESOURCES = frozenset(
    {"", "status", "finalize", "approval", "ephemeralcontainers", "resize"}
)
"""Subresources that are a part of the stored object."""


def not_implemented(resource: GroupResource, subresource: str) -> ApiError:
    """501: the path is known and its behaviour is not there yet."""
    what = f"{resource.resource}/{subresource}" if subresource else resource.resource
    details: dict[str, Any] = {"kind": resource.resource}
    if resource.group:
        details["group"] = resource.group
    return ApiError(
        501, "NotImplemented", f"this verb is not implemented by kubetrio for {what}", details
    )
