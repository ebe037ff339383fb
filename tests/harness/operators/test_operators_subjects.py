"""What users do, by a CustomResourceDefinition or the name of a kind."""

from __future__ import annotations

from shelves import SHELF, books

from kubetrio.harness.operators.subjects import subject


def test_of_a_definition() -> None:
    """It is made before, and its path is known."""
    about = subject(SHELF)
    [define] = about.before
    assert define.body == SHELF
    assert about.path("a") == "/apis/example.com/v1/namespaces/default/shelves/a"
    create = about.create("a", books(2), ["x"])
    assert create.body["metadata"] == {"name": "a", "namespace": "default", "finalizers": ["x"]}
    assert about.change("a", books(1)).body == [
        {"op": "add", "path": "/spec", "value": {"books": 1}}
    ]


def test_of_a_built_in_kind() -> None:
    """Nothing is needed before."""
    about = subject("apps/v1 Deployment")
    assert about.before == ()
    assert about.delete("b").path == "/apis/apps/v1/namespaces/default/deployments/b"
