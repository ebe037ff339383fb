"""Defaults of networking.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    Call,
    Default,
    Json,
    Rules,
    each,
    within,
)

_PORTS = each("ports", Default("protocol", "TCP"))


def default_policy_types(spec: Json) -> None:
    """A policy is about what comes in, and about what goes out when it says so."""
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


NETWORKPOLICIES: Rules = (
    within("spec", Call(default_policy_types), each("ingress", _PORTS), each("egress", _PORTS)),
)
INGRESSCLASSES: Rules = (within("spec.parameters", Default("scope", "Cluster")),)
