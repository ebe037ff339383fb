"""Slices of pools of devices.

Source: "Dynamic Resource Allocation" in the Kubernetes documentation; KEP-4815 (partitionable
devices), KEP-5055 (taints), KEP-5075 (consumable capacity).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    NOT_POSITIVE,
    Causes,
    Check,
    Json,
    Validation,
    each_value,
    matches,
    member,
    minimum,
    row,
    same,
    table,
)
from kubetrio.kinds.common.gostructs import go_struct_of, go_structs_of
from kubetrio.kinds.common.quantities import ZERO, amount_of
from kubetrio.kinds.common.selectors import node_selector
from kubetrio.kinds.common.shared_checks import driver_name
from kubetrio.kinds.resource.validation.parts import (
    binding_conditions,
    device_name,
    distinct,
    limited,
    name_of,
    pool_name,
    qualified_name,
    taint,
)
from kubetrio.machinery.fielderrors import (
    forbidden,
    invalid,
    invalid_pointer,
    quote,
    required,
    too_long,
    too_many,
)
from kubetrio.machinery.names_validation import byte_length, dns1123_label, dns1123_subdomain
from kubetrio.machinery.quantity import Quantity

_TYPES = "io.k8s.api.resource.v1."
_TERM_TYPE = "io.k8s.api.core.v1.NodeSelectorTerm"
_DEVICES_MAX = 128
_ADVANCED_DEVICES_MAX = 64
_COUNTER_SETS_MAX = 8
_COUNTERS_MAX = 32
_CONSUMPTIONS_MAX = 2
_TAINTS_MAX = 16
_ATTRIBUTES_MAX = 32
_VALUE_MAX = 64
_OPTIONS_MAX = 10
_TRUE_OR_UNSET = "must be either unset or set to true"
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_DEVICE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_DEVICE_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_NUMBER = r"(0|[1-9]\d*)"
_PRE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_version_re = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_node_name = matches(dns1123_subdomain)


# --- attributes and capacities ---


def _text(value: str, path: str, out: Causes) -> None:
    if byte_length(value) > _VALUE_MAX:
        out.append(too_long(path, _VALUE_MAX))


def _version(value: str, path: str, out: Causes) -> None:
    if not _version_re.fullmatch(value):
        detail = "must be a string compatible with semver.org spec 2.0.0"
        out.append(invalid(path, value, detail))
    _text(value, path, out)


def _attribute(value: Mapping[str, Any], path: str, out: Causes) -> None:
    present = [name for name in ("bool", "int", "string", "version") if value.get(name) is not None]
    if "string" in present:
        _text(value["string"], f"{path}.string", out)
    if "version" in present:
        _version(value["version"], f"{path}.version", out)
    if len(present) != 1:
        shown = go_struct_of(f"{_TYPES}DeviceAttribute", value) if present else ""
        out.append(invalid(path, shown, "exactly one value must be specified"))


def _named(items: Mapping[str, Any], path: str, out: Causes, check: Check) -> None:
    # keys are checked at the map, values below it
    for name in items:
        qualified_name(name, path, out)
    each_value(check)(items, path, out)


def _larger(value: Quantity, limit: Any) -> bool:
    return value > amount_of(limit)


def _valid_values(policy: Mapping[str, Any], capacity: Any, path: str, out: Causes) -> None:
    options = policy["validValues"]
    where = f"{path}.validValues"
    default = policy.get("default")
    if default is None:
        out.append(required(f"{path}.default", "required when validValues is defined"))
        return
    amounts = [amount_of(option) for option in options]
    for index in range(1, len(options)):
        if amounts[index - 1] > amounts[index]:
            detail = "values must be sorted in ascending order"
            out.append(invalid(f"{where}[{index}]", options[index], detail))

    def option(value: Any, spot: str, found: Causes) -> None:
        if _larger(amount_of(value), capacity):
            detail = f"option is larger than capacity value: {capacity}"
            found.append(invalid(spot, value, detail))

    distinct(_OPTIONS_MAX, option, lambda value: str(amount_of(value).value()))(options, where, out)
    if amount_of(default) not in amounts:
        detail = "default value is not valid according to the requestPolicy"
        out.append(invalid(where, default, detail))


def _valid_range(policy: Mapping[str, Any], capacity: Any, path: str, out: Causes) -> None:
    where, default = f"{path}.validRange", policy.get("default")
    if default is None:
        out.append(required(f"{path}.default", "required when validRange is defined"))
        return
    bounds: Json = policy["validRange"]
    low, high, step = (bounds.get(name) for name in ("min", "max", "step"))
    if low is None:
        out.append(required(f"{where}.min", "required when validRange is defined"))
        return
    if _larger(amount_of(low), capacity):
        detail = f"min is larger than capacity value: {capacity}"
        out.append(invalid(f"{where}.min", low, detail))
    if amount_of(default) < amount_of(low):
        detail = f"default is less than min: {low}"
        out.append(invalid(f"{where}.default", default, detail))
    if high is not None:
        if amount_of(low) > amount_of(high):
            out.append(invalid(f"{where}.max", low, f"min is larger than max: {high}"))
        if _larger(amount_of(high), capacity):
            detail = f"max is larger than capacity value: {capacity}"
            out.append(invalid(f"{where}.max", high, detail))
        if amount_of(default) > amount_of(high):
            detail = f"default is more than max: {high}"
            out.append(invalid(f"{where}.default", default, detail))
    if step is not None:
        _step(step, low, [default] if high is None else [default, high], capacity, where, out)


def _step(
    step: Any, low: Any, values: Sequence[Any], capacity: Any, path: str, out: Causes
) -> None:
    where = f"{path}.step"
    if amount_of(step) <= ZERO:
        out.append(invalid(where, step, NOT_POSITIVE))
        return
    first = amount_of(low) + amount_of(step)
    if _larger(first, capacity):
        detail = f"one step {first} is larger than capacity value: {capacity}"
        out.append(invalid(where, step, detail))
    size = amount_of(step).value()
    for value in values:
        if size and (amount_of(value).value() - amount_of(low).value()) % size:
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            out.append(invalid(where, value, detail))


def _shared_capacity(value: Mapping[str, Any], path: str, out: Causes) -> None:
    policy = value.get("requestPolicy")
    if policy is None:
        return
    where, capacity = f"{path}.requestPolicy", value.get("value") or "0"
    options, bounds = policy.get("validValues"), policy.get("validRange")
    if options and bounds is not None:
        detail = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
            "at the same time"
        )
        out.append(forbidden(where, detail))
    elif options:
        _valid_values(policy, capacity, where, out)
    elif bounds is not None:
        _valid_range(policy, capacity, where, out)


def _own_capacity(value: Mapping[str, Any], path: str, out: Causes) -> None:
    if value.get("requestPolicy") is not None:
        detail = "allowMultipleAllocations must be true"
        out.append(forbidden(f"{path}.requestPolicy", detail))


# --- counters ---


def _counters(items: Mapping[str, Any], path: str, out: Causes) -> None:
    if len(items) > _COUNTERS_MAX:
        out.append(too_many(path, len(items), _COUNTERS_MAX))
        return
    for name in items:
        out.extend(invalid(path, name, text) for text in dns1123_label(name))


_COUNTER_SET = table(row("name", device_name, missing=""), row("counters", _counters, missing=""))
_CONSUMPTION = table(
    row("counterSet", device_name, missing=""), row("counters", _counters, missing="")
)
_COUNTER_SETS = distinct(_COUNTER_SETS_MAX, _COUNTER_SET, name_of)
_CONSUMPTIONS = distinct(_CONSUMPTIONS_MAX, _CONSUMPTION, lambda item: item.get("counterSet") or "")
_TAINTS = limited(_TAINTS_MAX, taint)


# --- where devices are ---


def _place(value: Mapping[str, Any], path: str, out: Causes, empty_name: str) -> list[str]:
    """Check where a slice or device says it is; gives the members that say so."""
    present = []
    name, nodes, everywhere = (value.get(key) for key in ("nodeName", "nodeSelector", "allNodes"))
    if name == "":
        out.append(invalid(f"{path}.nodeName", "", empty_name))
    elif name is not None:
        present.append("`nodeName`")
        _node_name(name, f"{path}.nodeName", out)
    if nodes is not None:
        present.append("`nodeSelector`")
        node_selector(nodes, f"{path}.nodeSelector", out)
    if everywhere:
        present.append("`allNodes`")
    elif everywhere is not None:
        out.append(invalid(f"{path}.allNodes", False, _TRUE_OR_UNSET))
    return present


def _slice_place(spec: Mapping[str, Any], out: Causes) -> None:
    empty = "must be either unset or set to a non-empty string"
    present = _place(spec, "spec", out, empty)
    nodes = spec.get("nodeSelector")
    if nodes is not None and len(nodes.get("nodeSelectorTerms") or ()) != 1:
        detail = "must have exactly one node selector term"
        shown = go_structs_of(_TERM_TYPE, nodes.get("nodeSelectorTerms"))
        out.append(invalid("spec.nodeSelector.nodeSelectorTerms", shown, detail))
    each = spec.get("perDeviceNodeSelection")
    if each:
        present.append("`perDeviceNodeSelection`")
    elif each is not None:
        out.append(invalid("spec.perDeviceNodeSelection", False, _TRUE_OR_UNSET))
    if not present:
        out.append(required("spec", _ONE_PLACE))
    elif len(present) > 1:
        detail = f"{_ONE_PLACE}, but multiple fields are set"
        out.append(invalid("spec", f"{{{', '.join(present)}}}", detail))


def _device_place(device: Mapping[str, Any], path: str, out: Causes, *, each_device: bool) -> None:
    if not each_device:
        if any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
            out.append(invalid(path, None, _NO_DEVICE_PLACE))
        return
    present = _place(device, path, out, "must not be empty")
    if not present:
        out.append(required(path, _DEVICE_PLACE))
    elif len(present) > 1:
        out.append(invalid(path, f"{{{', '.join(present)}}}", _DEVICE_PLACE))


# --- slices ---


def _device(
    device: Mapping[str, Any],
    old: Mapping[str, Any] | None,
    path: str,
    out: Causes,
    *,
    each_device: bool,
) -> None:
    device_name(name_of(device), f"{path}.name", out)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > _ATTRIBUTES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_MAX}"
        out.append(invalid(path, total, detail))
    _named(attributes, f"{path}.attributes", out, _attribute)
    if old is None or not same(capacity, old.get("capacity")):
        shared = bool(device.get("allowMultipleAllocations"))
        check = _shared_capacity if shared else _own_capacity
        _named(capacity, f"{path}.capacity", out, check)
    taints = device.get("taints") or ()
    if old is None or not same(taints, old.get("taints")):
        _TAINTS(taints, f"{path}.taints", out)
    _CONSUMPTIONS(device.get("consumesCounters") or (), f"{path}.consumesCounters", out)
    _device_place(device, path, out, each_device=each_device)
    binding_conditions(device, path, out)


_POOL = table(
    row("name", pool_name, absent=pool_name),
    row("resourceSliceCount", minimum(1, NOT_POSITIVE), zero=0),
    row("generation", minimum(0, "must be greater than or equal to zero")),
)


def _fixed(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    pairs = (
        ("spec.pool.name", member(new, "pool").get("name"), member(old, "pool").get("name")),
        ("spec.driver", new.get("driver"), old.get("driver")),
    )
    for path, value, before in pairs:
        if not same(value, before):
            out.append(invalid(path, value, IMMUTABLE))
    node = new.get("nodeName")
    if not same(node, old.get("nodeName")):
        out.append(invalid_pointer("spec.nodeName", node, IMMUTABLE))


def _slice(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    spec = member(new, "spec")
    driver_name(spec.get("driver") or "", "spec.driver", out)
    _POOL(member(spec, "pool"), "spec.pool", out)
    if old:
        _fixed(spec, member(old, "spec"), out)
    _slice_place(spec, out)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        detail = "only one of `sharedCounters` or `devices` is allowed"
        out.append(invalid("spec", "", detail))
    advanced = any(item.get("taints") or item.get("consumesCounters") for item in devices or ())
    stored = {name_of(item): item for item in member(old, "spec").get("devices") or ()}
    each_device = bool(spec.get("perDeviceNodeSelection"))

    def device(value: Mapping[str, Any], path: str, found: Causes) -> None:
        _device(value, stored.get(name_of(value)), path, found, each_device=each_device)

    limit = _ADVANCED_DEVICES_MAX if advanced else _DEVICES_MAX
    distinct(limit, device, name_of)(devices or (), "spec.devices", out)
    _COUNTER_SETS(counters or (), "spec.sharedCounters", out)


def _warnings(new: Json, _: Json | None) -> list[str]:
    driver = member(new, "spec").get("driver") or ""
    if driver == driver.lower():
        return []
    return [
        (
            f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase "
            "characters"
        )
    ]


SLICES = Validation(
    create=lambda obj, _, out: _slice(obj, {}, out),
    update=_slice,
    revalidate=False,
    warnings=_warnings,
)
"""The rules of ``resourceslices``."""
