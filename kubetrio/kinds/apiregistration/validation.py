"""API services.

Source: "Kubernetes API Aggregation Layer" in the Kubernetes documentation.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    between,
    matches,
    member,
    row,
    table,
)
from kubetrio.kinds.common.formats import PORT_NUMBER
from kubetrio.machinery.fielderrors import invalid, not_supported, required
from kubetrio.machinery.names_validation import dns1035_label, dns1123_subdomain

_STATUSES = ("True", "False", "Unknown")


def _group(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    if not spec.get("group") and spec.get("version") != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        out.append(required(f"{path}.group", detail))


def _local(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    bundle = spec.get("caBundle")
    insecure = spec.get("insecureSkipTLSVerify")
    service = spec.get("service")
    if service is None:
        if bundle:
            size = f"{len(base64.b64decode(bundle))} bytes"
            detail = "local APIServices may not have a caBundle"
            out.append(invalid(f"{path}.caBundle", size, detail))
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            out.append(invalid(f"{path}.insecureSkipTLSVerify", True, detail))
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            out.append(required(f"{path}.service.{name}"))
    port = service.get("port")
    if port is not None:
        _PORT(port, f"{path}.service.port", out)
    if insecure and bundle:
        detail = "may not be true if caBundle is present"
        out.append(invalid(f"{path}.insecureSkipTLSVerify", True, detail))


_PORT = between(1, 65535, f"port is not valid: {PORT_NUMBER}")
_SPEC = table(
    _group,
    row("group", matches(dns1123_subdomain)),
    row("version", matches(dns1035_label), zero=""),
    row(
        "groupPriorityMinimum",
        between(1, 20000, "must be positive and less than 20000"),
        zero=0,
    ),
    row("versionPriority", between(1, 1000, "must be positive and less than 1000"), zero=0),
    _local,
)


def _spec(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _SPEC(member(obj, "spec"), "spec", out)


def _status(new: Json, _: Json, out: Causes) -> None:
    for index, item in enumerate(member(new, "status").get("conditions") or ()):
        status = item.get("status") or ""
        if status not in _STATUSES:
            out.append(not_supported(f"status.conditions[{index}].status", status, _STATUSES))


APISERVICES = Validation(create=_spec, subresources={"status": _status})
