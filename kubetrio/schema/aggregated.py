"""Groups and versions that other servers serve, as this server's documents show them.

Source: k8s.io/kube-aggregator/pkg/apiserver (handler_apis, handler_discovery), apiserver's
resource manager for the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubetrio.machinery.names import GroupVersion, version_order
from kubetrio.schema.registry import Registry

Json = dict[str, Any]
Priorities = tuple[int, int]
"""Of a group and of a version of it; what is higher comes first."""

FIRST: Final = "apiregistration.k8s.io"
FIRST_PRIORITY: Final = 20_001
UNSAID: Final = (1000, 100)
"""The priorities of versions that no APIService is about, as of custom resources."""


@dataclass(frozen=True, slots=True)
class AggregatedVersion:
    """A version that another server serves.

    Args:
        priorities: of its group and of itself.
        entry: what the aggregated discovery document says of it.
    """

    priorities: Priorities
    entry: Json


@dataclass(frozen=True, slots=True)
class AggregatedDocuments:
    """Documents of everything that other servers serve.

    Args:
        versions: by group and version; they count before what this server has itself.
        local: priorities of what APIServices say is of this server, whether it is served or not.
        indexed: documents of OpenAPI v3 by path, and where they are.
        swaggers: OpenAPI v2 of others, by priority.
    """

    versions: Mapping[GroupVersion, AggregatedVersion] = field(default_factory=dict)
    local: Callable[[], Mapping[GroupVersion, Priorities]] = dict
    indexed: Mapping[str, str] = field(default_factory=dict)
    swaggers: tuple[Json, ...] = ()

    def groups(self, registry: Registry, *, walked: bool = False) -> Mapping[str, tuple[str, ...]]:
        """All groups and their versions, preferred first.

        Args:
            registry: what this server has.
            walked: as the older documents have them: with versions that APIServices say are of
                this server though nothing of them is served, and groups of one priority by the
                version that has it, then by the group; otherwise by the group.
        """
        local = self.local() if self.versions or walked else {}
        unserved = walked and not registry.by_group_version.keys() >= local.keys()
        if not self.versions and not unserved:
            return registry.groups
        known: dict[GroupVersion, Priorities] = {
            GroupVersion(group, version): local.get(GroupVersion(group, version), UNSAID)
            for group, versions in registry.groups.items()
            for version in versions
        }
        if unserved:
            known.update(local)
        known.update((version, other.priorities) for version, other in self.versions.items())
        return _ordered(known, walked=walked)


NOTHING_AGGREGATED: Final = AggregatedDocuments()
"""Of a server without APIServices."""


def _ordered(
    known: Mapping[GroupVersion, Priorities], *, walked: bool
) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for group, version in known:
        groups.setdefault(group, []).append(version)

    def place(group: str) -> tuple[int, str, str]:
        if group == FIRST:
            return -FIRST_PRIORITY, "", ""
        of_versions = [(-known[GroupVersion(group, one)][0], one) for one in groups[group]]
        priority, version = min(of_versions)
        return priority, version if walked else "", group

    def version_place(group: str, version: str) -> tuple[Any, ...]:
        return -known[GroupVersion(group, version)][1], *version_order(version)

    return {
        group: tuple(sorted(groups[group], key=lambda one: version_place(group, one)))
        for group in sorted(groups, key=place)
    }


def from_resource_list(resources: Iterable[Json]) -> list[Json]:
    """The resources of the aggregated document, from those of the older one.

    Raises:
        ValueError: a subresource is namespaced where its resource is not, or the other way.
    """
    by_name: dict[str, Json] = {}
    below: list[tuple[str, str, Json]] = []
    for one in resources:
        name, _, subresource = one["name"].partition("/")
        if subresource:
            below.append((name, subresource, one))
            continue
        by_name[name] = {
            "resource": name,
            "responseKind": _kind(one),
            "scope": _scope(one),
            "singularResource": one.get("singularName") or "",
            "verbs": one.get("verbs") or [],
            **{key: one[key] for key in ("shortNames", "categories") if one.get(key)},
        }
    for name, subresource, one in below:
        without_kind = {
            "resource": name,
            "responseKind": _kind({}),
            "scope": _scope(one),
            "singularResource": "",
            "verbs": [],
        }
        parent = by_name.setdefault(name, without_kind)
        if parent["scope"] != _scope(one):
            raise ValueError(f"the scopes of {name} and {subresource} do not match")
        parent.setdefault("subresources", []).append(
            {
                "subresource": subresource,
                "responseKind": _kind(one),
                "verbs": one.get("verbs") or [],
            }
        )
    return list(by_name.values())


def checked(resource: object) -> Json:
    """A resource of another server's aggregated document, with what clients count on, and no more.

    Args:
        resource: anything.

    Raises:
        ValueError: it has members of other types than it should.
    """
    one = _map(resource)
    shown: Json = {
        "resource": _text(one, "resource"),
        "responseKind": _checked_kind(one),
        "scope": _text(one, "scope"),
        "singularResource": _text(one, "singularResource"),
        "verbs": _texts(one, "verbs"),
    }
    for key in ("shortNames", "categories"):
        if texts := _texts(one, key):
            shown[key] = texts
    below = one.get("subresources") or []
    if not isinstance(below, list):
        raise ValueError("subresources is no list")
    if below:
        shown["subresources"] = [
            {
                "subresource": _text(_map(each), "subresource"),
                "responseKind": _checked_kind(each),
                "verbs": _texts(each, "verbs"),
            }
            for each in below
        ]
    return shown


def _map(value: object) -> Json:
    if not isinstance(value, dict):
        raise ValueError("a list or text stands for an object")
    return value


def _checked_kind(one: Json) -> Json:
    kind = _map(one.get("responseKind") or {})
    return {name: _text(kind, name) for name in ("group", "version", "kind")}


def _text(one: Json, key: str) -> str:
    value = one.get(key) or ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value


def _texts(one: Json, key: str) -> list[str]:
    value = one.get(key) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key} is no list of texts")
    return value


def _kind(one: Json) -> Json:
    return {name: one.get(name) or "" for name in ("group", "version", "kind")}


def _scope(one: Json) -> str:
    return "Namespaced" if one.get("namespaced") else "Cluster"
