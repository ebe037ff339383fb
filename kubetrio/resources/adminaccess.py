"""Admin access to devices: only namespaces that are labelled for it may ask.

Source: KEP-5018 (DRA AdminAccess); "Admin access" in the Kubernetes documentation of dynamic
resource allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kubetrio.machinery.fielderrors import forbidden, internal
from kubetrio.machinery.status import Cause
from kubetrio.resources.namespaces import PREFIX
from kubetrio.resources.writes import Target
from kubetrio.store.model import Store

_LABEL = "resource.kubernetes.io/admin-access"
_DENIED = f"admin access to devices requires the `{_LABEL}: true` label on the containing namespace"
# kube-apiserver leaves `exactly` out of the path, and says the same of claims and templates
_REQUESTS = "spec.devices.requests"
_RESULTS = "status.allocation.devices.results"


async def admin_access(
    store: Store, target: Target, new: Mapping[str, Any], old: Mapping[str, Any] | None
) -> list[Cause]:
    """Check that a claim or template may ask for admin access, or be given it.

    Args:
        store: where namespaces are.
        target: what is written.
        new: the object as it would be stored.
        old: the object as it is stored; None for a new one.

    Returns:
        What is wrong; nothing for other kinds, and for specs that cannot change any more.
    """
    resource = target.resource
    if resource.group != "resource.k8s.io":
        return []
    path = ""
    if old is None:
        path = _asked(resource.resource, new)
    elif resource.resource == "resourceclaims" and target.subresource == "status":
        path = "" if _given(old) else _given(new)
    if not path:
        return []
    found = await store.get(PREFIX + target.namespace)
    if found is None:
        missing = f'namespaces "{target.namespace}" not found'
        detail = f"could not retrieve namespace to verify admin access: {missing}"
        return [internal(path, detail)]
    labels = orjson.loads(found.value)["metadata"].get("labels") or {}
    return [] if labels.get(_LABEL) == "true" else [forbidden(path, _DENIED)]


def _at(items: Sequence[Mapping[str, Any]], path: str) -> str:
    for index, item in enumerate(items):
        if item.get("adminAccess"):
            return f"{path}[{index}].adminAccess"
    return ""


def _asked(plural: str, obj: Mapping[str, Any]) -> str:
    """Path of the first request for admin access, or nothing."""
    spec = obj.get("spec") or {}
    if plural == "resourceclaimtemplates":
        spec = spec.get("spec") or {}
    elif plural != "resourceclaims":
        return ""
    requests = (spec.get("devices") or {}).get("requests") or ()
    return _at([request.get("exactly") or {} for request in requests], _REQUESTS)


def _given(claim: Mapping[str, Any]) -> str:
    """Path of the first device allocated with admin access, or nothing."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return _at((allocation.get("devices") or {}).get("results") or (), _RESULTS)
