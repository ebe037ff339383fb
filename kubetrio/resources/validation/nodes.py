"""Nodes.

Source: "Nodes" in the Kubernetes documentation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubetrio.machinery.fielderrors import duplicate, forbidden, invalid, required
from kubetrio.resources.validation.addresses import cidr_check, cidr_warnings, is_dual_stack
from kubetrio.resources.validation.formats import CONFIG_KEY, LABEL, SUBDOMAIN
from kubetrio.resources.validation.library import Causes, Json, KindRules, member
from kubetrio.resources.validation.quantities import quantity_of
from kubetrio.resources.validation.scheduling import taints

_TAINTS = "scheduler.alpha.kubernetes.io/taints"
_AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_ONE_REFERENCE = "exactly one reference subfield must be non-nil"


def _annotations(node: Json, out: Causes) -> None:
    notes = member(member(node, "metadata"), "annotations")
    path = "metadata.annotations"
    if text := notes.get(_TAINTS):
        try:
            items = json.loads(text)
        except ValueError as error:
            out.append(invalid(path, _TAINTS, str(error)))
        else:
            if isinstance(items, list):
                taints(items, f"{path}.{_TAINTS}", out)
    if text := notes.get(_AVOID):
        try:
            json.loads(text)
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
    if len(ranges) > 2 or not is_dual_stack(ranges):
        detail = "may specify no more than one CIDR for each IP family"
        out.append(invalid(path, ranges, detail))
    for index, value in enumerate(ranges):
        if value in ranges[:index]:
            out.append(duplicate(f"{path}[{index}]", value))


def _create(node: Json, _path: str, out: Causes) -> None:
    spec = member(node, "spec")
    _annotations(node, out)
    # upstream puts taints below the metadata
    taints(spec.get("taints") or (), "metadata.taints", out)
    _resources(node, out)
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
            out.append(required(f"{path}.{name}", f"{name} must be set"))


def _config_source(source: Json, path: str, out: Causes, *, status: bool) -> None:
    reference = source.get("configMap")
    where = f"{path}.configMap"
    if reference is None:
        out.append(invalid(path, {"ConfigMap": None}, _ONE_REFERENCE))
        return
    for name in ("uid", "resourceVersion"):
        given = bool(reference.get(name))
        if status and not given:
            out.append(required(f"{where}.{name}", f"{name} must be set in status"))
        if given and not status:
            out.append(forbidden(f"{where}.{name}", f"{name} must not be set in spec"))
    _reference(reference, where, out)


def _update(node: Json, old: Json, out: Causes) -> None:
    spec, before = member(node, "spec"), member(old, "spec")
    status = member(node, "status")
    _annotations(node, out)
    _resources(node, out)
    addresses = status.get("addresses") or []
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            shown = {"Type": address.get("type") or "", "Address": address.get("address") or ""}
            out.append(duplicate(f"status.addresses[{index}]", shown))
    ranges = before.get("podCIDRs")
    if ranges and ranges != spec.get("podCIDRs"):
        detail = 'node updates may not change podCIDR except from "" to valid'
        out.append(forbidden("spec.podCIDRs", detail))
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


NODES = KindRules(
    create=_create,
    update=_update,
    revalidate=False,
    subresources={"status": _update},
    warnings=_warnings,
)
"""The rules of Nodes."""
