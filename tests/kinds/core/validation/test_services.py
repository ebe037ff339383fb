"""Checks of services."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

SERVICES = resource("services")
PORTS = [{"port": 80, "protocol": "TCP"}]
ALLOCATED = {
    "clusterIP": "10.0.0.5",
    "clusterIPs": ["10.0.0.5"],
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
}
DUAL = {
    "clusterIP": "10.0.0.5",
    "clusterIPs": ["10.0.0.5", "fd00::5"],
    "ipFamilies": ["IPv4", "IPv6"],
    "ipFamilyPolicy": "PreferDualStack",
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"clusterIP": "None", "type": "NodePort"},
            [
                (
                    "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for "
                    "NodePort "
                    "services"
                )
            ],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]},
            ['spec.ports[1].name: Duplicate value: "a"'],
        ),
        (
            {
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
            },
            [
                (
                    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
                    "must be "
                    "greater than 0 and less than 86400"
                )
            ],
        ),
        (
            {"externalTrafficPolicy": "Local"},
            [
                (
                    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for '
                    "externally-accessible services"
                )
            ],
        ),
        (
            {"type": "NodePort", "externalTrafficPolicy": "Near"},
            [
                (
                    'spec.externalTrafficPolicy: Unsupported value: "Near": supported values: '
                    '"Cluster", '
                    '"Local"'
                )
            ],
        ),
        (
            {"internalTrafficPolicy": "Near"},
            [
                (
                    'spec.internalTrafficPolicy: Unsupported value: "Near": supported values: '
                    '"Cluster", '
                    '"Local"'
                )
            ],
        ),
        (
            {"trafficDistribution": "Near"},
            [
                (
                    'spec.trafficDistribution: Unsupported value: "Near": supported values: '
                    '"PreferClose", '
                    '"PreferSameZone", "PreferSameNode"'
                )
            ],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/33"]},
            [
                (
                    'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a '
                    "valid CIDR "
                    "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
                )
            ],
        ),
        (
            {"ipFamilies": ["IPv5"]},
            ['spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"'],
        ),
        ({"type": "ExternalName", "externalName": "a_b"}, None),
        ({"ports": [], "clusterIP": "None"}, []),
    ],
)
def test_service(spec: Json, expected: list[str] | None) -> None:
    """What one member says limits the others."""
    found = refused(SERVICES, {"spec": {"ports": PORTS, **spec}})
    if expected is None:
        assert found
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("old", "change", "expected"),
    [
        (ALLOCATED, DUAL, []),
        (DUAL, ALLOCATED, []),
        (
            DUAL,
            {**ALLOCATED, "ipFamilyPolicy": "PreferDualStack"},
            [
                (
                    'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to '
                    "'SingleStack' "
                    "when releasing the secondary clusterIP"
                ),
                (
                    'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to '
                    "'SingleStack' "
                    "when releasing the secondary ipFamily"
                ),
            ],
        ),
        (
            ALLOCATED,
            {"clusterIP": "10.0.0.6", "clusterIPs": ["10.0.0.6"]},
            ['spec.clusterIPs[0]: Invalid value: ["10.0.0.6"]: may not change once set'],
        ),
        (
            ALLOCATED,
            {"clusterIPs": ["10.0.0.5", "10.0.0.6"]},
            [
                (
                    'spec.clusterIPs: Invalid value: ["10.0.0.5","10.0.0.6"]: may specify no '
                    "more than one "
                    "IP for each IP family"
                )
            ],
        ),
        (
            ALLOCATED,
            {
                "clusterIP": "fd00::5",
                "clusterIPs": ["fd00::5", "10.0.0.5"],
                "ipFamilies": ["IPv6", "IPv4"],
                "ipFamilyPolicy": "PreferDualStack",
            },
            [
                (f'spec.{name}[0]: Invalid value: ["fd00::5","10.0.0.5"]: may not change once set')
                for name in ("clusterIPs", "ipFamilies")
            ],
        ),
        (
            ALLOCATED,
            {"loadBalancerClass": "a/b"},
            [("spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'")]
            * 2,
        ),
    ],
)
def test_service_update(old: Json, change: Json, expected: list[str]) -> None:
    """Primary addresses stay; secondary ones come and go."""
    before = made(SERVICES, {"spec": {"ports": PORTS}})
    before["spec"] |= old
    after = changed(before, "spec.selector", None)
    after["spec"] |= change
    assert refused_change(SERVICES, before, after) == sorted(expected)


@pytest.mark.parametrize(
    ("kind", "ingress", "expected"),
    [
        ("LoadBalancer", {"ip": "1.1.1.1", "ipMode": "VIP"}, []),
        (
            "LoadBalancer",
            {"ip": "1.1.1.1"},
            [
                (
                    "status.loadBalancer.ingress[0].ipMode: Required value: must be specified "
                    "when `ip` is "
                    "set"
                )
            ],
        ),
        (
            "LoadBalancer",
            {"hostname": "1.1.1.1"},
            [
                (
                    'status.loadBalancer.ingress[0].hostname: Invalid value: "1.1.1.1": must be '
                    "a DNS "
                    "name, not an IP address"
                )
            ],
        ),
        (
            "ClusterIP",
            {"ip": "1.1.1.1", "ipMode": "VIP"},
            [
                (
                    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is "
                    "'LoadBalancer'"
                )
            ],
        ),
    ],
)
def test_status(kind: str, ingress: Json, expected: list[str]) -> None:
    """Only load balancers have an ingress."""
    obj: dict[str, Any] = {
        "spec": {"type": kind},
        "status": {"loadBalancer": {"ingress": [ingress]}},
    }
    assert refused_change(SERVICES, obj, obj, "status") == expected


RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def test_stored_source_ranges_may_stay_loose() -> None:
    """In the spec each by itself, in the annotation all together."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    old = made(SERVICES, {"spec": {**spec, "loadBalancerSourceRanges": ["10.0.0.1/8"]}})
    told = (
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set '
        "beyond the prefix length"
    )
    assert told in refused(SERVICES, {"spec": old["spec"]})
    assert refused_change(SERVICES, old, old) == []
    noted = made(SERVICES, {"spec": spec, "metadata": {"annotations": {RANGES: "10.0.0.1/8"}}})
    assert refused_change(SERVICES, noted, noted) == []
    new = changed(noted, "metadata.annotations", {RANGES: "10.0.0.1/8,10.0.0.0/8"})
    assert refused_change(SERVICES, noted, new) == [
        (
            f'metadata.annotations[{RANGES}]: Invalid value: "10.0.0.1/8": must not have bits set '
            "beyond the prefix length"
        )
    ]


def test_stored_addresses_of_a_load_balancer_may_stay_loose() -> None:
    """Controllers write them."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    old = made(SERVICES, {"spec": spec})
    new = changed(old, "status.loadBalancer", {"ingress": [{"ip": "010.0.0.1", "ipMode": "VIP"}]})
    assert refused_change(SERVICES, new, new, "status") == []
    assert refused_change(SERVICES, old, new, "status") == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'
    ]


@pytest.mark.parametrize("case", recorded("", "services"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
