"""What needs a quota: limited resources of the plugin's configuration.

Source: docs "Resource Quotas" (limit consumption by default), "kube-apiserver Configuration (v1)"
(ResourceQuotaConfiguration).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.configuration import (
    GROUP,
    TEXT,
    ConfigurationError,
    declared,
    decode,
    listed,
    of_type_meta,
)
from kubetrio.admission.plugin import denied
from kubetrio.gotext.text import aggregate
from kubetrio.machinery import fielderrors
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.quota.usage import ZERO, Scope, concerned, in_scope, scope_of, scopes_of, usage
from kubetrio.schema.structural_shapes import Shape, ShapeKind, shape_of

Object = dict[str, Any]
_OLD_GROUP = "resourcequota.admission.k8s.io"
_VERSIONS = (
    (f"{GROUP}/v1", "ResourceQuotaConfiguration", "v1"),
    (f"{_OLD_GROUP}/v1beta1", "Configuration", "v1beta1"),
    (f"{_OLD_GROUP}/v1alpha1", "Configuration", "v1alpha1"),
)


class Limit(NamedTuple):
    """A resource that is not to be had without a quota.

    Args:
        resource: which.
        contains: parts of names under which it is counted.
        scopes: those that need a quota.
    """

    resource: GroupResource
    contains: tuple[str, ...]
    scopes: tuple[Scope, ...]


def _shape(version: str) -> Shape:
    scope = shape_of({"$ref": "io.k8s.api.core.v1.ScopedResourceSelectorRequirement"})
    limited = declared(
        f"{version}.LimitedResource",
        apiGroup=TEXT,
        resource=TEXT,
        matchContains=Shape(ShapeKind.LIST, "[]string", TEXT),
        matchScopes=listed(scope),
    )
    return of_type_meta(f"{version}.Configuration", limitedResources=listed(limited))


def configured(data: bytes | None) -> tuple[Limit, ...]:
    """Read the plugin's configuration.

    Raises:
        ConfigurationError: it is none.
    """
    if data is None:
        return ()
    value = decode(
        data,
        {(version, kind): _shape(short) for version, kind, short in _VERSIONS},
        location="k8s.io/apiserver/pkg/admission/plugin/resourcequota/config.go:31",
    )
    limits = [one or {} for one in value.get("limitedResources") or ()]
    causes = [
        fielderrors.required(f"limitedResources[{index}].resource")
        for index, one in enumerate(limits)
        if not one.get("resource")
    ]
    if causes:
        raise ConfigurationError(aggregate(map(str, causes)))
    return tuple(
        Limit(
            GroupResource(one.get("apiGroup") or "", one["resource"]),
            tuple(one.get("matchContains") or ()),
            tuple(scope_of({"scopeName": "", **each}) for each in one.get("matchScopes") or ()),
        )
        for one in limits
    )


def check_covered(
    limits: Sequence[Limit],
    attributes: Attributes,
    obj: Object,
    concerning: Sequence[Object],
    quotas: Sequence[Object],
) -> None:
    """Refuse an object that needs a quota which is not there.

    Args:
        limits: what needs one.
        attributes: the write.
        obj: the object.
        concerning: quotas that count it.
        quotas: all of its namespace.

    Raises:
        ApiError: 403 for a resource, 500 for a scope, as in kube-apiserver.
    """
    resource = attributes.resource.group_resource
    used = [name for name, value in usage(resource, obj).items() if value > ZERO]
    needed = {
        name
        for limit in limits
        if limit.resource == resource
        for name in used
        if any(part in name for part in limit.contains)
    }
    for quota in concerning:
        needed -= set(concerned(resource, (quota.get("status") or {}).get("hard") or ()))
    if needed:
        raise denied(attributes, f"insufficient quota to consume: {','.join(sorted(needed))}")
    covered = {
        scope[0] for quota in quotas for scope in scopes_of(quota) if in_scope(resource, obj, scope)
    }
    wanting = [
        f"{{{name} {operator} [{' '.join(values)}]}}"
        for limit in limits
        for name, operator, values in limit.scopes
        if in_scope(resource, obj, (name, operator, values)) and name not in covered
    ]
    if wanting:
        why = f"insufficient quota to match these scopes: [{' '.join(wanting)}]"
        raise ApiError(500, "", why)
