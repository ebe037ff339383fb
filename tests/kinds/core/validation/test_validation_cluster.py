"""Checks of namespaces, accounts and replication controllers."""

from __future__ import annotations

import pytest
from checks.helpers import (
    Json,
    made,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.resources.validation import warnings


@pytest.mark.parametrize(
    ("status", "deleted", "expected"),
    [
        ({"phase": "Active"}, None, []),
        (
            {"phase": "Terminating"},
            None,
            [
                (
                    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
                    "`deletionTimestamp` is empty"
                )
            ],
        ),
        ({"phase": "Terminating"}, "2024-01-01T00:00:00Z", []),
    ],
)
def test_namespace_phase(status: Json, deleted: str | None, expected: list[str]) -> None:
    """The phase follows the deletion."""
    kind = resource("namespaces")
    obj = {"metadata": {"name": "x", "deletionTimestamp": deleted}, "status": status}
    assert refused_change(kind, obj, obj, "status") == expected


def test_namespace_finalizers() -> None:
    """Finalizers of namespaces have a domain or are standard ones."""
    kind = resource("namespaces")
    obj = {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes", "a.io/b", "odd"]}}
    assert refused_change(kind, obj, obj, "finalize") == [
        (
            'spec.finalizers[2]: Invalid value: "odd": name is neither a standard finalizer name '
            "nor "
            "is it fully qualified"
        )
    ]


def test_accounts_that_begin_to_enforce_are_warned_about() -> None:
    """Not those that did before, nor those that stop."""
    kind, note = resource("serviceaccounts"), "kubernetes.io/enforce-mountable-secrets"
    enforcing = made(kind, {"metadata": {"annotations": {note: "true"}}})
    plain = made(kind, {})
    told = [
        (
            f"metadata.annotations[{note}]: deprecated in v1.32+; prefer separate namespaces to "
            "isolate access to mounted secrets"
        )
    ]
    assert warnings(kind, enforcing, None) == told
    assert warnings(kind, enforcing, plain) == told
    assert warnings(kind, enforcing, enforcing) == []
    assert warnings(kind, plain, enforcing) == []


@pytest.mark.parametrize("case", recorded("", "replicationcontrollers"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
