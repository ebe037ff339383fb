"""Ingress classes, network policies, addresses and ranges of services.

Source: "Ingress", "Network Policies" and "Extend Service IP Ranges" in the Kubernetes
documentation.  Ingresses are in ``ingresses``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from kubetrio.kinds.common.addresses import (
    cidr_check,
    cidr_warnings,
    parse_cidr,
)
from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Check,
    Json,
    Validation,
    changes,
    immutable,
    matches,
    member,
    row,
    same,
    table,
    unchanged,
)
from kubetrio.kinds.common.formats import domain_prefixed_path, port_name
from kubetrio.kinds.common.gostructs import go_struct_of
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.kinds.common.shared_checks import shorter
from kubetrio.machinery.fielderrors import forbidden, invalid, not_supported, required
from kubetrio.machinery.names_validation import (
    dns1123_label,
    dns1123_subdomain,
    path_segment,
)

_PORT = "must be between 1 and 65535, inclusive"
_SIDES = (("ingress", "from"), ("egress", "to"))
_POLICY_TYPES = ("Ingress", "Egress")
_SEGMENT = matches(path_segment)
_SUBDOMAIN = matches(dns1123_subdomain)
_PARENT_TYPE = "io.k8s.api.networking.v1.ParentReference"

# --- ingress classes ---


def _scope(params: Mapping[str, Any], path: str, out: Causes) -> None:
    scope, namespace = params.get("scope"), params.get("namespace")
    if scope is None:
        out.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        out.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"), named=False))
    elif scope == "Cluster":
        if namespace is not None:
            detail = "`parameters.scope` is set to 'Cluster'"
            out.append(forbidden(f"{path}.namespace", detail))
    elif namespace is None:
        out.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        where = f"{path}.namespace"
        out.extend(invalid(where, namespace, text) for text in dns1123_label(namespace))


_CLASS = table(
    row("controller", shorter(250), domain_prefixed_path, missing=""),
    row(
        "parameters",
        table(
            row("apiGroup", _SUBDOMAIN),
            row("kind", _SEGMENT, missing=""),
            row("name", _SEGMENT, missing=""),
            _scope,
        ),
    ),
)


def _class(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _CLASS(member(obj, "spec"), "spec", out)


# --- network policies ---


def _port(port: Mapping[str, Any], path: str, out: Causes) -> None:
    protocol = port.get("protocol")
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        out.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    number, end = port.get("port"), port.get("endPort")
    where = f"{path}.endPort"
    if number is None:
        if end is not None:
            detail = "may not be specified when `port` is not specified"
            out.append(invalid(where, end, detail))
    elif isinstance(number, str):
        if end is not None:
            out.append(invalid(where, end, "may not be specified when `port` is non-numeric"))
        out.extend(invalid(f"{path}.port", number, text) for text in port_name(number))
    else:
        if not 1 <= number <= 65535:
            out.append(invalid(f"{path}.port", number, _PORT))
        if end is not None:
            if end < number:
                # upstream shows the other end
                out.append(invalid(where, number, "must be greater than or equal to `port`"))
            if not 1 <= end <= 65535:
                out.append(invalid(where, end, _PORT))


def _peer(peer: Mapping[str, Any], path: str, out: Causes, cidr: Check) -> None:
    peers = 0
    for name in ("podSelector", "namespaceSelector"):
        if peer.get(name) is not None:
            peers += 1
            label_selector(peer[name], f"{path}.{name}", out)
    block = peer.get("ipBlock")
    if block is not None:
        peers += 1
        _block(block, f"{path}.ipBlock", out, cidr)
    if not peers:
        out.append(required(path, "must specify a peer"))
    elif peers > 1 and block is not None:
        out.append(forbidden(path, "may not specify both ipBlock and another peer"))


def _block(block: Mapping[str, Any], path: str, out: Causes, cidr: Check) -> None:
    text = block.get("cidr") or ""
    if not text:
        out.append(required(f"{path}.cidr"))
        return
    cidr(text, f"{path}.cidr", out)
    whole = parse_cidr(text)
    if whole is None:
        return
    for index, part in enumerate(block.get("except") or ()):
        where = f"{path}.except[{index}]"
        cidr(part, where, out)
        parsed = parse_cidr(part)
        if parsed is not None and not _strictly_inside(parsed.network, whole.network):
            out.append(invalid(where, part, "must be a strict subset of `cidr`"))


def _strictly_inside(part: IPv4Network | IPv6Network, whole: IPv4Network | IPv6Network) -> bool:
    return (
        part.version == whole.version
        and part.network_address in whole
        and part.prefixlen > whole.prefixlen
    )


def _policy(spec: Mapping[str, Any], out: Causes, cidr: Check) -> None:
    label_selector(spec.get("podSelector"), "spec.podSelector", out)
    for side, peers in _SIDES:
        for index, rule in enumerate(spec.get(side) or ()):
            path = f"spec.{side}[{index}]"
            for position, port in enumerate(rule.get("ports") or ()):
                _port(port, f"{path}.ports[{position}]", out)
            for position, peer in enumerate(rule.get(peers) or ()):
                _peer(peer, f"{path}.{peers}[{position}]", out, cidr)
    types = spec.get("policyTypes") or ()
    if len(types) > 2:
        detail = "may not specify more than two policyTypes"
        out.append(invalid("spec.policyTypes", types, detail))
        return
    for index, name in enumerate(types):
        if name not in _POLICY_TYPES:
            out.append(not_supported(f"spec.policyTypes[{index}]", name, _POLICY_TYPES))


def _blocks(policy: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    spec = member(policy, "spec")
    for side, peers in _SIDES:
        for index, rule in enumerate(spec.get(side) or ()):
            for position, peer in enumerate(rule.get(peers) or ()):
                if block := peer.get("ipBlock"):
                    yield f"spec.{side}[{index}].{peers}[{position}].ipBlock", block


def _create_policy(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _policy(member(obj, "spec"), out, cidr_check())


def _update_policy(new: Json, old: Json, out: Causes) -> None:
    stored: Collection[str] = {
        text
        for _, block in _blocks(old)
        for text in (block.get("cidr") or "", *(block.get("except") or ()))
    }
    _policy(member(new, "spec"), out, cidr_check(stored))


def _policy_warnings(new: Json, old: Json | None) -> list[str]:
    if old is not None and same(new.get("spec"), old.get("spec")):
        return []
    warnings: list[str] = []
    for path, block in _blocks(new):
        warnings += cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
        for index, part in enumerate(block.get("except") or ()):
            warnings += cidr_warnings(part, f"{path}.except[{index}]")
    return warnings


# --- addresses and ranges of services ---


_PARENT = table(
    row("group", _SUBDOMAIN),
    row("resource", _SEGMENT, missing=""),
    row("name", _SEGMENT, missing=""),
    row("namespace", _SEGMENT),
)


def _parent(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    parent = member(obj, "spec").get("parentRef")
    if parent is None:
        out.append(required("spec.parentRef"))
    else:
        _PARENT(parent, "spec.parentRef", out)


def _same_parent(new: Json, old: Json, out: Causes) -> None:
    parent = member(new, "spec").get("parentRef")
    if not same(parent, member(old, "spec").get("parentRef")):
        shown = None if parent is None else go_struct_of(_PARENT_TYPE, parent)
        out.append(invalid("spec.parentRef", shown, IMMUTABLE))


_RANGE = cidr_check()


def _ranges(cidrs: Sequence[str], path: str, out: Causes) -> None:
    if not cidrs:
        out.append(required(path, "at least one CIDR required"))
        return
    if len(cidrs) > 2:
        out.append(invalid(path, {"CIDRs": cidrs}, "may only hold up to 2 values"))
        return
    for index, text in enumerate(cidrs):
        _RANGE(text, f"{path}[{index}]", out)
    parsed = [parse_cidr(text) for text in cidrs]
    families = [item.version for item in parsed if item is not None]
    if len(families) == 2 and families[0] == families[1]:
        detail = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64"
        )
        out.append(invalid(path, cidrs, detail))


def _create_range(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _ranges(member(obj, "spec").get("cidrs") or (), "spec.cidrs", out)


def _update_range(new: Json, old: Json, out: Causes) -> None:
    cidrs, stored = (list(member(obj, "spec").get("cidrs") or ()) for obj in (new, old))
    path = "spec.cidrs"
    if len(cidrs) == len(stored):
        for index, (text, before) in enumerate(zip(cidrs, stored, strict=True)):
            if text != before:
                out.append(invalid(f"{path}[{index}]", text, IMMUTABLE))
    elif (len(stored), len(cidrs)) == (1, 2):
        if cidrs[0] != stored[0]:
            out.append(invalid(f"{path}[0]", cidrs[0], IMMUTABLE))
        _ranges(cidrs, path, out)
    else:
        out.append(invalid(path, member(new, "spec").get("cidrs"), IMMUTABLE))


INGRESSCLASSES = Validation(create=_class, update=immutable("spec.controller", zero=""))
NETWORKPOLICIES = Validation(
    create=_create_policy,
    update=_update_policy,
    revalidate=False,
    warnings=_policy_warnings,
)
IPADDRESSES = Validation(
    create=_parent,
    update=changes(unchanged(_parent), _same_parent),
    revalidate=False,
)
SERVICECIDRS = Validation(create=_create_range, update=_update_range, revalidate=False)
