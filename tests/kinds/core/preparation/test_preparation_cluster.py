"""What writes of volumes, claims, accounts and namespaces do beside what their clients say."""

from __future__ import annotations

import pytest
from checks.prepared import CONTEXT, LATER, create, update


def test_a_claim_names_its_source_both_ways() -> None:
    """What neither field may say is dropped; on update too, where it never had an effect."""
    spec = {"accessModes": ["ReadWriteOnce"], "dataSource": {"kind": "Other", "name": "y"}}
    assert "dataSource" not in create("", "persistentvolumeclaims", spec=spec)["spec"]
    foreign = {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "y", "namespace": "n"}}
    old = create("", "persistentvolumeclaims", spec=foreign)
    assert "dataSourceRef" not in old["spec"]
    new = update("", "persistentvolumeclaims", old, spec=spec)
    assert "dataSource" not in new["spec"]


def test_a_phase_change_of_a_volume_has_a_time() -> None:
    """The server notes when, unless its author tells."""
    old = create("", "persistentvolumes", spec={"hostPath": {"path": "/a"}})
    assert old["status"]["lastPhaseTransitionTime"] == CONTEXT.now
    new = update("", "persistentvolumes", old, "status", status={"phase": "Bound"})
    assert new["status"]["lastPhaseTransitionTime"] == LATER.now


def test_the_time_of_a_phase_is_kept_while_it_lasts() -> None:
    """A status without a time is no new phase."""
    old = create("", "persistentvolumes", spec={"hostPath": {"path": "/a"}})
    new = update("", "persistentvolumes", old, "status", status={"phase": "Pending"})
    assert new["status"]["lastPhaseTransitionTime"] == CONTEXT.now


@pytest.mark.parametrize("kept", ["dataSource", "dataSourceRef"])
def test_a_changed_claim_may_name_its_source_one_way(kept: str) -> None:
    """The other is put back, so that nothing has changed."""
    source = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "y"}
    old = create("", "persistentvolumeclaims", spec={"dataSource": source})
    new = update("", "persistentvolumeclaims", old, spec={kept: source})
    assert new["spec"] == old["spec"]
    assert new["spec"]["dataSource"] == new["spec"]["dataSourceRef"] == source


def test_references_of_service_accounts_are_names() -> None:
    """Everything else in them never had a meaning."""
    account = create("", "serviceaccounts", secrets=[{"name": "s", "namespace": "n"}])
    assert account["secrets"] == [{"name": "s"}]


def test_finalizers_of_a_namespace_are_not_for_ordinary_updates() -> None:
    """Only ``finalize`` writes them."""
    old = create("", "namespaces", spec={"finalizers": ["x/y"]})
    assert old["spec"]["finalizers"] == ["x/y", "kubernetes"]
    assert update("", "namespaces", old)["spec"] == old["spec"]
