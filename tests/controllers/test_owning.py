"""References to owners."""

from __future__ import annotations

from kubetrio.controllers.owning import controller_reference


def test_a_controller_reference() -> None:
    """With the members that kube-controller-manager sets, in its order."""
    meta = {"name": "web", "uid": "1-2", "namespace": "shop", "labels": {"a": "b"}}
    reference = controller_reference("apps/v1", "ReplicaSet", meta)
    assert list(reference.items()) == [
        ("apiVersion", "apps/v1"),
        ("kind", "ReplicaSet"),
        ("name", "web"),
        ("uid", "1-2"),
        ("controller", True),
        ("blockOwnerDeletion", True),
    ]
    del reference["blockOwnerDeletion"]
    assert controller_reference("apps/v1", "ReplicaSet", meta, blocks=False) == reference
