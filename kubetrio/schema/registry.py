"""The type registry: which resources are served, as immutable snapshots of data.

A built-in kind is rows of ``schemas/``; a CustomResourceDefinition makes the same entries at run
time.  Nothing here decides behaviour: that is a strategy (``resources.strategy``) or a schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kubetrio.machinery.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A path below an object.

    Args:
        name: last path element, such as ``status``.
        kind: identity of the body it takes and returns.
        verbs: API verbs it serves.
        older: versions of that kind which it takes as well.
    """

    name: str
    kind: GroupVersionKind
    verbs: frozenset[str]
    older: frozenset[GroupVersionKind] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False)
class ResourceType:
    """One resource in one version; compared by identity, so that it can key caches.

    Args:
        group: API group, empty for core.
        version: API version.
        resource: plural name, as in paths.
        kind: kind name.
        singular: singular name, for discovery.
        namespaced: whether objects live in a namespace.
        verbs: API verbs the collection serves.
        short_names: aliases for kubectl.
        categories: groups of resources for kubectl, such as ``all``.
        storage_version_hash: opaque text for discovery, or empty.
        schema_name: name of the type in ``schemas/types``, or empty.
        storage_prefix: key prefix of its objects, ending with a slash.
        storage_group_version: group and version in which objects are stored, None for its own.
        subresources: by name.
        cached: whether kube-apiserver reads its objects from memory where a request lets it; what
            it always reads from etcd it pages whenever there is a limit, and does not wait for.
    """

    group: str
    version: str
    resource: str
    kind: str
    singular: str
    namespaced: bool
    verbs: frozenset[str]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""
    schema_name: str = ""
    storage_prefix: str = ""
    storage_group_version: GroupVersion | None = None
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    cached: bool = True

    @cached_property
    def group_version(self) -> GroupVersion:
        """Group and version."""
        return GroupVersion(self.group, self.version)

    @cached_property
    def api_version(self) -> str:
        """The ``apiVersion`` text of its objects."""
        return self.group_version.api_version

    @cached_property
    def group_resource(self) -> GroupResource:
        """Identity in messages about paths."""
        return GroupResource(self.group, self.resource)

    @cached_property
    def group_kind(self) -> GroupKind:
        """Identity in messages about objects."""
        return GroupKind(self.group, self.kind)

    @cached_property
    def group_version_kind(self) -> GroupVersionKind:
        """Identity of its objects."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @cached_property
    def stored_as(self) -> GroupVersion:
        """Group and version of stored objects."""
        return self.storage_group_version or self.group_version

    @cached_property
    def list_kind(self) -> str:
        """Kind of its collections."""
        return f"{self.kind}List"

    def key(self, namespace: str, name: str) -> str:
        """Storage key of one object."""
        if self.namespaced:
            return f"{self.storage_prefix}{namespace}/{name}"
        return f"{self.storage_prefix}{name}"

    def prefix(self, namespace: str) -> str:
        """Key prefix of a collection; an empty namespace means all of them."""
        if self.namespaced and namespace:
            return f"{self.storage_prefix}{namespace}/"
        return self.storage_prefix


@dataclass(frozen=True, kw_only=True)
class Registry:
    """An immutable snapshot of everything that is served.

    Args:
        groups: group name to its versions, preferred first, in discovery order.
        resources: by (group, version, plural name).
    """

    groups: Mapping[str, tuple[str, ...]]
    resources: Mapping[tuple[str, str, str], ResourceType]

    @cached_property
    def by_group_version(self) -> Mapping[GroupVersion, tuple[ResourceType, ...]]:
        """Resources of each version, in registry order."""
        table: dict[GroupVersion, list[ResourceType]] = {
            GroupVersion(group, version): []
            for group, versions in self.groups.items()
            for version in versions
        }
        for resource in self.resources.values():
            table.setdefault(resource.group_version, []).append(resource)
        return {key: tuple(value) for key, value in table.items()}

    @cached_property
    def by_kind(self) -> Mapping[GroupVersionKind, ResourceType]:
        """Resources by the identity of their objects."""
        return {resource.group_version_kind: resource for resource in self.resources.values()}

    def get(self, group: str, version: str, resource: str) -> ResourceType | None:
        """The resource a path names, or None."""
        return self.resources.get((group, version, resource))

    def with_resources(self, extra: Iterable[ResourceType]) -> Registry:
        """A snapshot with more resources; new groups and versions go last."""
        groups = dict(self.groups)
        resources = dict(self.resources)
        for resource in extra:
            versions = groups.get(resource.group, ())
            if resource.version not in versions:
                groups[resource.group] = (*versions, resource.version)
            resources[(resource.group, resource.version, resource.resource)] = resource
        return Registry(groups=groups, resources=resources)
