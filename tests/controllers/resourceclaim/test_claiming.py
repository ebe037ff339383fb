"""Claims that are made for pods, and what becomes of claims that fewer use."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.resourceclaim.claiming import (
    base_of,
    claim_from,
    claim_name,
    claiming_view,
    without_consumers,
    without_finalizer,
)

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("pod", "name", "base"),
    [
        ("web", "gpu", "web-gpu-"),
        ("p" * 60, "gpu", "p" * 52 + "-gp"),
        ("p" * 100, "c" * 60, "p" * 35 + "-" + "c" * 21),
    ],
)
def test_the_beginning_of_a_name(pod: str, name: str, base: str) -> None:
    """Both parts are cut where they are long together."""
    assert base_of(pod, name) == base


def test_a_claim_of_a_template() -> None:
    """It is the pod's, and has the metadata of the template."""
    spec: Object = {"devices": {"requests": []}}
    meta = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    template = {"spec": {"metadata": meta, "spec": spec}}
    pod = {"metadata": {"name": "p", "uid": "u"}}
    found = claim_from(template, pod, "gpu")
    assert found["metadata"] == {
        "generateName": "p-gpu-",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
        ],
        "annotations": {"c": "d", "resource.kubernetes.io/pod-claim-name": "gpu"},
        "labels": {"a": "b"},
    }
    assert found["spec"] == spec


def test_the_name_of_a_claim() -> None:
    """It is named, or made, or not made yet, or not needed."""
    pod: Object = {"status": {"resourceClaimStatuses": [
        {"name": "a", "resourceClaimName": "p-a-x"}, {"name": "b"},
    ]}}  # fmt: skip
    assert claim_name(pod, {"name": "n", "resourceClaimName": "own"}) == "own"
    found = [claim_name(pod, {"name": one}) for one in ("a", "b", "c")]
    assert found == ["p-a-x", "", None]


def test_a_pod_without_claims_is_not_kept() -> None:
    """Most have none."""
    pod: Object = {"metadata": {"uid": "u"}, "spec": {}}
    assert claiming_view(orjson.dumps(pod)) is None
    pod["spec"] = {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]}
    pod["metadata"]["deletionTimestamp"] = "x"
    found = claiming_view(orjson.dumps(pod))
    assert found is not None
    assert (found.done, found.claims, found.templates) == (True, (), ("t",))


def test_the_last_consumer_leaves_a_claim_without_devices() -> None:
    """If a scheduler gave them."""
    claim: Object = {
        "metadata": {"finalizers": ["f"]},
        "status": {"allocation": {}, "reservedFor": [{"uid": "1"}]},
    }
    assert without_consumers(claim, [], "f")["status"] == {}
    assert without_consumers(claim, [{"uid": "2"}], "f")["status"] == {
        "allocation": {},
        "reservedFor": [{"uid": "2"}],
    }
    assert without_consumers(claim, [], "other")["status"] == {"allocation": {}}
    assert without_finalizer(claim, "f")["metadata"] == {}
