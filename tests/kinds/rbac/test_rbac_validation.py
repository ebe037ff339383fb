"""Checks of roles and bindings."""

from __future__ import annotations

import pytest
from checks.helpers import Json, made, refused_change, resource
from checks.recorded import Case, assert_as_recorded, recorded

GROUP = "rbac.authorization.k8s.io"
ROLES = resource("roles", GROUP)
BINDINGS = resource("rolebindings", GROUP)
ROLE: Json = {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}
BINDING: Json = {"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}}


def test_a_changed_role_is_checked_once() -> None:
    """By the check of a change, which checks the object."""
    old = made(ROLES, ROLE)
    new = {**old, "rules": [{"verbs": [], "apiGroups": [""], "resources": ["pods"]}]}
    message = "rules[0].verbs: Required value: verbs must contain at least one value"
    assert refused_change(ROLES, old, new) == [message]


def test_a_binding_keeps_its_role() -> None:
    """Another reference is refused, and subjects are checked again."""
    old = made(BINDINGS, BINDING)
    new = {
        **old,
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "other"},
        "subjects": [{"kind": "ServiceAccount"}],
    }
    assert refused_change(BINDINGS, old, new) == [
        (
            'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
            '"Name":"other"}: cannot change roleRef'
        ),
        "subjects[0].name: Required value",
    ]


@pytest.mark.parametrize("case", recorded("rbac.authorization.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
