"""How objects of networking.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    age,
    field,
    items,
    load_balancer,
    name,
    optional,
    selector_cell,
    text,
)
from kubetrio.schema.printing import Json

SHOWN_HOSTS = 3


def _ingress_hosts(rules: Any) -> str:
    """Hosts of the rules; what is left out counts the rules, also those without a host."""
    shown: list[str] = []
    for rule in rules:
        if len(shown) == SHOWN_HOSTS:
            return f"{','.join(shown)} + {len(rules) - SHOWN_HOSTS} more..."
        if text(rule, "host"):
            shown.append(text(rule, "host"))
    return ",".join(shown) or "*"


def ingress(obj: Json, now: float) -> list[Any]:
    """Name, Class, Hosts, Address, Ports, Age."""
    return [
        name(obj),
        optional(field(obj, "spec", "ingressClassName"), NONE),
        _ingress_hosts(items(obj, "spec", "rules")),
        load_balancer(obj),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def ingress_class(obj: Json, now: float) -> list[Any]:
    """Name, Controller, Parameters, Age."""
    reference = field(obj, "spec", "parameters")
    parameters = NONE
    if reference is not None:
        group = field(reference, "apiGroup")
        suffix = "" if group is None else f".{group}"
        parameters = f"{text(reference, 'kind')}{suffix}/{text(reference, 'name')}"
    return [name(obj), text(obj, "spec", "controller"), parameters, age(obj, now)]


def network_policy(obj: Json, now: float) -> list[Any]:
    """Name, Pod-Selector, Age."""
    return [name(obj), selector_cell(field(obj, "spec", "podSelector")), age(obj, now)]


def service_cidr(obj: Json, now: float) -> list[Any]:
    """Name, CIDRs, Age."""
    return [name(obj), ",".join(items(obj, "spec", "cidrs")), age(obj, now)]


def ip_address(obj: Json, now: float) -> list[Any]:
    """Name, ParentRef, and an age that kube-apiserver has no column for."""
    reference = field(obj, "spec", "parentRef")
    parent = NONE
    if reference is not None:
        group = text(reference, "group")
        resource = text(reference, "resource")
        words = (
            (f"{resource}.{group}" if group else resource).lower(),
            text(reference, "namespace"),
        )
        parent = "/".join([*filter(None, words), text(reference, "name")])
    return [name(obj), parent, age(obj, now)]
