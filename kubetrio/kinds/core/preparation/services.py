"""Services: fields that belong together, and values that survive an update that leaves them out.

A service is a union with its type as discriminator.  Clients send back what they know and change
the type; what was allocated for them and no longer applies goes, as long as they did not ask for
something else.  Addresses, their families and ports are allocated elsewhere.

Source: docs "Service", "IPv4/IPv6 dual-stack"; KEP-563.
"""

from __future__ import annotations

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.core.defaults.services import externally_accessible
from kubetrio.schema.rules import Context, Json

_NO_ADDRESS = "ExternalName"
_SPEC = "io.k8s.api.core.v1.ServiceSpec"
_PORT = "io.k8s.api.core.v1.ServicePort"


def create(service: Json, _: Context) -> None:
    """Complete a new service."""
    spec = service["spec"]
    address = spec.get("clusterIP")
    if address and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [address]
    _hide_traffic_policy(spec)
    service["spec"] = ordered(_SPEC, spec)


def _hide_traffic_policy(spec: Json) -> None:
    """Drop what was once a default of all types; kube-apiserver never shows it."""
    if spec["type"] == _NO_ADDRESS and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]


def update(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Keep allocated values that are left out, drop those that no longer apply."""
    if subresource:
        return
    spec, was = dict(new["spec"]), old["spec"]
    if "ports" in spec:
        spec["ports"] = [dict(port) for port in spec["ports"]]
    _keep_allocated(spec, was)
    _follow_address(spec, was)
    _drop_dependent(spec, was)
    _hide_traffic_policy(spec)
    new["spec"] = ordered(_SPEC, spec)
    if spec["type"] != "LoadBalancer":
        new["status"] = {**(new.get("status") or {}), "loadBalancer": {}}


def _has_address(spec: Json) -> bool:
    return bool(spec["type"] != _NO_ADDRESS)


def has_node_ports(spec: Json) -> bool:
    """Whether a service of this spec may have node ports."""
    return spec["type"] in ("NodePort", "LoadBalancer")


def is_given_node_ports(spec: Json) -> bool:
    """Whether a service of this spec is given a node port for each of its ports."""
    if spec["type"] == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return bool(spec["type"] == "NodePort")


def has_health_port(spec: Json) -> bool:
    """Whether a service of this spec is given a port for health checks of its nodes."""
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def _node_ports(spec: Json) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _keep_allocated(spec: Json, was: Json) -> None:
    if _has_address(was) and _has_address(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and was.get(name):
                spec[name] = was[name]
    if is_given_node_ports(was) and is_given_node_ports(spec):
        used = _node_ports(was) & _node_ports(spec)
        known = {port.get("name", ""): port.get("nodePort", 0) for port in was.get("ports") or ()}
        ports = []
        for port in spec.get("ports") or ():
            number = known.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port = ordered(_PORT, {**port, "nodePort": number})
            ports.append(port)
        if ports:
            spec["ports"] = ports
    if has_health_port(was) and has_health_port(spec) and was.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or was["healthCheckNodePort"]


def _follow_address(spec: Json, was: Json) -> None:
    """``clusterIPs`` follows ``clusterIP`` for clients that know only the older field."""
    address, before = spec.get("clusterIP") or "", was.get("clusterIP") or ""
    if address == before or (spec.get("clusterIPs") or []) != (was.get("clusterIPs") or []):
        return
    if address:
        spec["clusterIPs"] = [address]
    else:
        spec.pop("clusterIPs", None)


def _drop_dependent(spec: Json, was: Json) -> None:
    if _has_address(was) and not _has_address(spec):
        if all(_same(spec, was, name) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        _drop_same(spec, was, "ipFamilies")
        _drop_same(spec, was, "ipFamilyPolicy")
    no_new_ports = _node_ports(was) >= _node_ports(spec)
    if has_node_ports(was) and not has_node_ports(spec) and no_new_ports:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if has_health_port(was) and not has_health_port(spec):
        _drop_same(spec, was, "healthCheckNodePort")
    if was["type"] == "LoadBalancer" != spec["type"]:
        _drop_same(spec, was, "allocateLoadBalancerNodePorts")
        _drop_same(spec, was, "loadBalancerClass")
    if externally_accessible(was) and not externally_accessible(spec):
        _drop_same(spec, was, "externalTrafficPolicy")


def _same(spec: Json, was: Json, name: str) -> bool:
    return (spec.get(name) or None) == (was.get(name) or None)


def _drop_same(spec: Json, was: Json, name: str) -> None:
    if spec.get(name) == was.get(name):
        spec.pop(name, None)
