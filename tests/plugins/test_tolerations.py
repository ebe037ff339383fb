"""How long pods stay on failing nodes, by flags."""

from __future__ import annotations

from pathlib import Path

from chosen_plugins import chosen

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_how_long_pods_stay_on_failing_nodes(tmp_path: Path) -> None:
    """Both times are flags."""
    times = {"not_ready_toleration_s": 30, "unreachable_toleration_s": -1}
    async with chosen(tmp_path, **times) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        seconds = {each["key"]: each["tolerationSeconds"] for each in spec["tolerations"]}
        assert seconds == {
            "node.kubernetes.io/not-ready": 30,
            "node.kubernetes.io/unreachable": -1,
        }
