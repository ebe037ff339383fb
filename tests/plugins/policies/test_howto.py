"""The page on admission policies: its manifests are accepted and do what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from policy_objects import needs_engine

from kubetrio.testing.client import Client

pytestmark = needs_engine
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "admission-policies.md"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(replicas: int, image: str) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"containers": [{"name": "nginx", "image": image}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "web", "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


async def test_the_examples_work(client: Client) -> None:
    """As they are written, with the message that is shown."""
    text = PAGE.read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    objects = [obj for block in blocks for obj in yaml.safe_load_all(block)]
    assert len(objects) == 4
    for obj in objects:
        kind = obj["kind"].lower()
        plural = kind.replace("policybinding", "policybindings")
        plural = plural if plural != kind else kind.removesuffix("y") + "ies"
        path = f"/apis/{obj['apiVersion']}/{plural}"
        answer = await client.request("POST", path, json=obj)
        assert answer.status == 201, answer.json()
    answer = await client.request("POST", DEPLOYMENTS, json=deployment(10, "nginx:1.29"))
    assert answer.status == 403
    assert f"error: failed to create deployment: {answer.json()['message']}\n" in text
    answer = await client.request("POST", DEPLOYMENTS, json=deployment(1, "nginx:latest"))
    assert answer.json()["message"].endswith("images need a version")
    answer = await client.request("POST", DEPLOYMENTS, json=deployment(3, "nginx:1.29"))
    assert answer.status == 201
    assert answer.json()["metadata"]["labels"] == {"app": "web", "owner": "kubernetes-admin"}
