"""Endpoints.

Source: "Service" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.addresses import IP, ip_warnings, non_special_ip
from kubetrio.kinds.common.checks import Causes, Json, Validation, same
from kubetrio.kinds.common.formats import LABEL, PORT, QUALIFIED, SUBDOMAIN
from kubetrio.kinds.core.validation.containers import protocol
from kubetrio.machinery.fielderrors import required

_LISTS = ("addresses", "notReadyAddresses")


def _address(address: Mapping[str, Any], path: str, out: Causes) -> None:
    ip = address.get("ip") or ""
    IP(ip, f"{path}.ip", out)
    if name := address.get("hostname"):
        LABEL(name, f"{path}.hostname", out)
    if address.get("nodeName") is not None:
        SUBDOMAIN(address["nodeName"], f"{path}.nodeName", out)
    non_special_ip(ip, f"{path}.ip", out)


def _port(port: Mapping[str, Any], path: str, out: Causes, *, named: bool) -> None:
    if name := port.get("name"):
        LABEL(name, f"{path}.name", out)
    elif named:
        out.append(required(f"{path}.name"))
    PORT(port.get("port") or 0, f"{path}.port", out)
    protocol(port.get("protocol") or "", f"{path}.protocol", out)
    if port.get("appProtocol") is not None:
        QUALIFIED(port["appProtocol"], f"{path}.appProtocol", out)


def _subsets(obj: Json, out: Causes) -> None:
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not any(subset.get(name) for name in _LISTS):
            out.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for name in _LISTS:
            for number, address in enumerate(subset.get(name) or ()):
                _address(address, f"{path}.{name}[{number}]", out)
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            _port(port, f"{path}.ports[{number}]", out, named=len(ports) > 1)


def _update(new: Json, old: Json, out: Causes) -> None:
    # what older releases accepted may stay as a whole
    if not same(new.get("subsets"), old.get("subsets")):
        _subsets(new, out)


def _warnings(new: Json, _: Json | None) -> list[str]:
    return [
        warning
        for index, subset in enumerate(new.get("subsets") or ())
        for name in _LISTS
        for number, address in enumerate(subset.get(name) or ())
        for warning in ip_warnings(address.get("ip") or "", f"subsets[{index}].{name}[{number}].ip")
    ]


ENDPOINTS = Validation(
    create=lambda obj, _, out: _subsets(obj, out),
    update=_update,
    revalidate=False,
    warnings=_warnings,
)
"""The rules of Endpoints."""
