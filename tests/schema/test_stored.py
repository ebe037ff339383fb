"""What storing does to built-in objects."""

from __future__ import annotations

from kubetrio.schema.stored import empty_lists_to_null


def test_required_lists_that_are_empty_become_null():
    """Protobuf does not tell an empty list from none; ``rules`` is printed all the same."""
    role = {"kind": "Role", "metadata": {}, "rules": []}
    empty_lists_to_null("io.k8s.api.rbac.v1.Role")(role)
    assert role["rules"] is None


def test_lists_below_lists_are_looked_into():
    """Items of lists are objects of their own."""
    role = {"rules": [{"verbs": []}, {"verbs": ["get"]}]}
    empty_lists_to_null("io.k8s.api.rbac.v1.Role")(role)
    assert role == {"rules": [{"verbs": None}, {"verbs": ["get"]}]}


def test_types_without_such_lists_stay_as_they_are():
    """A ConfigMap has nothing to change."""
    obj = {"data": {"a": ""}, "metadata": {"name": "x"}}
    empty_lists_to_null("io.k8s.api.core.v1.ConfigMap")(obj)
    assert obj == {"data": {"a": ""}, "metadata": {"name": "x"}}
