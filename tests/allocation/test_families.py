"""Address families of services, as docs "IPv4/IPv6 dual-stack" and kube-apiserver have them."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.allocation.families import complete_families, stays_preferred

Spec = dict[str, Any]
DUAL = ("IPv6", "IPv4")
BOTH = {
    "type": "ClusterIP",
    "clusterIP": "fd00::1",
    "clusterIPs": ["fd00::1", "10.0.0.1"],
    "ipFamilies": ["IPv6", "IPv4"],
    "ipFamilyPolicy": "RequireDualStack",
}


def complete(spec: Spec, cluster: tuple[str, ...], was: Spec | None = None) -> Spec:
    new = {"type": "ClusterIP", **spec}
    if new.get("clusterIP") and "clusterIPs" not in new:
        new["clusterIPs"] = [new["clusterIP"]]
    assert complete_families(new, was, cluster) == []
    return new


def refusals(spec: Spec, cluster: tuple[str, ...], was: Spec | None = None) -> list[str]:
    causes = complete_families({"type": "ClusterIP", **spec}, was, cluster)
    return [f"{cause.field}: {cause.message}" for cause in causes]


@pytest.mark.parametrize(
    ("spec", "cluster", "expected"),
    [
        ({}, ("IPv4",), ("SingleStack", ["IPv4"])),
        ({}, DUAL, ("SingleStack", ["IPv6"])),
        ({"ipFamilyPolicy": "PreferDualStack"}, ("IPv4",), ("PreferDualStack", ["IPv4"])),
        ({"ipFamilyPolicy": "PreferDualStack"}, DUAL, ("PreferDualStack", ["IPv6", "IPv4"])),
        ({"clusterIP": "fd00::1"}, ("IPv6",), ("SingleStack", ["IPv6"])),
        ({"clusterIP": "None"}, ("IPv4",), ("RequireDualStack", ["IPv4", "IPv6"])),
        ({"clusterIP": "None", "selector": {"a": "b"}}, DUAL, ("SingleStack", ["IPv6"])),
        (
            {"clusterIP": "None", "ipFamilies": ["IPv4"]},
            ("IPv4",),
            ("RequireDualStack", ["IPv4", "IPv6"]),
        ),
        (
            {"clusterIP": "None", "ipFamilyPolicy": "SingleStack"},
            DUAL,
            ("SingleStack", ["IPv6"]),
        ),
    ],
)
def test_address_families(spec: Spec, cluster: tuple[str, ...], expected: Any) -> None:
    """Families follow from the object first and from the cluster then."""
    result = complete(spec, cluster)
    assert (result["ipFamilyPolicy"], result["ipFamilies"]) == expected


def test_two_families_have_to_be_asked_for() -> None:
    """Naming them is not enough; without a policy a service has one."""
    assert refusals({"ipFamilies": ["IPv4", "IPv6"]}, DUAL) == [
        (
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
            "'PreferDualStack' when multiple IP families are specified"
        )
    ]


def test_an_address_of_a_family_that_the_cluster_lacks_is_what_is_wrong() -> None:
    """The cause names the address that was sent, not the family that follows from it."""
    found = refusals({"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]}, ("IPv4",))
    assert found == [
        'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster'
    ]


def test_what_the_cluster_lacks_is_refused() -> None:
    """The policy first, then each family."""
    spec = {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]}
    assert refusals(spec, ("IPv4",)) == [
        (
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "this cluster is not configured for dual-stack services"
        ),
        'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
    ]


def test_an_update_without_policy_keeps_the_stored_one() -> None:
    """So a manifest without it never changes the number of families."""
    addresses = {key: BOTH[key] for key in ("clusterIP", "clusterIPs")}
    result = complete(addresses, DUAL, BOTH)
    assert result["ipFamilyPolicy"] == "RequireDualStack"
    assert result["ipFamilies"] == ["IPv6", "IPv4"]


def test_a_single_stack_policy_drops_the_second_family() -> None:
    """Nothing else has to be changed with it."""
    result = complete({**BOTH, "ipFamilyPolicy": "SingleStack"}, DUAL, BOTH)
    assert result["clusterIPs"] == ["fd00::1"]
    assert result["ipFamilies"] == ["IPv6"]


def test_a_second_family_is_released_on_purpose() -> None:
    """Leaving out the address or the family without the policy is refused."""
    spec = {**BOTH, "clusterIPs": ["fd00::1"], "ipFamilies": ["IPv6"]}
    assert refusals(spec, DUAL, BOTH) == [
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
        f"must be 'SingleStack' to release the secondary {what}"
        for what in ("cluster IP", "IP family")
    ]


def test_a_service_that_prefers_two_families_is_left_alone() -> None:
    """A cluster that got another family changes nothing for those that exist."""
    was = {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "PreferDualStack",
    }
    assert stays_preferred(dict(was), was)
    assert complete(was, DUAL, was) == was
    assert not stays_preferred({**was, "type": "NodePort"}, was)
