"""What the plugin for devices says of nodes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.scheduler.cluster import Cluster
from kubetrio.controllers.scheduler.devices.facts import (
    DeviceId,
    device_claim_facts,
    device_class_facts,
    slice_facts,
)
from kubetrio.controllers.scheduler.framework import Rejected
from kubetrio.controllers.scheduler.nodefacts import node_facts
from kubetrio.controllers.scheduler.plugins.devices import given_on, idle_elsewhere, unavailable
from kubetrio.controllers.scheduler.shapes import PodView, pod_view
from kubetrio.testing.devices import claim, device, device_class, pod, resource_slice

Object = dict[str, Any]


def cluster_with(*claims: Object) -> Cluster:
    """Two nodes, one of which has a device, and claims."""
    found = Cluster()
    for name in ("n0", "n1"):
        found.set_node(name, node_facts(orjson.dumps({"metadata": {"name": name}})))
    stored = resource_slice("s", device("a"), node="n0")
    found.devices.slices["s"] = slice_facts(orjson.dumps(stored))
    found.devices.classes["gpu"] = device_class_facts(orjson.dumps(device_class()))
    for one in claims:
        one["metadata"].setdefault("uid", one["metadata"]["name"])
        facts = device_claim_facts(orjson.dumps(one))
        found.devices.claims[f"default/{one['metadata']['name']}"] = facts
    return found


def asking(**more: Any) -> PodView:
    """A pod that claims a device."""
    made = pod("p", **({"claim_name": "c"} | more))
    made["metadata"]["uid"] = "pod"
    return pod_view(orjson.dumps(made))


def said(asked: PodView, cluster: Cluster) -> list[str] | str:
    """Why each node is refused, empty if it is not; or why all are."""
    check = unavailable(asked, cluster)
    if isinstance(check, Rejected):
        return check.reason
    assert check is not None
    refusals = [check(node) for node in cluster.order]
    return ["" if one is None else one.reasons[0] for one in refusals]


def allocated(node: str, *consumers: str) -> Object:
    """A claim that has the device."""
    made = claim("c")
    row = {"key": "metadata.name", "operator": "In", "values": [node]}
    result = {"request": "r", "driver": "gpu.example", "pool": "n0", "device": "a"}
    made["status"] = {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [row]}]},
        },
        "reservedFor": [{"resource": "pods", "name": one, "uid": one} for one in consumers],
    }
    return made


def test_a_pod_without_claims_has_no_check() -> None:
    """Most have none."""
    made = pod("p")
    del made["spec"]["resourceClaims"]
    made["metadata"]["uid"] = "pod"
    assert unavailable(pod_view(orjson.dumps(made)), cluster_with()) is None


def test_nodes_that_have_the_devices() -> None:
    """And those that have not; what is given is of the node."""
    cluster = cluster_with(claim("c"))
    assert said(asking(), cluster) == ["", "cannot allocate all claims"]
    given = given_on(asking(), cluster, cluster.nodes["n0"].facts)
    assert given is not None
    assert given[0].allocation is not None
    assert given[0].allocation["devices"]["results"][0]["device"] == "a"
    assert given_on(asking(), cluster, cluster.nodes["n1"].facts) is None


def test_a_claim_that_has_devices() -> None:
    """It is used where they are, and taken back where that is no use."""
    cluster = cluster_with(allocated("n0"))
    assert said(asking(), cluster) == ["", "resourceclaim not available on the node"]
    assert idle_elsewhere(asking(), cluster) == "c"
    assert given_on(asking(), cluster, cluster.nodes["n0"].facts) == [("c", "c", None)]
    used = cluster_with(allocated("n0", "other"))
    assert idle_elsewhere(asking(), used) == ""


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"deletionTimestamp": "x"}, 'resourceclaim "c" is being deleted'),
        ({"name": "d"}, 'could not find ResourceClaim "default/c"'),
    ],
)
def test_a_claim_that_cannot_be_used(change: Object, text: str) -> None:
    """All nodes are refused for it."""
    made = claim("c")
    made["metadata"] |= change
    assert said(asking(), cluster_with(made)) == text


def test_a_claim_that_many_use() -> None:
    """It has room for 256."""
    cluster = cluster_with(allocated("n0", *(str(one) for one in range(256))))
    assert said(asking(), cluster) == "resourceclaim in use"


def test_a_claim_that_is_about_to_have_devices() -> None:
    """Another pod waits for that."""
    cluster = cluster_with(claim("c"))
    cluster.devices.given["default/c"] = frozenset({DeviceId("gpu.example", "n0", "a")})
    text = "resource claim default/c is in the process of being allocated"
    assert said(asking(), cluster) == text


def test_a_claim_of_a_template_that_is_of_another_pod() -> None:
    """Its name alone does not make it the pod's."""
    made = pod("p", template_name="t")
    made["metadata"]["uid"] = "pod"
    made["status"] = {"resourceClaimStatuses": [{"name": "dev", "resourceClaimName": "c"}]}
    text = "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)"
    assert said(pod_view(orjson.dumps(made)), cluster_with(claim("c"))) == text
