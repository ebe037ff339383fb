"""Containers that are ended from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Simulation
from kubetrio.simulation.ending import Endings, ended
from kubetrio.testing.server import in_memory, open_api

Object = dict[str, Any]
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def test_a_container_that_runs_has_ended() -> None:
    """The others are as they were, and so is a pod in which it does not run."""
    rows = [{"name": "a", "state": RUNNING}, {"name": "b", "state": RUNNING}]
    pod: Object = {"status": {"phase": "Running", "containerStatuses": rows}}
    new = ended(pod, "b", 3, 1_800_000_000.0)
    first, second = new["status"]["containerStatuses"]
    assert first == rows[0]
    assert (second["state"]["terminated"]["exitCode"], second["ready"]) == (3, False)
    assert ended(new, "b", 4, 1_800_000_000.0) is new
    assert ended({}, "b", 4, 1_800_000_000.0) == {}


@pytest.mark.parametrize(("policy", "phase"), [("Never", "Failed"), ("Always", "Running")])
async def test_its_pod_follows(
    tmp_path: Path, autojump_clock: MockClock, policy: str, phase: str
) -> None:
    """It has ended too, or its container runs again, and is not ended for the one before."""
    config = replace(in_memory(tmp_path), simulation=Simulation(nodes=1))
    async with open_api(config=config, kept=True) as server:
        client = server.client()
        await trio.sleep(1)
        kind = client.kind("v1", "Pod")
        spec = {"restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]}
        meta = {"name": "p", "namespace": "default"}
        await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        await trio.sleep(1)
        pod = await client.get(kind, "p", "default")
        end = Endings(server.api.writes.operations, kind, server.env)
        for _ in range(2):
            await end(pod, "c", 3)
            await trio.sleep(1)
        found = await client.get(kind, "p", "default")
        (status,) = found["status"]["containerStatuses"]
        assert found["status"]["phase"] == phase
        assert status["restartCount"] == (policy == "Always")
        await client.delete(kind, "p", "default", grace_period_s=0)
        await end(found, "c", 0)
