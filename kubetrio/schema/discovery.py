"""Discovery documents, derived from a registry snapshot.

Two families answer the same question.  The older one is a walk: ``/api`` and ``/apis`` name
groups, ``/apis/<group>`` its versions, ``/apis/<group>/<version>`` its resources.  The aggregated
one (KEP-3352) gives all groups in a single document at ``/api`` (core) and ``/apis`` (the rest),
asked for by media type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from kubetrio.machinery.names import GroupVersion
from kubetrio.schema import builtin
from kubetrio.schema.aggregated import NOTHING_AGGREGATED, AggregatedDocuments
from kubetrio.schema.kind import Kind, Subresource
from kubetrio.schema.registry import Registry
from kubetrio.schema.steps import Steps, finish

Json = dict[str, Any]

# The order kube-apiserver gives for custom resources, where built-in ones are sorted by name.
CUSTOM_VERBS: Final = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
CUSTOM_SUBRESOURCES: Final = ("status", "scale")
HASHED_BYTES: Final = 256 * 1024
"""Bytes of a document that are hashed in a step."""
GROUPS: Final = 64
"""Groups of an aggregated document that are written in a step."""
HEALTH_ROOTS: Final = ("/healthz", "/livez", "/readyz")


def is_custom(resource: Kind) -> bool:
    """Whether a resource comes from a CustomResourceDefinition, which documents show."""
    return not resource.builtin


def etag(document: bytes) -> str:
    """Entity tag of a document: its SHA-512 in upper-case hexadecimal, with the quotes."""
    return f'"{hashlib.sha512(document).hexdigest().upper()}"'


def etag_steps(document: bytes) -> Steps[str]:
    """``etag`` in steps, for documents of a megabyte."""
    digest = hashlib.sha512()
    for start in range(0, len(document), HASHED_BYTES):
        digest.update(memoryview(document)[start : start + HASHED_BYTES])
        yield
    return f'"{digest.hexdigest().upper()}"'


def api_versions(server_address: str) -> Json:
    """The answer of ``GET /api``: APIVersions.

    Args:
        server_address: ``host:port`` under which clients reach this server.
    """
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
        ],
    }


def api_group_list(registry: Registry, others: AggregatedDocuments = NOTHING_AGGREGATED) -> Json:
    """The answer of ``GET /apis``: APIGroupList in order of priority, without the core group.

    Args:
        registry: what is served.
        others: documents of other servers.
    """
    groups = others.groups(registry, walked=True)
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(group, versions) for group, versions in groups.items() if group],
    }


def api_group(
    registry: Registry, group: str, others: AggregatedDocuments = NOTHING_AGGREGATED
) -> Json | None:
    """The answer of ``GET /apis/<group>``: APIGroup, or None for a group that is not served."""
    versions = others.groups(registry, walked=True).get(group)
    if not group or not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def _group(group: str, versions: Sequence[str]) -> Json:
    served = [
        {"groupVersion": GroupVersion(group, version).api_version, "version": version}
        for version in versions
    ]
    return {"name": group, "versions": served, "preferredVersion": dict(served[0])}


def api_resource_list(registry: Registry, group_version: GroupVersion) -> Json | None:
    """The answer of ``GET /api/v1`` or ``GET /apis/<group>/<version>``: APIResourceList.

    Returns:
        The list, sorted by name, or None for a version that is not served.
    """
    resources = registry.by_group_version.get(group_version)
    if resources is None:
        return None
    entries: list[Json] = []
    for resource in sorted(resources, key=lambda item: item.resource):
        entries.append(_resource_entry(resource))
        entries += [_subresource_entry(resource, sub) for sub in _subresources(resource)]
    # The core list is the one document of the family without an apiVersion.
    head: Json = {"kind": "APIResourceList"}
    if group_version.group:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": group_version.api_version, "resources": entries}


def _resource_entry(resource: Kind) -> Json:
    entry: Json = {
        "name": resource.resource,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    _add_present(
        entry,
        shortNames=list(resource.short_names),
        categories=list(resource.categories),
        storageVersionHash=resource.storage_version_hash,
    )
    return entry


def _subresource_entry(resource: Kind, sub: Subresource) -> Json:
    entry: Json = {
        "name": f"{resource.resource}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if sub.kind[:2] != resource.group_version:
        _add_present(entry, group=sub.kind.group, version=sub.kind.version)
    return {**entry, "kind": sub.kind.kind, "verbs": sorted(sub.verbs)}


def aggregated(
    registry: Registry,
    groups: Literal["core", "named"],
) -> Json:
    """The aggregated document: APIGroupDiscoveryList of ``apidiscovery.k8s.io``.

    Args:
        registry: what is served.
        groups: ``core`` for ``GET /api``, ``named`` for ``GET /apis``.
    """
    return finish(aggregated_steps(registry, groups))


def aggregated_steps(
    registry: Registry,
    groups: Literal["core", "named"],
    others: AggregatedDocuments = NOTHING_AGGREGATED,
) -> Steps[Json]:
    """``aggregated`` in steps of some groups, with what others serve; arguments as there."""
    items: list[Json] = []
    for group, versions in others.groups(registry).items():
        if bool(group) != (groups == "named"):
            continue
        parts = [_aggregated_version(registry, group, item, others) for item in versions]
        items.append({"metadata": {"name": group} if group else {}, "versions": parts})
        if len(items) % GROUPS == 0:
            yield
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_version(
    registry: Registry, group: str, version: str, others: AggregatedDocuments
) -> Json:
    other = others.versions.get(GroupVersion(group, version))
    if other is not None:
        return other.entry
    resources = registry.by_group_version[GroupVersion(group, version)]
    entry: Json = {"version": version}
    _add_present(
        entry,
        resources=[
            _aggregated_resource(resource)
            for resource in sorted(resources, key=lambda item: item.resource)
        ],
    )
    return {**entry, "freshness": "Current"}


def _aggregated_resource(resource: Kind) -> Json:
    entry: Json = {
        "resource": resource.resource,
        "responseKind": _response_kind(resource, resource.group_version_kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    _add_present(
        entry,
        shortNames=list(resource.short_names),
        categories=list(resource.categories),
        subresources=[
            {
                "subresource": sub.name,
                "responseKind": _response_kind(resource, sub.kind),
                "verbs": sorted(sub.verbs),
            }
            for sub in _subresources(resource)
        ],
    )
    return entry


def _response_kind(resource: Kind, kind: tuple[str, str, str]) -> Json:
    group, version, name = kind
    # Built-in resources leave out what the place in the document already says.
    if (group, version) == resource.group_version and not is_custom(resource):
        group = version = ""
    return {"group": group, "version": version, "kind": name}


def _verbs(resource: Kind) -> list[str]:
    if is_custom(resource):
        return sorted(resource.verbs, key=_position(CUSTOM_VERBS))
    return sorted(resource.verbs)


def _subresources(resource: Kind) -> list[Subresource]:
    order = _position(CUSTOM_SUBRESOURCES if is_custom(resource) else ())
    return [resource.subresources[name] for name in sorted(resource.subresources, key=order)]


def _position(order: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """Sort key: place in a sequence, then by name for what is not in it."""
    places = {name: index for index, name in enumerate(order)}
    return lambda name: (places.get(name, len(places)), name)


def _add_present(entry: Json, **members: Any) -> None:
    entry.update({key: value for key, value in members.items() if value})


def root_paths(
    registry: Registry,
    health_checks: Sequence[str],
    others: AggregatedDocuments = NOTHING_AGGREGATED,
) -> Json:
    """The answer of ``GET /``: every path with a handler, sorted.

    Args:
        registry: what is served; gives the paths below ``/api`` and ``/apis``.
        health_checks: paths of the health endpoints, such as ``/livez`` and ``/livez/ping``.
        others: documents of other servers.
    """
    paths = {"/api", "/apis", "/apis/", *health_checks}
    for group, versions in others.groups(registry, walked=True).items():
        root = f"/apis/{group}" if group else "/api"
        paths.add(root)
        paths.update(f"{root}/{version}" for version in versions)
    paths.update(
        path for path in builtin.load("resources")["rootPaths"] if not path.startswith(HEALTH_ROOTS)
    )
    return {"paths": sorted(paths)}
