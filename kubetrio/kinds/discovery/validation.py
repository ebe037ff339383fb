"""Endpoint slices.

Source: "EndpointSlices" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import (
    canonical_ip_messages,
    ip_messages,
    ip_warnings,
    non_special_ip,
    parse_ip,
)
from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    Json,
    Messages,
    Validation,
    immutable,
    matches,
    one_of,
    row,
    same,
    table,
)
from kubetrio.kinds.common.selectors import label_map
from kubetrio.kinds.common.shared_checks import fully_qualified_domain
from kubetrio.machinery.fielderrors import duplicate, invalid, not_supported, required, too_many
from kubetrio.machinery.names_validation import (
    dns1123_label,
    dns1123_subdomain,
    label_value,
    qualified_name,
)

_ENDPOINTS_MAX = 1000
_ADDRESSES_MAX = 100
_PORTS_MAX = 20000
_TOPOLOGY_MAX = 16
_HINTS_MAX = 8
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def _address(version: int, messages: Messages) -> Check:
    def check(value: str, path: str, out: Causes) -> None:
        if texts := messages(value):
            out.extend(invalid(path, value, message) for message in texts)
            return
        address = parse_ip(value)
        if address is not None and address.version != version:
            # told of the list, as kube-apiserver does
            out.append(invalid(path.rpartition("[")[0], value, f"must be an IPv{version} address"))
        non_special_ip(value, path, out)

    return check


_ADDRESSES: Mapping[str, Check] = {
    "IPv4": _address(4, ip_messages),
    "IPv6": _address(6, canonical_ip_messages),
    "FQDN": fully_qualified_domain,
}


def _hints(names: Messages) -> Check:
    def check(items: Sequence[Json], path: str, out: Causes) -> None:
        if len(items) > _HINTS_MAX:
            out.append(too_many(path, len(items), _HINTS_MAX))
            return
        seen: set[str] = set()
        for index, item in enumerate(items):
            where, name = f"{path}[{index}].name", item.get("name") or ""
            if name in seen:
                out.append(duplicate(where, name))
            seen.add(name)
            out.extend(invalid(where, name, text) for text in names(name))

    return check


def _topology(values: Mapping[str, str], path: str, out: Causes) -> None:
    if len(values) > _TOPOLOGY_MAX:
        out.append(too_many(path, len(values), _TOPOLOGY_MAX))
    label_map(values, path, out)


_ENDPOINT = table(
    row("nodeName", matches(dns1123_subdomain)),
    row("deprecatedTopology", _topology),
    row("hostname", matches(dns1123_label)),
    row(
        "hints",
        table(
            row("forZones", _hints(label_value)),
            row("forNodes", _hints(dns1123_subdomain)),
        ),
    ),
)


def _endpoints(obj: Mapping[str, Any], out: Causes) -> None:
    endpoints = obj.get("endpoints") or ()
    if len(endpoints) > _ENDPOINTS_MAX:
        out.append(too_many("endpoints", len(endpoints), _ENDPOINTS_MAX))
        return
    check = _ADDRESSES.get(obj.get("addressType") or "")
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            out.append(required(f"{path}.addresses", "must contain at least 1 address"))
        elif len(addresses) > _ADDRESSES_MAX:
            out.append(too_many(f"{path}.addresses", len(addresses), _ADDRESSES_MAX))
        if check is not None:
            for position, address in enumerate(addresses):
                check(address, f"{path}.addresses[{position}]", out)
        _ENDPOINT(endpoint, path, out)


def _ports(items: Sequence[Json], path: str, out: Causes) -> None:
    if len(items) > _PORTS_MAX:
        out.append(too_many(path, len(items), _PORTS_MAX))
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        name = item.get("name") or ""
        if name:
            out.extend(invalid(f"{where}.name", name, text) for text in dns1123_label(name))
        if name in seen:
            out.append(duplicate(f"{where}.name", name))
        seen.add(name)
        protocol = item.get("protocol")
        if protocol is None:
            out.append(required(f"{where}.protocol"))
        elif protocol not in _PROTOCOLS:
            out.append(not_supported(f"{where}.protocol", protocol, _PROTOCOLS))
        application = item.get("appProtocol")
        if application is not None:
            spot = f"{where}.appProtocol"
            out.extend(invalid(spot, application, text) for text in qualified_name(application))


_SLICE = table(
    row("addressType", one_of("FQDN", "IPv4", "IPv6"), missing=""),
    row("ports", _ports),
)


def _create(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _SLICE(obj, "", out)
    _endpoints(obj, out)


_same_type = immutable("addressType", named=("addressType",))


def _update(new: Json, old: Json, out: Causes) -> None:
    _SLICE(new, "", out)
    # endpoints that stay were valid under the rules of their time
    if not same(new.get("endpoints"), old.get("endpoints")):
        _endpoints(new, out)
    _same_type(new, old, out)


def _warnings(new: Json, old: Json | None) -> list[str]:
    warnings: list[str] = []
    if old is None and new.get("addressType") == "FQDN":
        warnings.append("spec.addressType: FQDN endpoints are deprecated")
    if (new["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return warnings
    for index, endpoint in enumerate(new.get("endpoints") or ()):
        for position, address in enumerate(endpoint.get("addresses") or ()):
            warnings += ip_warnings(address, f"endpoints[{index}].addresses[{position}]")
    return warnings


ENDPOINTSLICES = Validation(create=_create, update=_update, revalidate=False, warnings=_warnings)
