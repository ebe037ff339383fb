"""What webhooks did, in the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hook_objects import MUTATING, configured, created, webhook

from kubetrio.config import Config, Serving, Storage
from kubetrio.config.audit import Audit
from kubetrio.env import Env
from kubetrio.testing.hooks import Called, HookServer
from kubetrio.testing.server import open_api

PATCH = "patch.webhook.admission.k8s.io/round_0_index_0"
MUTATION = "mutation.webhook.admission.k8s.io/round_0_index_0"


async def change(called: Called) -> None:
    """Sets a secret of its own."""
    await called.patch({"op": "add", "path": "/data", "value": {"secret": "of the hook"}})


@pytest.mark.parametrize(("level", "shown"), [("Metadata", False), ("Request", True)])
async def test_patches_are_logged_where_bodies_are(
    tmp_path: Path, hook: HookServer, level: str, shown: bool
) -> None:
    """At level Metadata the log says that something was changed, and not what."""
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{{level: {level}}}]\n")
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        serving=Serving(secure_port=6443),
        audit=Audit(policy_file=policy, log_path=str(log)),
    )
    async with open_api(env=Env(), config=config) as server, server.connect() as client:
        hook.hooks["/x"] = change
        await configured(client, MUTATING, webhook(hook, "/x"))
        answer = await created(client)
        assert answer.status == 201
    lines: list[dict[str, Any]] = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    notes = lines[-1]["annotations"]
    assert orjson.loads(notes[MUTATION])["mutated"] is True
    assert (PATCH in notes) is shown
    assert shown or "of the hook" not in log.read_text()
