"""What writes of signing requests do beside what their clients say."""

from __future__ import annotations

import pytest
from checks.prepared import LATER, create, update
from defaults.creations import assert_created, assert_stable, labels


def test_a_signing_request_is_of_who_sends_it() -> None:
    """User, groups and extra come from the request; the spec never changes again."""
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"], "username": "root"}
    old = create("certificates.k8s.io", "certificatesigningrequests", spec=spec)
    assert old["spec"]["username"] == "alice"
    assert old["spec"]["groups"] == ["devs"]
    assert old["spec"]["extra"] == {"k": ["v"]}
    new = update(
        "certificates.k8s.io",
        "certificatesigningrequests",
        old,
        "approval",
        spec=spec,
        status={"certificate": "QQ==", "conditions": [{"type": "Approved", "status": "True"}]},
    )
    assert new["spec"] == old["spec"]
    assert new["status"] == {
        "conditions": [
            {
                "type": "Approved",
                "status": "True",
                "lastUpdateTime": LATER.now,
                "lastTransitionTime": LATER.now,
            }
        ]
    }


@pytest.mark.parametrize("subresource", ["approval", "status"])
def test_decisions_on_a_signing_request_may_come_with_labels(subresource: str) -> None:
    """Both paths write metadata, as the object itself does."""
    kind = "certificates.k8s.io", "certificatesigningrequests"
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"]}
    meta = {"name": "x", "labels": {"a": "b"}, "finalizers": ["c/d"]}
    new = update(*kind, create(*kind, spec=spec), subresource, metadata=meta)
    assert new["metadata"] == meta


@pytest.mark.parametrize(("status", "kept"), [("False", "True"), (None, None)])
def test_a_decision_stays_as_it_was(status: str | None, kept: str | None) -> None:
    """Whoever writes the status cannot change it; leaving it out is left to validation."""
    kind = "certificates.k8s.io", "certificatesigningrequests"
    spec = {"request": "QQ==", "signerName": "a.b/c", "usages": ["any"]}
    approved = {"type": "Approved", "status": "True", "lastUpdateTime": LATER.now}
    approved["lastTransitionTime"] = LATER.now
    old = {**create(*kind, spec=spec), "status": {"conditions": [approved]}}
    failed = {"type": "Failed", "status": "True"}
    sent = [failed] if status is None else [failed, {**approved, "status": status}]
    new = update(*kind, old, "status", spec=spec, status={"conditions": sent})
    found = {item["type"]: item["status"] for item in new["status"]["conditions"]}
    assert found.get("Approved") == kept


@pytest.mark.parametrize("label", labels("certificates.k8s.io"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("certificates.k8s.io"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)
