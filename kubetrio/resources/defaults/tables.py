"""The tables of all kinds, and the one function that applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.resources.defaults import (
    autoscaling,
    batch,
    cluster,
    core,
    devices,
    extension,
    networking,
    pods,
    rbac,
    services,
    workloads,
)
from kubetrio.resources.defaults.compiling import compile_rules
from kubetrio.resources.defaults.rules import Change, Rules
from kubetrio.schema.registry import ResourceType

TABLES: Mapping[str, Rules] = {
    type_name: rules
    for module in (
        pods,
        core,
        services,
        workloads,
        batch,
        autoscaling,
        networking,
        rbac,
        extension,
        devices,
        cluster,
    )
    for type_name, rules in module.TABLES.items()
}
"""Tables by full type name; kinds without defaults have none."""


def _unchanged(_: dict[str, Any]) -> None:
    pass


_compiled: dict[str, Change] = {}


def defaults_of(type_name: str) -> Change:
    """The function that fills in the defaults of a type in place; compiled when first asked for.

    Args:
        type_name: full name such as ``io.k8s.api.core.v1.Pod``; any other text has no defaults.
    """
    change = _compiled.get(type_name)
    if change is None:
        rules = TABLES.get(type_name)
        if rules is None:
            return _unchanged
        change = _compiled[type_name] = compile_rules(type_name, rules)
    return change


def apply_defaults(resource: ResourceType, obj: dict[str, Any]) -> None:
    """Fill in what kube-apiserver 1.36 fills in on create, on update and when it reads.

    Conversions that show in the object are included: ``stringData`` of secrets,
    ``serviceAccount`` of pods, ``podCIDRs`` of nodes.  Applying twice changes nothing.

    Args:
        resource: the resource in the version of the object.
        obj: an object as its type's decoder returns it; changed in place, members in Go's order.
    """
    defaults_of(resource.schema_name)(obj)
