"""Nodes.

Source: "Nodes" in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.addresses import (
    cidr_check,
    cidr_warnings,
    is_dual_stack,
    parse_cidr,
)
from kubetrio.kinds.common.checks import (
    NOT_POSITIVE,
    Causes,
    Json,
    Validation,
    member,
)
from kubetrio.kinds.common.formats import CONFIG_KEY, LABEL, SUBDOMAIN
from kubetrio.kinds.common.jsontexts import (
    AVOID_PODS,
    TAINT,
    read_struct,
    read_structs,
)
from kubetrio.kinds.common.quantities import quantity_of
from kubetrio.kinds.core.validation.scheduling import taints
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    internal,
    invalid,
    quote,
    required,
)
from kubetrio.machinery.names_validation import byte_length

_TAINTS = "scheduler.alpha.kubernetes.io/taints"
_AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_MAX_FEATURE = 253
_FEATURE_FORM = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
    "MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_feature = re.compile("[A-Z][A-Za-z0-9]*(/[A-Za-z0-9]+)*")
_ONE_REFERENCE = "exactly one reference subfield must be non-nil"


def _annotations(node: Json, out: Causes) -> None:
    notes = member(member(node, "metadata"), "annotations")
    path = "metadata.annotations"
    if text := notes.get(_TAINTS):
        try:
            items = read_structs(text, TAINT)
        except ValueError as error:
            out.append(invalid(path, _TAINTS, str(error)))
        else:
            taints(items, f"{path}.{_TAINTS}", out)
    if text := notes.get(_AVOID):
        try:
            read_struct(text, AVOID_PODS)
        except ValueError as error:
            out.append(invalid(f"{path}.AvoidPods", _AVOID, str(error)))


def _resources(node: Json, out: Causes) -> None:
    status = member(node, "status")
    for name in ("capacity", "allocatable"):
        for resource, value in member(status, name).items():
            quantity_of(resource, value, f"status.{name}.{resource}", out)


def _pod_cidrs(ranges: list[str], out: Causes) -> None:
    check = cidr_check()
    path = "spec.podCIDRs"
    for index, value in enumerate(ranges):
        check(value, f"{path}[{index}]", out)
    if len(ranges) < 2:
        return
    for index, value in enumerate(ranges):
        if parse_cidr(value) is None:
            # upstream prints the range that it did not get
            detail = (
                "invalid PodCIDRs. failed to check with dual stack with error:invalid "
                f"CIDR[{index}]: <nil> (invalid CIDR address: {value})"
            )
            out.append(internal(path, detail))
            break
    if len(ranges) > 2 or not is_dual_stack(ranges):
        detail = "may specify no more than one CIDR for each IP family"
        out.append(invalid(path, ranges, detail))


def _declared_features(node: Json, out: Causes) -> None:
    """Features that a kubelet declares: well named, sorted and each once (KEP-5328)."""
    names = member(node, "status").get("declaredFeatures") or ()
    path = "status.declaredFeatures"
    for index, name in enumerate(names):
        if byte_length(name) > _MAX_FEATURE:
            detail = f"must be no more than {_MAX_FEATURE} characters"
        else:
            detail = "" if _feature.fullmatch(name) else _FEATURE_FORM
        if detail:
            out.append(
                invalid(f"{path}[{index}]", name, f"invalid feature name {quote(name)}: {detail}")
            )
        before = names[index - 1] if index else ""
        if index and before == name:
            out.append(duplicate(f"{path}[{index}]", name))
        elif before > name:
            out.append(invalid(f"{path}[{index}]", name, "list must be sorted alphabetically"))


def _swap(node: Json, out: Causes) -> None:
    swap = member(member(node, "status"), "nodeInfo").get("swap") or {}
    capacity = swap.get("capacity")
    if capacity is not None and capacity <= 0:
        # kube-apiserver names it below the metadata
        out.append(invalid("metadata.nodeSwapStatus.capacity", capacity, NOT_POSITIVE))


def _create(node: Json, _path: str, out: Causes) -> None:
    spec = member(node, "spec")
    _annotations(node, out)
    # upstream puts taints below the metadata
    taints(spec.get("taints") or (), "metadata.taints", out)
    _resources(node, out)
    _swap(node, out)
    _declared_features(node, out)
    _pod_cidrs(spec.get("podCIDRs") or [], out)


def _reference(source: Mapping[str, Any], path: str, out: Causes) -> None:
    for name, check in (
        ("namespace", LABEL),
        ("name", SUBDOMAIN),
        ("kubeletConfigKey", CONFIG_KEY),
    ):
        if value := source.get(name):
            check(value, f"{path}.{name}", out)
        else:
            out.append(required(f"{path}.{name}"))


def _config_source(source: Json, path: str, out: Causes, *, status: bool) -> None:
    reference = source.get("configMap")
    where = f"{path}.configMap"
    if reference is None:
        out.append(invalid(path, {"ConfigMap": None}, _ONE_REFERENCE))
        return
    for name in ("uid", "resourceVersion"):
        given = bool(reference.get(name))
        if status and not given:
            out.append(required(f"{where}.{name}"))
        if given and not status:
            out.append(forbidden(f"{where}.{name}", f"{name} must not be set in spec"))
    _reference(reference, where, out)


def _same_ranges(mine: list[str], theirs: list[str], out: Causes) -> None:
    if len(mine) == len(theirs):
        changes = sum(one != two for one, two in zip(mine, theirs, strict=True))
    else:
        changes = int(bool(theirs))
    detail = 'node updates may not change podCIDR except from "" to valid'
    out.extend(forbidden("spec.podCIDRs", detail) for _ in range(changes))


def _update(node: Json, old: Json, out: Causes) -> None:
    spec, before = member(node, "spec"), member(old, "spec")
    status = member(node, "status")
    _annotations(node, out)
    _resources(node, out)
    _declared_features(node, out)
    addresses = status.get("addresses") or []
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            shown = {"Type": address.get("type") or "", "Address": address.get("address") or ""}
            out.append(duplicate(f"status.addresses[{index}]", shown))
    _same_ranges(spec.get("podCIDRs") or [], before.get("podCIDRs") or [], out)
    provider = before.get("providerID")
    if provider and provider != spec.get("providerID"):
        detail = 'node updates may not change providerID except from "" to valid'
        out.append(forbidden("spec.providerID", detail))
    if spec.get("configSource") is not None:
        _config_source(spec["configSource"], "spec.configSource", out, status=False)
    for name in ("assigned", "active", "lastKnownGood"):
        source = member(status, "config").get(name)
        if source is not None:
            _config_source(source, f"status.config.{name}", out, status=True)
    taints(spec.get("taints") or (), "metadata.taints", out)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        out.append(forbidden("spec.externalID", "may not be updated"))


def _warnings(node: Json, _: Json | None) -> list[str]:
    spec = member(node, "spec")
    warnings = []
    if spec.get("configSource") is not None:
        warnings.append(
            "spec.configSource: the feature DynamicKubeletConfig was removed in v1.24+ and is "
            "unsupported"
        )
    if spec.get("externalID"):
        warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, value in enumerate(spec.get("podCIDRs") or ()):
        warnings += cidr_warnings(value, f"spec.podCIDRs[{index}]")
    return warnings


NODES = Validation(
    create=_create,
    update=_update,
    subresources={"status": _update},
    warnings=_warnings,
)
"""The rules of Nodes."""
