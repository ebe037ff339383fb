"""Fields that nobody can own through a path, because the kind puts them back there.

Facts of kube-apiserver: a status is not written through the object itself, and little but the
status through its path; what exactly is the business of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.machinery.ownership import FieldFilter, all_fields, excluding
from kubetrio.schema.registry import ResourceType

_METADATA, _SPEC, _STATUS = ("f:metadata",), ("f:spec",), ("f:status",)

_ALL_BUT_STATUS = excluding(_STATUS)
_ALL_BUT_SPEC = excluding(_SPEC)
_STATUS_ONLY = excluding(_METADATA, _SPEC)
_SIGNING_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")

# By group, plural name and subresource: what differs from the rule in `kept_fields`.
_KEPT: Mapping[tuple[str, str, str], FieldFilter] = {
    ("", "namespaces", "finalize"): _ALL_BUT_STATUS,
    ("", "pods", "status"): excluding(
        _SPEC, (*_METADATA, "f:deletionTimestamp"), (*_METADATA, "f:ownerReferences")
    ),
    # These two put back most of the object and leave alone who is said to own it.
    ("", "pods", "ephemeralcontainers"): all_fields,
    ("", "pods", "resize"): all_fields,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "status"): _STATUS_ONLY,
    ("apiextensions.k8s.io", "customresourcedefinitions", "status"): _STATUS_ONLY,
    ("apiregistration.k8s.io", "apiservices", "status"): _STATUS_ONLY,
    ("apps", "deployments", "status"): excluding(_SPEC, (*_METADATA, "f:labels")),
    (*_SIGNING_REQUESTS, ""): excluding(_SPEC, _STATUS),
    (*_SIGNING_REQUESTS, "approval"): excluding(_SPEC, (*_STATUS, "f:certificate")),
    (*_SIGNING_REQUESTS, "status"): excluding(_SPEC, (*_STATUS, "f:conditions")),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "status"): _STATUS_ONLY,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "status"): _STATUS_ONLY,
    ("networking.k8s.io", "servicecidrs", "status"): _STATUS_ONLY,
    ("resource.k8s.io", "resourceclaims", "status"): _STATUS_ONLY,
    ("storage.k8s.io", "volumeattachments", "status"): _STATUS_ONLY,
}


def kept_fields(resource: ResourceType, subresource: str) -> FieldFilter:
    """The filter of fields that can be owned through a path.

    Args:
        resource: the resource.
        subresource: path element behind the name, or empty.
    """
    special = _KEPT.get((resource.group, resource.resource, subresource))
    if special is not None:
        return special
    if subresource == "status":
        return _ALL_BUT_SPEC
    return _ALL_BUT_STATUS if "status" in resource.subresources else all_fields
