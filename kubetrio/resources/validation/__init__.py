"""Validation of built-in kinds: what a schema cannot say.

``TABLES`` of the modules of this package are rows of data, (group, resource) to
:class:`~kubetrio.resources.validation.library.KindRules`; a module is imported when an object of
one of its groups is first written.  Metadata has a table of its own (``metadata``).
Objects are decoded (``schema.structural``) and defaulted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType

from kubetrio.machinery.status import Cause
from kubetrio.resources.validation.library import Json, KindRules
from kubetrio.schema.registry import ResourceType

_MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "": ("pods", "core"),
        "admissionregistration.k8s.io": ("admissionregistration",),
        "apiextensions.k8s.io": ("apiextensions",),
        "apiregistration.k8s.io": ("apiregistration",),
        "apps": ("workloads",),
        "autoscaling": ("autoscaling",),
        "batch": ("batch",),
        "certificates.k8s.io": ("certificates",),
        "coordination.k8s.io": ("coordination",),
        "discovery.k8s.io": ("discovery",),
        "events.k8s.io": ("events",),
        "flowcontrol.apiserver.k8s.io": ("flowcontrol",),
        "networking.k8s.io": ("networking",),
        "node.k8s.io": ("node",),
        "policy": ("policy",),
        "rbac.authorization.k8s.io": ("rbac",),
        "resource.k8s.io": ("resource_k8s",),
        "scheduling.k8s.io": ("priorityclasses",),
        "storage.k8s.io": ("storage",),
    }
)
"""Modules of this package that hold the tables of a group."""

_NO_RULES = KindRules()
_BY_POLICY = "disallowed by cluster policy"


@cache
def tables_of(group: str) -> Mapping[tuple[str, str], KindRules]:
    """The rules of a group's resources, by (group, plural name).

    Args:
        group: API group; one that is not built in has none.
    """
    merged: dict[tuple[str, str], KindRules] = {}
    for name in _MODULES.get(group, ()):
        merged.update(import_module(f"{__name__}.{name}").TABLES)
    return merged


@lru_cache(1024)
def rules_of(resource: ResourceType) -> KindRules:
    """The rules of one resource; no rules for what is not built in.

    Args:
        resource: the resource in any of its versions.
    """
    return tables_of(resource.group).get((resource.group, resource.resource), _NO_RULES)


def _adapted(rules: KindRules, resource: ResourceType, obj: Json) -> Json:
    adapt = rules.adapt.get(resource.version)
    return obj if adapt is None else adapt(obj)


def _permitted(causes: list[Cause], allow_privileged: bool) -> list[Cause]:
    if not causes or not allow_privileged:
        return causes
    return [cause for cause in causes if not cause.message.endswith(_BY_POLICY)]


def validate_create(
    resource: ResourceType, obj: Json, *, allow_privileged: bool = False
) -> list[Cause]:
    """Check an object to be created.

    Args:
        resource: the resource in the version the object is written in.
        obj: the object, decoded and defaulted.
        allow_privileged: whether containers may be privileged (``--allow-privileged``).

    Returns:
        What is wrong with everything but its metadata; empty when nothing is.
    """
    rules = rules_of(resource)
    causes: list[Cause] = []
    if rules.create is not None:
        rules.create(_adapted(rules, resource, obj), "", causes)
    return _permitted(causes, allow_privileged)


def validate_update(
    resource: ResourceType,
    new: Json,
    old: Json,
    subresource: str = "",
    *,
    allow_privileged: bool = False,
) -> list[Cause]:
    """Check an object to be updated.

    Args:
        resource: the resource in the version both objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored.
        subresource: where it is written, empty for the object itself.
        allow_privileged: whether containers may be privileged (``--allow-privileged``).

    Returns:
        What is wrong with everything but its metadata; empty when nothing is.
    """
    rules = rules_of(resource)
    new, old = _adapted(rules, resource, new), _adapted(rules, resource, old)
    causes: list[Cause] = []
    if subresource:
        check = rules.subresources.get(subresource)
        if check is not None:
            check(new, old, causes)
        return _permitted(causes, allow_privileged)
    if rules.update is not None and rules.checked_last:
        rules.update(new, old, causes)
    if rules.create is not None and rules.revalidate:
        rules.create(new, "", causes)
    if rules.update is not None and not rules.checked_last:
        rules.update(new, old, causes)
    return _permitted(causes, allow_privileged)


def warnings(
    resource: ResourceType, new: Json, old: Json | None, subresource: str = ""
) -> list[str]:
    """Texts for ``Warning`` headers of a successful or failed write.

    Args:
        resource: the resource in the version the objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored; None for a create.
        subresource: where it is written, empty for the object itself.
    """
    rules = rules_of(resource)
    if subresource:
        advise = rules.status_warnings if subresource == "status" else None
        return [] if advise is None else advise(new)
    return [] if rules.warnings is None else rules.warnings(new, old)
