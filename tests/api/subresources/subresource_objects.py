"""Objects whose subresources are tested."""

from __future__ import annotations

from typing import Any


def pod(name: str, **more: Any) -> dict[str, Any]:
    """A pod that nothing runs."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    meta = {"name": name, "labels": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **more}


def deployment(name: str) -> dict[str, Any]:
    """A Deployment of such pods."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
