"""Checks of network policies, ingress classes, addresses and ranges of services."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from checks.helpers import Json, made, refused, refused_change, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

GROUP = "networking.k8s.io"
POLICIES = resource("networkpolicies", GROUP)
CLASSES = resource("ingressclasses", GROUP)
ADDRESSES = resource("ipaddresses", GROUP)
RANGES = resource("servicecidrs", GROUP)


def rule(**parts: Any) -> Json:
    return {"spec": {"podSelector": {}, "ingress": [parts]}}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"ports": [{"endPort": 5}]},
            (
                "spec.ingress[0].ports[0].endPort: Invalid value: 5: may not be specified when "
                "`port` is not specified"
            ),
        ),
        (
            {"ports": [{"port": 9, "endPort": 5}]},
            (
                "spec.ingress[0].ports[0].endPort: Invalid value: 9: must be greater than or "
                "equal to `port`"
            ),
        ),
        (
            {"ports": [{"port": 0}]},
            (
                "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, "
                "inclusive"
            ),
        ),
        (
            {"ports": [{"port": 1, "protocol": "ICMP"}]},
            (
                'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: '
                '"TCP", "UDP", "SCTP"'
            ),
        ),
        ({"from": [{}]}, "spec.ingress[0].from[0]: Required value: must specify a peer"),
        (
            {"from": [{"ipBlock": {"cidr": ""}}]},
            "spec.ingress[0].from[0].ipBlock.cidr: Required value",
        ),
        (
            {"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]},
            (
                'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have '
                "bits set beyond the prefix length"
            ),
        ),
    ],
)
def test_rules_of_policies(parts: Json, expected: str) -> None:
    """Ports, their ranges and peers of a policy are checked."""
    assert refused(POLICIES, rule(**parts)) == [expected]


def test_a_loose_range_may_stay_where_it_is() -> None:
    """A range that was stored before ranges were strict is not refused on update."""
    old = made(POLICIES, rule(**{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}))
    new = deepcopy(old)
    new["spec"]["ingress"].append({"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]})
    assert refused_change(POLICIES, old, new) == []


def test_ambiguous_ranges_are_warned_about() -> None:
    """A range with bits beyond its prefix gets a warning."""
    body = rule(**{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]})
    assert warned(POLICIES, body) == [
        (
            'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this '
            'context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
        )
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ["spec.controller: Required value"]),
        (
            {"controller": f"a.b/{'c' * 250}"},
            ["spec.controller: Too long: may not be more than 250 bytes"],
        ),
        (
            {"controller": "a.b/c", "parameters": {"scope": "Namespace"}},
            [
                "spec.parameters.kind: Required value",
                "spec.parameters.name: Required value",
                (
                    "spec.parameters.namespace: Required value: `parameters.scope` is set to "
                    "'Namespace'"
                ),
            ],
        ),
        (
            {"controller": "a.b/c", "parameters": {"kind": "K", "name": "n", "scope": "Here"}},
            [
                (
                    'spec.parameters.scope: Unsupported value: "Here": supported values: '
                    '"Cluster", "Namespace"'
                )
            ],
        ),
    ],
)
def test_ingress_classes(spec: Json, expected: list[str]) -> None:
    """The controller and the parameters of a class are checked."""
    assert refused(CLASSES, {"spec": spec}) == expected


def test_addresses_name_their_parent() -> None:
    """The parent of an address needs a resource and a name, and never changes."""
    body = {"metadata": {"name": "192.0.2.1"}, "spec": {"parentRef": {"group": "A"}}}
    found = refused(ADDRESSES, body)
    assert [line.partition(":")[0] for line in found] == [
        "spec.parentRef.group",
        "spec.parentRef.name",
        "spec.parentRef.resource",
    ]


def test_an_address_keeps_its_parent() -> None:
    """The parent is shown as the server has it; what replaces it is checked too."""
    parent = {"resource": "services", "name": "s", "namespace": "ns"}
    old = made(ADDRESSES, {"metadata": {"name": "192.0.2.1"}, "spec": {"parentRef": parent}})
    new = {**old, "spec": {"parentRef": {**parent, "name": "t"}}}
    assert refused_change(ADDRESSES, old, new) == [
        (
            'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"ns",'
            '"Name":"t"}: field is immutable'
        )
    ]
    assert refused_change(ADDRESSES, old, {**old, "spec": {}}) == [
        "spec.parentRef: Invalid value: null: field is immutable",
        "spec.parentRef: Required value",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["10.0.0.0/8"], ["10.0.0.0/8", "fd00::/64"], []),
        (
            ["10.0.0.0/8"],
            ["11.0.0.0/8"],
            ['spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'],
        ),
        (
            ["10.0.0.0/8", "fd00::/64"],
            ["10.0.0.0/8"],
            ['spec.cidrs: Invalid value: ["10.0.0.0/8"]: field is immutable'],
        ),
    ],
)
def test_ranges_only_grow(old: list[str], new: list[str], expected: list[str]) -> None:
    """A second family may be added, nothing else may change."""
    before, after = ({"metadata": {}, "spec": {"cidrs": cidrs}} for cidrs in (old, new))
    assert refused_change(RANGES, before, after) == expected


@pytest.mark.parametrize(
    "case", recorded("networking.k8s.io", "networkpolicies", "ipaddresses", "servicecidrs")
)
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
