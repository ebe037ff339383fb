"""References of the downward API: fields of the pod and resources of its containers.

Source: "Downward API" in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes
from kubetrio.kinds.common.quantities import ZERO, amount_of
from kubetrio.machinery.fielderrors import invalid, not_supported, required
from kubetrio.machinery.names_validation import qualified_name

VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_CONVERTIBLE = frozenset(
    {
        *VOLUME_FIELDS,
        *ENV_FIELDS,
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
        "spec.host",
    }
)
_subscripted = re.compile(r"((?:(?!\[').)+)\['(.*)'\]", re.DOTALL)


def field_ref(value: Mapping[str, Any], path: str, out: Causes, supported: Sequence[str]) -> None:
    """Check a reference to a field of the pod.

    Args:
        value: with ``apiVersion`` and ``fieldPath``.
        path: its path.
        out: receives causes.
        supported: fields allowed here, sorted.
    """
    version, name = value.get("apiVersion") or "", value.get("fieldPath") or ""
    if not version:
        out.append(required(f"{path}.apiVersion"))
        return
    if not name:
        out.append(required(f"{path}.fieldPath"))
        return
    match = _subscripted.fullmatch(name)
    base = match[1] if match else name
    if problem := _unconvertible(version, name, base, bool(match)):
        detail = f"error converting fieldPath: {problem}"
        out.append(invalid(f"{path}.fieldPath", name, detail))
    elif match:
        _subscript(base, match[2], path, out)
    elif name not in supported:
        shown = "spec.nodeName" if name == "spec.host" else name
        if shown not in supported:
            out.append(not_supported(f"{path}.fieldPath", shown, supported, named=False))


def _unconvertible(version: str, name: str, base: str, subscripted: bool) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        if base not in ("metadata.annotations", "metadata.labels"):
            return f"field label does not support subscript: {name}"
        return ""
    return "" if name in _CONVERTIBLE else f"field label not supported: {name}"


def _subscript(base: str, key: str, path: str, out: Causes) -> None:
    key = key.lower() if base == "metadata.annotations" else key
    out.extend(invalid(path, key, message) for message in qualified_name(key))


def resource_field_ref(value: Mapping[str, Any], path: str, out: Causes, *, volume: bool) -> None:
    """Check a reference to a resource of a container.

    Args:
        value: with ``containerName``, ``resource`` and ``divisor``.
        path: its path.
        out: receives causes.
        volume: whether a volume refers to it, which must name the container.
    """
    resource = value.get("resource") or ""
    if volume and not value.get("containerName"):
        out.append(required(f"{path}.containerName"))
    elif not resource:
        out.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        out.append(not_supported(f"{path}.resource", resource, _RESOURCES, named=False))
    _divisor(resource, value.get("divisor"), f"{path}.divisor", out)


def _divisor(resource: str, divisor: Any, path: str, out: Causes) -> None:
    if divisor is None or amount_of(divisor) == ZERO:
        return
    kind = resource.partition(".")[2]
    if kind == "cpu":
        if divisor not in ("1m", "1"):
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            out.append(invalid(path, resource, detail))
        return
    names = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    shown = "hugepages" if resource.startswith(_HUGE_PAGES) else names.get(kind)
    if shown and divisor not in _SIZES:
        detail = (
            f"only divisor's values {', '.join(_SIZES)} are supported with the {shown} resource"
        )
        out.append(invalid(path, resource, detail))
