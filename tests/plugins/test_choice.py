"""Plugins that flags switch off, on a whole server."""

from __future__ import annotations

from pathlib import Path

from chosen_plugins import chosen

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_plugins_can_be_switched_off(tmp_path: Path) -> None:
    """What they add is not added then, what they refuse is taken."""
    off = ("DefaultTolerationSeconds,Priority", "NamespaceLifecycle")
    async with chosen(tmp_path, disable_plugins=off) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        assert "tolerations" not in spec
        assert "priority" not in spec
        gone = await client.request("DELETE", "/api/v1/namespaces/kube-public")
        assert gone.status == 200
