"""The registry: which kinds are served, as immutable snapshots of data and a holder of the newest.

The holder is passed in and never imported, so that two servers in one process can serve different
kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kubetrio.machinery.names import (
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    version_order,
)
from kubetrio.runtime.groups import call_all
from kubetrio.schema.kind import Kind


@dataclass(frozen=True, kw_only=True)
class Registry:
    """An immutable snapshot of everything that is served.

    Args:
        groups: group name to its versions, preferred first, in discovery order.
        resources: by (group, version, plural name).
    """

    groups: Mapping[str, tuple[str, ...]]
    resources: Mapping[tuple[str, str, str], Kind]

    @cached_property
    def by_group_version(self) -> Mapping[GroupVersion, tuple[Kind, ...]]:
        """Resources of each version, in registry order."""
        table: dict[GroupVersion, list[Kind]] = {
            GroupVersion(group, version): []
            for group, versions in self.groups.items()
            for version in versions
        }
        for resource in self.resources.values():
            table.setdefault(resource.group_version, []).append(resource)
        return {key: tuple(value) for key, value in table.items()}

    @cached_property
    def by_kind(self) -> Mapping[GroupVersionKind, Kind]:
        """Resources by the identity of their objects."""
        return {resource.group_version_kind: resource for resource in self.resources.values()}

    def get(self, group: str, version: str, resource: str) -> Kind | None:
        """The resource a path names, or None."""
        return self.resources.get((group, version, resource))

    @cached_property
    def _by_prefix(self) -> Mapping[str, Kind]:
        found: dict[str, Kind] = {}
        for kind in self.resources.values():
            if kind.storage_prefix:
                found.setdefault(kind.storage_prefix, kind.stored)
        return found

    def kind_of_key(self, key: str) -> Kind | None:
        """Return the kind of what is under a key, in the version in which it is stored."""
        at = key.find("/", 1)
        for _ in range(2):
            at = key.find("/", at + 1)
            if at < 0:
                return None
            found = self._by_prefix.get(key[: at + 1])
            if found is not None:
                return found
        return None

    def with_resources(self, extra: Iterable[Kind]) -> Registry:
        """A snapshot with more resources.

        New groups go behind the built-in ones, by name, and new versions behind built-in versions
        of their group, the most stable and newest first: so kube-apiserver lists what definitions
        bring, whose priorities are all the same.
        """
        groups = dict(self.groups)
        resources = dict(self.resources)
        ours = self._builtin
        new = False
        for resource in extra:
            group, version = resource.group, resource.version
            versions = groups.get(group, ())
            new = new or not versions
            if version not in versions:
                first = [item for item in versions if (group, item) in ours]
                rest = [item for item in (*versions, version) if item not in first]
                groups[group] = (*first, *sorted(rest, key=version_order))
            resources[(group, version, resource.resource)] = resource
        if new:
            named = {group for group, _ in ours}
            added = sorted(group for group in groups if group not in named)
            groups = {
                **{group: groups[group] for group in groups if group in named},
                **{group: groups[group] for group in added},
            }
        return Registry(groups=groups, resources=resources)

    @cached_property
    def _builtin(self) -> frozenset[tuple[str, str]]:
        """Groups and versions with a kind that is part of the server."""
        return frozenset(
            (kind.group, kind.version) for kind in self.resources.values() if kind.builtin
        )

    def is_builtin(self, group: str) -> bool:
        """Whether a group has kinds that are part of the server."""
        return group in self._builtin_groups

    @cached_property
    def _builtin_groups(self) -> frozenset[str]:
        return frozenset(group for group, _ in self._builtin)

    @cached_property
    def by_group_resource(self) -> Mapping[GroupResource, Kind]:
        """One of the versions of each resource."""
        kinds: dict[GroupResource, Kind] = {}
        for kind in self.resources.values():
            kinds.setdefault(kind.group_resource, kind)
        return kinds

    def preferred(self, *verbs: str) -> list[Kind]:
        """One kind of each resource: in the first version of its group that has it.

        Args:
            verbs: that the kinds serve.
        """
        kinds: dict[GroupResource, Kind] = {}
        for group, versions in self.groups.items():
            for version in versions:
                for kind in self.by_group_version[GroupVersion(group, version)]:
                    kinds.setdefault(kind.group_resource, kind)
        return [kind for kind in kinds.values() if kind.verbs.issuperset(verbs)]

    def without(self, gone: Iterable[Kind]) -> Registry:
        """A snapshot with fewer kinds; versions and groups that nothing is left of go too."""
        resources = dict(self.resources)
        for kind in gone:
            resources.pop((kind.group, kind.version, kind.resource), None)
        left = {(group, version) for group, version, _ in resources}
        groups = {
            group: tuple(version for version in versions if (group, version) in left)
            for group, versions in self.groups.items()
        }
        return Registry(
            groups={group: versions for group, versions in groups.items() if versions},
            resources=resources,
        )


def gone(before: Registry, after: Registry) -> list[Kind]:
    """The kinds that one snapshot has and a later one has not, or has another value of."""
    left = after.resources
    return [kind for key, kind in before.resources.items() if left.get(key) is not kind]


Changed = Callable[[Registry, Registry], None]
"""Told of a change: (snapshot before, snapshot after)."""


class LiveRegistry:
    """The newest snapshot of one server's registry, and who is told of changes.

    Args:
        current: the first snapshot.
    """

    def __init__(self, current: Registry) -> None:
        self.current = current
        self._subscribers: list[Changed] = []

    def subscribe(self, changed: Changed) -> None:
        """Have a function called after each change, in the order of subscription.

        Args:
            changed: it must return at once; what takes long is done later.
        """
        self._subscribers.append(changed)

    def replace(self, snapshot: Registry) -> None:
        """Serve what a snapshot says from now on.

        Raises:
            ExceptionGroup: subscribers failed; the others were told all the same.
        """
        before, self.current = self.current, snapshot
        call_all(self._subscribers, before, snapshot)

    def add(self, kinds: Iterable[Kind]) -> None:
        """Serve more kinds, or others in their place."""
        self.replace(self.current.with_resources(kinds))

    def remove(self, kinds: Iterable[Kind]) -> None:
        """Serve these kinds no more."""
        self.replace(self.current.without(kinds))

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """See `Registry`."""
        return self.current.groups

    @property
    def resources(self) -> Mapping[tuple[str, str, str], Kind]:
        """See `Registry`."""
        return self.current.resources

    @property
    def by_kind(self) -> Mapping[GroupVersionKind, Kind]:
        """See `Registry`."""
        return self.current.by_kind

    @property
    def by_group_resource(self) -> Mapping[GroupResource, Kind]:
        """See `Registry`."""
        return self.current.by_group_resource

    def is_builtin(self, group: str) -> bool:
        """See `Registry`."""
        return self.current.is_builtin(group)

    def get(self, group: str, version: str, resource: str) -> Kind | None:
        """See `Registry`."""
        return self.current.resources.get((group, version, resource))
