"""Counters of the audit log."""

from __future__ import annotations

from kubetrio.audit.counting import Counting


def test_counters_have_the_names_of_kube_apiserver() -> None:
    """Four families."""
    assert [family.name for family in Counting().families()] == [
        "apiserver_audit_event", "apiserver_audit_requests_rejected", "apiserver_audit_level",
        "apiserver_audit_error",
    ]  # fmt: skip
