"""The pages for people are made of a server's parts when they are first asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from kubetrio.config.audit import Audit
from kubetrio.testing.server import in_memory, open_api

POLICY = '{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"RequestResponse"}]}'
MAPS = "/api/v1/namespaces/default/configmaps"


async def test_the_audit_log_names_users(tmp_path: Path) -> None:
    """Who created an object, and who deleted it."""
    policy, log = tmp_path / "policy.json", tmp_path / "audit.log"
    policy.write_text(POLICY)
    audit = Audit(policy_file=policy, log_path=str(log), log_mode="blocking-strict")
    config = replace(in_memory(tmp_path / "data"), audit=audit)
    async with open_api(config=config) as server, server.connect() as client:
        body = json.dumps({"metadata": {"name": "a"}}).encode()
        assert (await client.request("POST", MAPS, {}, body)).status == 201
        assert (await client.request("DELETE", f"{MAPS}/a")).status == 200
        told = (await client.request("GET", f"/ui/history{MAPS}/a")).json()
        about = (await client.request("GET", "/ui/about")).json()
    users = [(one["verb"], one["user"]) for one in told["items"]]
    assert users == [("delete", "kubernetes-admin"), ("create", "kubernetes-admin")]
    assert about["users"] is True


async def test_without_a_log_nobody_is_named(tmp_path: Path) -> None:
    """Nor where it goes to standard output."""
    async with open_api() as server, server.connect() as client:
        assert (await client.request("GET", "/ui/about")).json()["users"] is False
