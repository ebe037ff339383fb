"""Probes and lifecycle hooks of containers.

Source: "Liveness, Readiness, and Startup Probes" and "Container Lifecycle Hooks" in the
Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import NOT_NEGATIVE, Causes, Check, Json
from kubetrio.kinds.common.formats import http_header, port_or_name
from kubetrio.machinery.fielderrors import forbidden, invalid, not_supported, required

_MORE = "may not specify more than 1 handler type"
_COUNTERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def _exec(action: Json, path: str, out: Causes) -> None:
    if not action.get("command"):
        out.append(required(f"{path}.command"))


def _http_get(action: Json, path: str, out: Causes) -> None:
    if not action.get("path"):
        out.append(required(f"{path}.path"))
    port_or_name(action.get("port"), f"{path}.port", out)
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        out.append(not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        out.extend(invalid(f"{path}.httpHeaders", name, text) for text in http_header(name))


def _port(action: Json, path: str, out: Causes) -> None:
    port_or_name(action.get("port"), f"{path}.port", out)


_PROBE_HANDLERS: tuple[tuple[str, Check], ...] = (
    ("exec", _exec),
    ("httpGet", _http_get),
    ("tcpSocket", _port),
    ("grpc", _port),
)
_HOOK_HANDLERS = _PROBE_HANDLERS[:3]


def _sleep(action: Json, path: str, out: Causes, grace: int | None) -> None:
    seconds = action.get("seconds") or 0
    if grace is not None and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        out.append(invalid(path, seconds, detail))


def _handlers(value: Json, path: str, out: Causes, known: tuple[tuple[str, Check], ...]) -> int:
    """Check the first handler; how many there are."""
    count = 0
    for name, check in known:
        action = value.get(name)
        if action is None:
            continue
        if count:
            out.append(forbidden(f"{path}.{name}", _MORE))
        else:
            check(action, f"{path}.{name}", out)
        count += 1
    return count


def hook(value: Json, path: str, out: Causes, grace: int | None) -> None:
    """Check a lifecycle hook.

    Args:
        value: the hook.
        path: its path.
        out: receives causes.
        grace: the pod's grace period in seconds, None when it has none.
    """
    count = _handlers(value, path, out, _HOOK_HANDLERS)
    sleep = value.get("sleep")
    if sleep is not None:
        if count:
            out.append(forbidden(f"{path}.sleep", _MORE))
        else:
            _sleep(sleep, f"{path}.sleep", out, grace)
        count += 1
    if not count:
        out.append(required(path, "must specify a handler type"))


def _probe(probe: Json, path: str, out: Causes) -> None:
    if not _handlers(probe, path, out, _PROBE_HANDLERS):
        out.append(required(path, "must specify a handler type"))
    for name in _COUNTERS:
        number = probe.get(name) or 0
        if number < 0:
            out.append(invalid(f"{path}.{name}", number, NOT_NEGATIVE))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        where = f"{path}.terminationGracePeriodSeconds"
        out.append(invalid(where, grace, "must be greater than 0"))


def probes(container: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the probes of a container.

    Args:
        container: the container.
        path: its path.
        out: receives causes.
    """
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        where = f"{path}.{name}"
        _probe(probe, where, out)
        if name == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                detail = "must not be set for readinessProbes"
                out.append(invalid(f"{where}.terminationGracePeriodSeconds", grace, detail))
        elif probe.get("successThreshold", 0) != 1:
            threshold = probe.get("successThreshold", 0)
            out.append(invalid(f"{where}.successThreshold", threshold, "must be 1"))


def lifecycle(value: Json, path: str, out: Causes, grace: int | None) -> None:
    """Check the hooks of a container.

    Args:
        value: with ``postStart`` and ``preStop``.
        path: its path.
        out: receives causes.
        grace: the pod's grace period in seconds, None when it has none.
    """
    for name in ("postStart", "preStop"):
        if value.get(name) is not None:
            hook(value[name], f"{path}.{name}", out, grace)
