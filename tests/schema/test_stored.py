"""What storing does to built-in objects."""

from __future__ import annotations

from kubetrio.schema.stored import as_stored


def test_required_lists_that_are_empty_become_null():
    """Protobuf does not tell an empty list from none; ``rules`` is printed all the same."""
    role = {"kind": "Role", "metadata": {}, "rules": []}
    as_stored("io.k8s.api.rbac.v1.Role")(role)
    assert role["rules"] is None


def test_lists_below_lists_are_looked_into():
    """Items of lists are objects of their own."""
    role = {"rules": [{"verbs": []}, {"verbs": ["get"]}]}
    as_stored("io.k8s.api.rbac.v1.Role")(role)
    assert role == {"rules": [{"verbs": None}, {"verbs": ["get"]}]}


def test_types_without_such_lists_stay_as_they_are():
    """A ConfigMap has nothing to change."""
    obj = {"data": {"a": ""}, "metadata": {"name": "x"}}
    as_stored("io.k8s.api.core.v1.ConfigMap")(obj)
    assert obj == {"data": {"a": ""}, "metadata": {"name": "x"}}


def test_no_bytes_become_none_at_all():
    """A map tells them from a key that is not there."""
    secret = {"data": {"a": None, "b": "eA=="}}
    as_stored("io.k8s.api.core.v1.Secret")(secret)
    assert secret == {"data": {"a": "", "b": "eA=="}}
