"""AlwaysDeny on a whole server."""

from __future__ import annotations

from pathlib import Path

from chosen_plugins import chosen

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_always_deny_denies(tmp_path: Path) -> None:
    """Every write of users, none of the server's own and no read."""
    async with chosen(tmp_path, enable_plugins=("AlwaysDeny",)) as client:
        answer = await client.request("POST", PODS, json=POD)
        assert (answer.status, answer.json()["message"]) == (
            403,
            'pods "p" is forbidden: admission control is denying all modifications',
        )
        gone = await client.request("DELETE", "/api/v1/namespaces/default/services/kubernetes")
        assert gone.status == 403
        assert (await client.request("GET", PODS)).status == 200
