"""Services, without addresses and ports that are allocated."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, each, within

CLIENT_IP_TIMEOUT_S = 10800


def default_affinity(spec: Json) -> None:
    """Affinity by client address has a time-out; no affinity has no configuration."""
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            timeout = {"timeoutSeconds": CLIENT_IP_TIMEOUT_S}
            spec["sessionAffinityConfig"] = {"clientIP": timeout}


def default_target(port: Json) -> None:
    """Traffic goes to the port of the same number."""
    if port.get("targetPort") in (None, 0, ""):
        port["targetPort"] = port["port"]


def externally_accessible(spec: Json) -> bool:
    """Whether traffic from outside the cluster has a way in."""
    return spec.get("type") in ("LoadBalancer", "NodePort") or bool(
        spec.get("type") == "ClusterIP" and spec.get("externalIPs")
    )


def default_traffic(spec: Json) -> None:
    """Policies that exist for some types only."""
    kind = spec["type"]
    if externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        if spec.get("internalTrafficPolicy") is None:
            spec["internalTrafficPolicy"] = "Cluster"
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
            spec["allocateLoadBalancerNodePorts"] = True


def default_ip_mode(service: Json) -> None:
    """How a load balancer treats packets to its address."""
    if (service.get("spec") or {}).get("type") != "LoadBalancer":
        return
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    for entry in balancer.get("ingress") or ():
        if entry.get("ip") and entry.get("ipMode") is None:
            entry["ipMode"] = "VIP"
            if "ports" in entry:
                entry["ports"] = entry.pop("ports")


SERVICES: Rules = (
    Call(default_ip_mode),
    within(
        "spec",
        Default("sessionAffinity", "None"),
        Default("type", "ClusterIP"),
        Call(default_affinity),
        Call(default_traffic),
        each("ports", Default("protocol", "TCP"), Call(default_target)),
    ),
)
