"""Services and Endpoints.

Source: "Service", "IPv4/IPv6 dual-stack" and "Virtual IPs and Service Proxies" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import (
    cidr_check,
    cidr_warnings,
    ip_check,
    ip_warnings,
    is_dual_stack,
    non_special_ip,
    parse_ip,
)
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    go_struct,
    member,
    one_of,
)
from kubetrio.kinds.common.formats import (
    LABEL,
    PORT,
    QUALIFIED,
    SUBDOMAIN,
    port_or_name,
)
from kubetrio.kinds.common.selectors import label_map
from kubetrio.kinds.core.validation.containers import protocol
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import dns1123_subdomain

_TYPES = one_of("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = one_of("ClientIP", "None")
_POLICIES = one_of("Cluster", "Local")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = one_of("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = one_of("PreferClose", "PreferSameZone", "PreferSameNode", named=False)
_IP_MODES = ("Proxy", "VIP")
_MAX_AFFINITY_SECONDS = 86400
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_ONCE = "may not change once set"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_PORT_KEY = go_struct(
    Name=("", ""),
    Protocol=("protocol", ""),
    AppProtocol=("", None),
    Port=("port", 0),
    TargetPort=("", 0),
    NodePort=("", 0),
)


def _spec(service: Json) -> Mapping[str, Any]:
    return member(service, "spec")


def _is_headless(spec: Mapping[str, Any]) -> bool:
    return spec.get("clusterIPs") == ["None"]


def _has_external_address(spec: Mapping[str, Any]) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def _needs_health_check(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


# --- parts ---


def _by_type(spec: Mapping[str, Any], out: Causes) -> None:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort"):
        if _is_headless(spec):
            detail = f"may not be set to 'None' for {kind} services"
            out.append(invalid("spec.clusterIPs[0]", "None", detail))
    elif kind == "ExternalName":
        detail = "may not be set for ExternalName services"
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                out.append(forbidden(f"spec.{name}", detail))
        if name := (spec.get("externalName") or "").removesuffix("."):
            SUBDOMAIN(name, "spec.externalName", out)
        else:
            out.append(required("spec.externalName"))


def _port(port: Json, path: str, out: Causes, names: set[str] | None) -> None:
    """Check a port; with the names of others before it where it needs one."""
    name = port.get("name") or ""
    if name:
        LABEL(name, f"{path}.name", out)
        if names is not None and name in names:
            out.append(duplicate(f"{path}.name", name))
        elif names is not None:
            names.add(name)
    elif names is not None:
        out.append(required(f"{path}.name"))
    PORT(port.get("port") or 0, f"{path}.port", out)
    protocol(port.get("protocol") or "", f"{path}.protocol", out)
    port_or_name(port.get("targetPort"), f"{path}.targetPort", out)
    if port.get("appProtocol") is not None:
        QUALIFIED(port["appProtocol"], f"{path}.appProtocol", out)


def _ports(ports: Sequence[Json], out: Causes) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        _port(port, where, out, names if len(ports) > 1 else None)


def _repeated_ports(spec: Mapping[str, Any], ports: Sequence[Json], out: Causes) -> None:
    if spec.get("type") == "ClusterIP":
        detail = "may not be used when `type` is 'ClusterIP'"
        out.extend(
            forbidden(f"spec.ports[{index}].nodePort", detail)
            for index, port in enumerate(ports)
            if port.get("nodePort")
        )
    for name, suffix in (("nodePort", ".nodePort"), ("port", "")):
        taken: set[tuple[str, int]] = set()
        for index, port in enumerate(ports):
            number = port.get(name) or 0
            if suffix and not number:
                continue
            key = (port.get("protocol") or "", number)
            if key in taken:
                shown = number if suffix else _PORT_KEY(port)
                out.append(duplicate(f"spec.ports[{index}]{suffix}", shown))
            taken.add(key)


def _session_affinity(spec: Mapping[str, Any], out: Causes) -> None:
    affinity = spec.get("sessionAffinity") or ""
    path = "spec.sessionAffinityConfig"
    if not affinity:
        out.append(required("spec.sessionAffinity"))
    else:
        _AFFINITIES(affinity, "spec.sessionAffinity", out)
    config = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        detail = "must not be set when session affinity is None"
        out.append(forbidden(path, detail))
    if affinity != "ClientIP":
        return
    detail = "when session affinity type is ClientIP"
    if config is None:
        out.append(required(path, detail))
    elif config.get("clientIP") is None:
        out.append(required(f"{path}.clientIP", detail))
    elif (seconds := config["clientIP"].get("timeoutSeconds")) is None:
        out.append(required(f"{path}.clientIP.timeoutSeconds", detail))
    elif not 0 < seconds <= _MAX_AFFINITY_SECONDS:
        detail = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
        out.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail))


def cluster_ips(spec: Mapping[str, Any], out: Causes, known: Collection[str] = ()) -> None:
    """Check cluster IPs and families of a service against each other.

    Args:
        spec: spec of the service.
        out: receives causes.
        known: addresses that were stored already.
    """
    if spec.get("type") == "ExternalName":
        return
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    path = "spec.clusterIPs"
    if not first and addresses:
        out.append(invalid(path, addresses, "must be empty when `clusterIP` is not specified"))
    elif first and not addresses:
        out.append(required(path))
    elif first and addresses[0] != first:
        out.append(invalid(path, addresses, "first value must match `clusterIP`"))
    _families(families, out)
    if spec.get("ipFamilyPolicy") is not None:
        _FAMILY_POLICIES(spec["ipFamilyPolicy"], "spec.ipFamilyPolicy", out)
    before = len(out)
    _addresses(addresses, path, out, known)
    bad = len(out) != before
    if len(addresses) > 2:
        out.append(invalid(path, addresses, "may only hold up to 2 values"))
    if bad:
        return
    if len(addresses) > 1 and not is_dual_stack(addresses):
        detail = "may specify no more than one IP for each IP family"
        out.append(invalid(path, addresses, detail))
    if not _is_headless(spec):
        _matching_families(addresses, families, path, out)


def _families(families: Sequence[str], out: Causes) -> None:
    for index, family in enumerate(families):
        where = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            out.append(not_supported(where, family, _FAMILIES))
        if family in families[:index]:
            out.append(duplicate(where, family))


def _addresses(addresses: Sequence[str], path: str, out: Causes, known: Collection[str]) -> None:
    check = ip_check(known)
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                detail = "'None' must be the first and only value"
                out.append(invalid(path, list(addresses), detail))
            continue
        check(address, f"{path}[{index}]", out)


def _matching_families(
    addresses: Sequence[str], families: Sequence[str], path: str, out: Causes
) -> None:
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        actual = "IPv6" if ":" in address else "IPv4"
        if family in _FAMILIES and family != actual:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            out.append(invalid(f"{path}[{index}]", address, detail))


def _source_ranges(service: Json, old: Json | None, out: Causes) -> None:
    spec, known = _spec(service), member(old, "spec").get("loadBalancerSourceRanges") or ()
    ranges = spec.get("loadBalancerSourceRanges")
    note = member(member(service, "metadata"), "annotations").get(_SOURCE_RANGES)
    if ranges:
        path, places = "spec.LoadBalancerSourceRanges", True
    elif note is not None:
        path, places, known = f"metadata.annotations[{_SOURCE_RANGES}]", False, ()
        kept = member(member(old, "metadata"), "annotations").get(_SOURCE_RANGES) == note
        ranges = note.split(",") if note.strip() and not kept else []
    else:
        return
    if spec.get("type") != "LoadBalancer":
        out.append(forbidden(path, _ONLY_LOAD_BALANCER))
    check = cidr_check({value.strip() for value in known})
    for index, value in enumerate(ranges):
        check(value.strip(), f"{path}[{index}]" if places else path, out)


def _load_balancer(spec: Mapping[str, Any], out: Causes) -> None:
    balanced = spec.get("type") == "LoadBalancer"
    allocate = spec.get("allocateLoadBalancerNodePorts")
    if allocate is not None and not balanced:
        out.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    if allocate is None and balanced:
        out.append(required("allocateLoadBalancerNodePorts"))
    _load_balancer_class(spec, out)


def _load_balancer_class(spec: Mapping[str, Any], out: Causes) -> None:
    balanced, name = spec.get("type") == "LoadBalancer", spec.get("loadBalancerClass")
    if name is not None and balanced:
        QUALIFIED(name, "spec.loadBalancerClass", out)
    elif name is not None:
        out.append(forbidden("spec.loadBalancerClass", _ONLY_LOAD_BALANCER))


def _traffic(spec: Mapping[str, Any], out: Causes) -> None:
    policy, path = spec.get("externalTrafficPolicy") or "", "spec.externalTrafficPolicy"
    if not _has_external_address(spec):
        if policy:
            detail = "may only be set for externally-accessible services"
            out.append(invalid(path, policy, detail))
    elif policy:
        _POLICIES(policy, path, out)
    else:
        out.append(required(path))
    port, path = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if not _needs_health_check(spec):
        if port:
            detail = (
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` "
                "is 'Local'"
            )
            out.append(invalid(path, port, detail))
    elif port:
        PORT(port, path, out)
    else:
        out.append(required(path))
    inner = spec.get("internalTrafficPolicy")
    if inner is not None:
        _POLICIES(inner, "spec.internalTrafficPolicy", out)
    elif spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
        out.append(required("spec.internalTrafficPolicy"))
    if spec.get("trafficDistribution") is not None:
        _DISTRIBUTIONS(spec["trafficDistribution"], "spec.trafficDistribution", out)


# --- service ---


def _service(service: Json, out: Causes, old: Json | None) -> None:
    spec = _spec(service)
    before = member(old, "spec")
    notes = member(member(service, "metadata"), "annotations")
    if _MODE in notes and _HINTS in notes and notes[_MODE] != notes[_HINTS]:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        out.append(invalid(f"metadata.annotations[{_MODE}]", notes[_MODE], detail))
    ports = spec.get("ports") or ()
    if not ports and not _is_headless(spec) and spec.get("type") != "ExternalName":
        out.append(required("spec.ports"))
    _by_type(spec, out)
    _ports(ports, out)
    label_map(spec.get("selector") or {}, "spec.selector", out)
    _session_affinity(spec, out)
    cluster_ips(spec, out, before.get("clusterIPs") or ())
    external = ip_check(before.get("externalIPs") or ())
    for index, address in enumerate(spec.get("externalIPs") or ()):
        count = len(out)
        external(address, f"spec.externalIPs[{index}]", out)
        if len(out) == count:
            non_special_ip(address, f"spec.externalIPs[{index}]", out)
    kind = spec.get("type") or ""
    if kind:
        _TYPES(kind, "spec.type", out)
    else:
        out.append(required("spec.type"))
    _repeated_ports(spec, ports, out)
    _source_ranges(service, old, out)
    _load_balancer(spec, out)
    _traffic(spec, out)


def _changed_addresses(mine: Mapping[str, Any], theirs: Mapping[str, Any], out: Causes) -> None:
    """A primary address never changes, a secondary one is released on purpose."""
    new, old = mine.get("clusterIPs") or [], theirs.get("clusterIPs") or []
    if len(new) < len(old) and not new:
        out.append(invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset"))
    compared = len(old) if len(new) == len(old) else 1
    for index, (address, before) in enumerate(zip(new[:compared], old, strict=False)):
        if address != before:
            out.append(invalid(f"spec.clusterIPs[{index}]", new, _ONCE))
    if len(old) > len(new) == 1:
        _released(mine, "clusterIP", out)


def _changed_families(mine: Mapping[str, Any], theirs: Mapping[str, Any], out: Causes) -> None:
    """Check that families stay; where their number changes, the causes show the addresses."""
    new, old = mine.get("ipFamilies") or [], theirs.get("ipFamilies") or []
    path, addresses = "spec.ipFamilies[0]", mine.get("clusterIPs") or []
    if len(new) == len(old):
        for family, before in zip(new, old, strict=True):
            if family != before:
                out.append(invalid(path, new, _ONCE))
        return
    if len(new) < len(old) and not addresses:
        out.append(invalid(path, new, "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        out.append(invalid(path, addresses, _ONCE))
    if len(old) > len(new) == 1:
        _released(mine, "ipFamily", out)


def _released(spec: Mapping[str, Any], what: str, out: Causes) -> None:
    policy = spec.get("ipFamilyPolicy")
    if policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {what}"
        out.append(invalid("spec.ipFamilyPolicy", policy, detail))


def _update(new: Json, old: Json, out: Causes) -> None:
    mine, theirs = _spec(new), _spec(old)
    headless, was_headless = _is_headless(mine), _is_headless(theirs)
    if "ExternalName" not in (mine.get("type"), theirs.get("type")):
        if not (headless and was_headless):
            _changed_addresses(mine, theirs, out)
        if not headless and not was_headless:
            _changed_families(mine, theirs, out)
    if mine.get("type") == theirs.get("type") == "LoadBalancer":
        name = mine.get("loadBalancerClass")
        if name != theirs.get("loadBalancerClass"):
            out.append(invalid("spec.loadBalancerClass", name, _ONCE))
    _load_balancer_class(mine, out)
    checked = _needs_health_check(mine) and _needs_health_check(theirs)
    if checked and mine.get("healthCheckNodePort") != theirs.get("healthCheckNodePort"):
        out.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    _service(new, out, old)


def _load_balancer_status(
    status: Mapping[str, Any], path: str, out: Causes, known: Collection[str]
) -> None:
    """Check where a load balancer listens; known addresses may be written loosely."""
    check = ip_check(known)
    for index, ingress in enumerate(status.get("ingress") or ()):
        where = f"{path}.ingress[{index}]"
        address, mode = ingress.get("ip") or "", ingress.get("ipMode")
        if address:
            check(address, f"{where}.ip", out)
        _ip_mode(address, mode, f"{where}.ipMode", out)
        if name := ingress.get("hostname"):
            for message in dns1123_subdomain(name):
                out.append(invalid(f"{where}.hostname", name, message))
            if parse_ip(name) is not None:
                detail = "must be a DNS name, not an IP address"
                out.append(invalid(f"{where}.hostname", name, detail))


def _ip_mode(address: str, mode: str | None, path: str, out: Causes) -> None:
    if mode is None:
        if address:
            out.append(required(path, "must be specified when `ip` is set"))
    elif not address:
        out.append(forbidden(path, "may not be specified when `ip` is not set"))
    elif mode not in _IP_MODES:
        out.append(not_supported(path, mode, _IP_MODES))


def _status(new: Json, old: Json, out: Causes) -> None:
    balancer = member(member(new, "status"), "loadBalancer")
    before = member(member(old, "status"), "loadBalancer").get("ingress") or ()
    path = "status.loadBalancer"
    if _spec(new).get("type") != "LoadBalancer" and balancer.get("ingress"):
        detail = "may only be used when `spec.type` is 'LoadBalancer'"
        out.append(forbidden(f"{path}.ingress", detail))
    else:
        known = [ingress["ip"] for ingress in before if ingress.get("ip")]
        _load_balancer_status(balancer, path, out, known)


def _warnings(new: Json, _: Json | None) -> list[str]:
    spec = _spec(new)
    warnings = []
    external = spec.get("externalIPs") or ()
    kind = spec.get("type")
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if _HINTS in member(member(new, "metadata"), "annotations"):
        warnings.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    if spec.get("clusterIP") not in (None, "", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or ()):
            warnings += ip_warnings(address, f"spec.clusterIPs[{index}]")
    if headless:
        if spec.get("loadBalancerIP"):
            warnings.append("spec.loadBalancerIP is ignored for headless services")
        if external:
            warnings.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            warnings.append("spec.SessionAffinity is ignored for headless services")
    for index, address in enumerate(external):
        warnings += ip_warnings(address, f"spec.externalIPs[{index}]")
    if external and not headless and kind != "ExternalName":
        warnings.append(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        )
    warnings += ip_warnings(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    for index, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        warnings += cidr_warnings(value, f"spec.loadBalancerSourceRanges[{index}]")
    if kind == "ExternalName" and external:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        warnings.append(
            'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
        )
    return warnings


SERVICES = Validation(
    create=lambda service, _, out: _service(service, out, None),
    update=_update,
    revalidate=False,
    subresources={"status": _status},
    warnings=_warnings,
)
"""The rules of Services."""
