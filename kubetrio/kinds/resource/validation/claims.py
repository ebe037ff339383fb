"""Claims of devices, their templates and classes.

Source: "Dynamic Resource Allocation" in the Kubernetes documentation; KEP-4381, KEP-4816,
KEP-4817, KEP-5075.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import interface_address
from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Check,
    Json,
    Validation,
    changes,
    matches,
    member,
    row,
    same,
    table,
    unchanged,
)
from kubetrio.kinds.common.gostructs import go_struct_of
from kubetrio.kinds.common.quantities import is_extended
from kubetrio.kinds.common.selectors import node_selector, template_metadata
from kubetrio.kinds.common.shared_checks import (
    Compile,
    conditions,
    driver_name,
    shorter,
)
from kubetrio.kinds.resource.validation.parts import (
    CONFIG_MAX,
    PARAMETERS_MAX,
    SELECTORS_MAX,
    binding_conditions,
    configuration,
    device_name,
    distinct,
    fully_qualified_name,
    limited,
    name_of,
    pool_name,
    raw_object,
    selector,
    toleration,
)
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain

_TYPES = "io.k8s.api.resource.v1."
_REQUESTS_MAX = 32
_CONSTRAINTS_MAX = 32
_ALTERNATIVES_MAX = 8
_RESULTS_MAX = 32
_RESERVED_MAX = 256
_CONDITIONS_MAX = 8
_IPS_MAX = 16
_MODES = ("All", "ExactCount")
_EXACTLY_ONE = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_CONSTRAINT = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)
_NOT_A_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_uuid = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Names = Mapping[str, frozenset[str]]
"""Names of requests to those of their alternatives."""


# --- requests ---


def _mode(request: Mapping[str, Any], path: str, out: Causes) -> None:
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode not in _MODES:
        out.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "All":
        if count:
            detail = "must not be specified when allocationMode is 'All'"
            out.append(invalid(f"{path}.count", count, detail))
    elif count <= 0:
        out.append(invalid(f"{path}.count", count, "must be greater than zero"))


_TOLERATIONS = limited(16, toleration)


def _request(compiler: Compile) -> Check:
    exactly = table(
        row("deviceClassName", matches(dns1123_subdomain), missing=""),
        row("selectors", limited(SELECTORS_MAX, selector(compiler))),
        _mode,
        row("tolerations", _TOLERATIONS),
    )

    def alternative(request: Mapping[str, Any], path: str, out: Causes) -> None:
        device_name(name_of(request), f"{path}.name", out)
        exactly(request, path, out)

    alternatives = distinct(_ALTERNATIVES_MAX, alternative, name_of)

    def check(request: Mapping[str, Any], path: str, out: Causes) -> None:
        device_name(name_of(request), f"{path}.name", out)
        one, several = request.get("exactly"), request.get("firstAvailable")
        if one is None and not several:
            out.append(required(path, _EXACTLY_ONE))
        elif one is not None and several:
            detail = f"{_EXACTLY_ONE}, but multiple fields are set"
            out.append(invalid(path, None, detail))
        elif several:
            alternatives(several, f"{path}.firstAvailable", out)
        else:
            exactly(one, f"{path}.exactly", out)

    return check


# --- references to requests ---


def _names(devices: Mapping[str, Any]) -> Names:
    return {
        name_of(request): frozenset(map(name_of, request.get("firstAvailable") or ()))
        for request in devices.get("requests") or ()
    }


def _reference(names: Names) -> Check:
    def check(name: str, path: str, out: Causes) -> None:
        request, *rest = name.split("/")
        if len(rest) > 1:
            out.append(invalid(path, name, _NOT_A_REQUEST))
            return
        for part in (request, *rest):
            out.extend(invalid(path, part, text) for text in dns1123_label(part))
        known = names.get(request)
        if known is None or (rest and rest[0] not in known):
            out.append(invalid(path, name, _NOT_A_REQUEST))

    return check


def _references(names: Names) -> Check:
    return distinct(_REQUESTS_MAX, _reference(names), str)


def _constraint(names: Names) -> Check:
    requests = table(row("requests", _references(names)))

    def check(value: Mapping[str, Any], path: str, out: Causes) -> None:
        requests(value, path, out)
        for name in ("matchAttribute", "distinctAttribute"):
            attribute = value.get(name)
            if attribute is not None:
                fully_qualified_name(attribute, f"{path}.{name}", out)
                return
        out.append(required(path, _ONE_CONSTRAINT))

    return check


def _claim_config(names: Names, *, sourced: bool = False) -> Check:
    requests = table(row("requests", _references(names)))

    def check(value: Mapping[str, Any], path: str, out: Causes) -> None:
        if sourced:
            source = value.get("source") or ""
            if not source:
                out.append(required(f"{path}.source"))
            elif source not in ("FromClaim", "FromClass"):
                supported = ("FromClaim", "FromClass")
                out.append(not_supported(f"{path}.source", source, supported))
        requests(value, path, out)
        configuration(value, path, out, stored=False)

    return check


def claim_spec(compiler: Compile) -> Check:
    """A check of the spec of a claim.

    Args:
        compiler: tells what is wrong with an expression.
    """
    requests = distinct(_REQUESTS_MAX, _request(compiler), name_of)

    def check(spec: Mapping[str, Any], path: str, out: Causes) -> None:
        devices, where = member(spec, "devices"), f"{path}.devices"
        names = _names(devices)
        requests(devices.get("requests") or (), f"{where}.requests", out)
        constraints = limited(_CONSTRAINTS_MAX, _constraint(names))
        constraints(devices.get("constraints") or (), f"{where}.constraints", out)
        configs = limited(CONFIG_MAX, _claim_config(names))
        configs(devices.get("config") or (), f"{where}.config", out)

    return check


def _same_spec(new: Json, old: Json, out: Causes) -> None:
    if not same(new.get("spec"), old.get("spec")):
        shown = go_struct_of(f"{_TYPES}ResourceClaimSpec", new.get("spec"))
        out.append(invalid("spec", shown, IMMUTABLE))


# --- status of claims ---


def _uid(value: str, path: str, out: Causes) -> None:
    if not _uuid.fullmatch(value):
        detail = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
            "lowercase hexadecimal characters"
        )
        out.append(invalid(path, value, detail))


_CONSUMER = table(row("resource", missing=""), row("name", missing=""), row("uid", missing=""))
_CONSUMERS = distinct(_RESERVED_MAX, _CONSUMER, lambda item: item.get("uid") or "")
_DEVICE_ID = ("driver", "pool", "device", "shareID")


def _device_id(value: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(value.get(name) or "" for name in _DEVICE_ID)


def _result(names: Names) -> Check:
    return table(
        row("request", _reference(names), zero=""),
        row("driver", driver_name, absent=driver_name),
        row("pool", pool_name, absent=pool_name),
        row("device", device_name, zero=""),
        binding_conditions,
        row("tolerations", limited(_IPS_MAX, toleration)),
        row("shareID", _uid),
    )


def _allocation(value: Mapping[str, Any], path: str, out: Causes, names: Names) -> None:
    devices, where = member(value, "devices"), f"{path}.devices"
    results = limited(_RESULTS_MAX, _result(names))
    results(devices.get("results") or (), f"{where}.results", out)
    configs = limited(2 * CONFIG_MAX, _claim_config(names, sourced=True))
    configs(devices.get("config") or (), f"{where}.config", out)
    nodes = value.get("nodeSelector")
    if nodes is not None:
        node_selector(nodes, f"{path}.nodeSelector", out)


_NETWORK = table(
    row("interfaceName", shorter(256)),
    row("hardwareAddress", shorter(128)),
    row("ips", distinct(_IPS_MAX, interface_address, str)),
)
_DEVICE_STATUS = table(
    row("driver", driver_name, absent=driver_name),
    row("pool", pool_name, absent=pool_name),
    row("device", device_name, zero=""),
    row("shareID", _uid),
)


def _device_status(value: Mapping[str, Any], path: str, out: Causes) -> None:
    _DEVICE_STATUS(value, path, out)
    items = value.get("conditions") or ()
    if len(items) > _CONDITIONS_MAX:
        out.append(too_many(f"{path}.conditions", len(items), _CONDITIONS_MAX))
    conditions(items, f"{path}.conditions", out)
    if value.get("data") is not None:
        raw_object(value["data"], f"{path}.data", out, PARAMETERS_MAX)
    _NETWORK(member(value, "networkData"), f"{path}.networkData", out)


def _devices(items: Sequence[Json], allocated: set[tuple[str, ...]], out: Causes) -> None:
    seen: set[tuple[str, ...]] = set()
    for index, item in enumerate(items):
        path, mine = f"status.devices[{index}]", _device_id(item)
        _device_status(item, path, out)
        shown = dict(zip(("Driver", "Pool", "Device", "ShareID"), mine, strict=True))
        if mine not in allocated:
            out.append(invalid(path, shown, "must be an allocated device in the claim"))
        if mine in seen:
            out.append(duplicate(path, shown))
        seen.add(mine)


def _status(new: Json, old: Json, out: Causes) -> None:
    status, before = member(new, "status"), member(old, "status")
    path = "status.reservedFor"
    reserved = status.get("reservedFor") or ()
    _CONSUMERS(reserved, path, out)
    allocation = status.get("allocation")
    results = member(member(status, "allocation"), "devices").get("results") or ()
    _devices(status.get("devices") or (), {_device_id(item) for item in results}, out)
    if reserved:
        if allocation is None:
            out.append(forbidden(path, "may not be specified when `allocated` is not set"))
        elif new["metadata"].get("deletionTimestamp"):
            known = before.get("reservedFor") or ()
            if any(item not in known for item in reserved):
                detail = (
                    "new entries may not be added while `deallocationRequested` or "
                    "`deletionTimestamp` are set"
                )
                out.append(forbidden(path, detail))
    if allocation is None:
        return
    if before.get("allocation") is None:
        names = _names(member(member(new, "spec"), "devices"))
        _allocation(allocation, "status.allocation", out, names)
    elif not same(allocation, before["allocation"]):
        shown = go_struct_of(f"{_TYPES}AllocationResult", allocation)
        out.append(invalid("status.allocation", shown, IMMUTABLE))


# --- templates and classes ---


def _template(claim: Check) -> Check:
    rows = table(row("metadata", template_metadata))

    def check(obj: Mapping[str, Any], _: str, out: Causes) -> None:
        spec = member(obj, "spec")
        rows(spec, "spec", out)
        claim(member(spec, "spec"), "spec.spec", out)

    return check


def _same_template(new: Json, old: Json, out: Causes) -> None:
    if not same(new.get("spec"), old.get("spec")):
        shown = go_struct_of(f"{_TYPES}ResourceClaimTemplateSpec", new.get("spec"))
        out.append(invalid("spec", shown, IMMUTABLE))


def _class(compiler: Compile) -> Validation:
    def check(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
        spec, before = member(new, "spec"), member(old, "spec")
        selectors, configs = spec.get("selectors") or (), spec.get("config") or ()
        stored = bool(old) and same(selectors, before.get("selectors"))
        each = limited(SELECTORS_MAX, selector(compiler, stored=stored))
        each(selectors, "spec.selectors", out)
        kept = bool(old) and same(configs, before.get("config"))

        def config(value: Mapping[str, Any], path: str, found: Causes) -> None:
            configuration(value, path, found, stored=kept)

        limited(CONFIG_MAX, config)(configs, "spec.config", out)
        name = spec.get("extendedResourceName")
        if name is not None and not is_extended(name):
            detail = "must be a valid extended resource name"
            out.append(invalid("spec.extendedResourceName", name, detail))

    def create(obj: Mapping[str, Any], _: str, out: Causes) -> None:
        check(obj, {}, out)

    return Validation(create=create, update=check, revalidate=False)


def claim_rules(compiler: Compile) -> Mapping[str, Validation]:
    """The rules of claims, templates and classes.

    Args:
        compiler: tells what is wrong with an expression.
    """
    claim = claim_spec(compiler)
    template = _template(claim)
    return {
        "resourceclaims": Validation(
            create=lambda obj, _, out: claim(member(obj, "spec"), "spec", out),
            update=_same_spec,
            revalidate=False,
            subresources={"status": _status},
        ),
        "resourceclaimtemplates": Validation(
            create=template, update=changes(unchanged(template), _same_template), revalidate=False
        ),
        "deviceclasses": _class(compiler),
    }
