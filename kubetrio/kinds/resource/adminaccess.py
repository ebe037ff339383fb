"""Admin access to devices: only namespaces that are labelled for it may ask.

Source: KEP-5018 (DRA AdminAccess); "Admin access" in the Kubernetes documentation of dynamic
resource allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.machinery.fielderrors import forbidden, internal
from kubetrio.machinery.status import Cause
from kubetrio.schema.rules import GetObject, Json

_LABEL = "resource.kubernetes.io/admin-access"
_DENIED = f"admin access to devices requires the `{_LABEL}: true` label on the containing namespace"
# kube-apiserver leaves `exactly` out of the path, and says the same of claims and templates
_REQUESTS = "spec.devices.requests"
_RESULTS = "status.allocation.devices.results"


async def claim_access(
    get: GetObject, namespace: str, subresource: str, new: Json, old: Json | None
) -> list[Cause]:
    """Check that a claim may ask for admin access, or be given it; see `LookUp`.

    Nothing is wrong with specs that cannot change any more.
    """
    path = ""
    if old is None:
        path = _asked(new.get("spec") or {})
    elif subresource == "status":
        path = "" if _given(old) else _given(new)
    return await _labelled(get, namespace, path)


async def template_access(
    get: GetObject, namespace: str, _: str, new: Json, old: Json | None
) -> list[Cause]:
    """Check that a template may ask for admin access; see `LookUp`."""
    path = _asked((new.get("spec") or {}).get("spec") or {}) if old is None else ""
    return await _labelled(get, namespace, path)


async def _labelled(get: GetObject, namespace: str, path: str) -> list[Cause]:
    """What is wrong with admin access asked for at a path, if it is."""
    if not path:
        return []
    stored = await get(f"/registry/namespaces/{namespace}")
    if stored is None:
        missing = f'namespaces "{namespace}" not found'
        detail = f"could not retrieve namespace to verify admin access: {missing}"
        return [internal(path, detail)]
    labels = stored["metadata"].get("labels") or {}
    return [] if labels.get(_LABEL) == "true" else [forbidden(path, _DENIED)]


def _at(items: Sequence[Mapping[str, Any]], path: str) -> str:
    for index, item in enumerate(items):
        if item.get("adminAccess"):
            return f"{path}[{index}].adminAccess"
    return ""


def _asked(spec: Mapping[str, Any]) -> str:
    """Path of the first request for admin access, or nothing."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    return _at([request.get("exactly") or {} for request in requests], _REQUESTS)


def _given(claim: Mapping[str, Any]) -> str:
    """Path of the first device allocated with admin access, or nothing."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return _at((allocation.get("devices") or {}).get("results") or (), _RESULTS)
