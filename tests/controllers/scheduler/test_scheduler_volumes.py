"""What is kept of claims, volumes and classes."""

from __future__ import annotations

import orjson

from kubetrio.controllers.scheduler.volumes import (
    ClassFacts,
    claim_facts,
    class_facts,
    volume_facts,
)


def test_a_claim_is_bound_when_its_binding_is_complete() -> None:
    """A name alone is not enough."""
    named = {"metadata": {"name": "c"}, "spec": {"volumeName": "v", "storageClassName": "s"}}
    found = claim_facts(orjson.dumps(named))
    assert (found.volume, found.bound, found.class_name) == ("v", False, "s")
    complete = {"name": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    assert claim_facts(orjson.dumps({**named, "metadata": complete})).bound
    assert claim_facts(orjson.dumps({**named, "status": {"phase": "Bound"}})).bound


def test_a_volume_allows_nodes() -> None:
    """By its terms; all of them without any."""
    row = {"key": "disk", "operator": "In", "values": ["x"]}
    required = {"required": {"nodeSelectorTerms": [{"matchExpressions": [row]}]}}
    labels = {"topology.kubernetes.io/zone": "a__b"}
    stored = {"metadata": {"labels": labels}, "spec": {"nodeAffinity": required}}
    found = volume_facts(orjson.dumps(stored))
    assert found.zones == {"topology.kubernetes.io/zone": {"a", "b"}}
    assert found.allows("n", {"disk": "x"})
    assert not found.allows("n", {})
    assert volume_facts(orjson.dumps({"metadata": {}, "spec": {}})).allows("n", {})


def test_a_class_says_when_claims_are_bound() -> None:
    """And whether volumes are made for them."""
    late = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "x"}
    assert class_facts(orjson.dumps(late)) == ClassFacts(waits=True, provisions=True)
    static = {"provisioner": "kubernetes.io/no-provisioner"}
    assert class_facts(orjson.dumps(static)) == ClassFacts(waits=False, provisions=False)
