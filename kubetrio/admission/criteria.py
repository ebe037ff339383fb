"""Which requests an admission policy is about: rules, selectors, equivalent resources.

Source: docs "Validating Admission Policy" and "Dynamic Admission Control" (rules, objectSelector,
namespaceSelector, matchPolicy).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.machinery.labels import Selector, from_label_selector
from kubetrio.schema.kind import Kind
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE

Object = dict[str, Any]

GetNamespace = Callable[[str], Awaitable[Object | None]]
"""Looks a namespace up by its name."""


def namespace_of(attributes: Attributes) -> str:
    """The namespace of a request; a namespace is in itself."""
    if attributes.resource.group_resource == NAMESPACE_RESOURCE:
        return attributes.name or name_in(attributes.obj)
    return attributes.namespace


def name_in(obj: Object | None) -> str:
    """The name of an object, empty without one."""
    name: str = ((obj or {}).get("metadata") or {}).get("name") or ""
    return name


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """The labels of an object."""
    labels = ((obj or {}).get("metadata") or {}).get("labels")
    return labels if isinstance(labels, dict) else {}


def equivalents(resource: Kind) -> tuple[Kind, ...]:
    """The other resources that are the same objects."""
    if resource.family is None:
        return ()
    return tuple(other for other in resource.family.versions.values() if other is not resource)


@dataclass(frozen=True, slots=True)
class _Rule:
    """One ``NamedRuleWithOperations``."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    def matches(self, resource: Kind, attributes: Attributes, namespace: str) -> bool:
        """Whether a request for a resource is meant."""
        return (
            not self.operations.isdisjoint((attributes.operation.value, "*"))
            and not self.groups.isdisjoint((resource.group, "*"))
            and not self.versions.isdisjoint((resource.version, "*"))
            and any(
                name in ("*", resource.resource) and below in ("*", attributes.subresource)
                for name, below in self.resources
            )
            and self._in_scope(resource, namespace)
            and (not self.names or attributes.name in self.names)
        )

    def _in_scope(self, resource: Kind, namespace: str) -> bool:
        if self.scope == "*":
            return True
        inside = bool(namespace) and resource.group_resource != NAMESPACE_RESOURCE
        return inside == (self.scope == "Namespaced")


def _rules(items: Iterable[Mapping[str, Any]] | None) -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            operations=frozenset(item.get("operations") or ()),
            groups=frozenset(item.get("apiGroups") or ()),
            versions=frozenset(item.get("apiVersions") or ()),
            resources=tuple(
                (name, below)
                for name, _, below in (text.partition("/") for text in item.get("resources") or ())
            ),
            scope=item.get("scope") or "*",
            names=frozenset(item.get("resourceNames") or ()),
        )
        for item in items or ()
    )


class Criteria:
    """A ``MatchResources``, ready to be asked.

    Args:
        resources: the object; None matches everything.

    Raises:
        ValueError: a selector cannot be read.
    """

    def __init__(self, resources: Mapping[str, Any] | None) -> None:
        resources = resources or {}
        self._namespaces = _selector(resources.get("namespaceSelector"))
        self._objects = _selector(resources.get("objectSelector"))
        self._rules = _rules(resources.get("resourceRules"))
        self._excluded = _rules(resources.get("excludeResourceRules"))
        self._equivalent = resources.get("matchPolicy") == "Equivalent"

    async def match(self, attributes: Attributes, get: GetNamespace) -> Kind | None:
        """The resource as which a request is meant, None when it is not.

        Args:
            attributes: the request.
            get: looks namespaces up.
        """
        # Most policies are about other resources: that is the cheapest to tell.
        resource = attributes.resource
        if self._rules:
            matched = self._first(self._rules, attributes)
            if matched is None:
                return None
            resource = matched
        if self._excluded and self._first(self._excluded, attributes) is not None:
            return None
        if not self._objects.empty and not (
            (attributes.obj is not None and self._objects.matches(labels_of(attributes.obj)))
            or (attributes.old is not None and self._objects.matches(labels_of(attributes.old)))
        ):
            return None
        if not self._namespaces.empty and not await self._in_namespace(attributes, get):
            return None
        return resource

    def _first(self, rules: tuple[_Rule, ...], attributes: Attributes) -> Kind | None:
        namespace = namespace_of(attributes)
        if any(rule.matches(attributes.resource, attributes, namespace) for rule in rules):
            return attributes.resource
        if not self._equivalent:
            return None
        others = equivalents(attributes.resource)
        for rule in rules:
            for other in others:
                if rule.matches(other, attributes, namespace):
                    return other
        return None

    async def _in_namespace(self, attributes: Attributes, get: GetNamespace) -> bool:
        is_namespace = attributes.resource.group_resource == NAMESPACE_RESOURCE
        name = namespace_of(attributes)
        if not name and not is_namespace:
            return True  # selectors of namespaces say nothing about what is in none
        writing = attributes.operation in (Operation.CREATE, Operation.UPDATE)
        if is_namespace and writing and not attributes.subresource:
            return self._namespaces.matches(labels_of(attributes.obj))
        return self._namespaces.matches(labels_of(await get(name)))


def _selector(value: Mapping[str, Any] | None) -> Selector:
    return from_label_selector(value if value is not None else {})
