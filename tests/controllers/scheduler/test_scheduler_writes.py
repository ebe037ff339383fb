"""What a scheduler writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.controllers.scheduler.preemption import Candidate
from kubetrio.controllers.scheduler.shapes import PodView, pod_view
from kubetrio.controllers.scheduler.writes import SchedulerWriter
from kubetrio.machinery.status import ApiError
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, context_of, refused
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, template

Object = dict[str, Any]


@asynccontextmanager
async def writing(clock: MockClock) -> AsyncIterator[tuple[InProcess, SchedulerWriter]]:
    """A writer on a server; in the end no role was overstepped."""
    writes = Writes()
    async with open_api(seed=0, parts=Parts(admission=[writes])) as server:
        writer = SchedulerWriter(context_of(server))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.events["default-scheduler"].run)
            yield server, writer
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
        assert refused(server, writes.by("system:kube-scheduler")) == []


async def make(server: InProcess, name: str = "p", **spec: Any) -> PodView:
    """Make a pod."""
    made = {"apiVersion": "v1", "kind": "Pod", **template(**spec)}
    made["metadata"] = {"name": name, "namespace": NAMESPACE}
    return pod_view(orjson.dumps(await server.client().create(made)))


async def status_of(server: InProcess) -> Object:
    """The status of the only pod."""
    (found,) = await pods_of(server.client())
    status: Object = found["status"]
    return status


async def test_a_pod_gets_its_node_and_zone(autojump_clock: MockClock) -> None:
    """Another pod of that name does not."""
    async with writing(autojump_clock) as (server, writer):
        pod = await make(server)
        with pytest.raises(ApiError):
            await writer.bind(pod._replace(uid="other"), "n", {})
        await writer.bind(pod, "n", {"topology.kubernetes.io/zone": "a", "x": "y"})
        (found,) = await pods_of(server.client())
        assert found["spec"]["nodeName"] == "n"
        assert found["metadata"]["labels"] == {"topology.kubernetes.io/zone": "a"}
        await trio.sleep(1)
        text = "Successfully assigned default/p to n"
        assert await events_of(server.client(), "Pod") == [("Normal", "Scheduled", text)]


async def test_a_pod_hears_why_it_has_no_node(autojump_clock: MockClock) -> None:
    """With the node that is being cleared for it; a long text is cut in the event alone."""
    async with writing(autojump_clock) as (server, writer):
        pod, text = await make(server), "x" * 2000
        await writer.fail(pod, text, "n")
        status = await status_of(server)
        assert status["nominatedNodeName"] == "n"
        (condition,) = status["conditions"]
        assert condition["message"] == text
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert condition["observedGeneration"] == 1
        await writer.fail(pod, text, None)
        assert await status_of(server) == status
        await writer.fail(pod, text, "")
        assert "nominatedNodeName" not in await status_of(server)
        await trio.sleep(1)
        ((_, reason, note),) = await events_of(server.client(), "Pod")
        assert (reason, len(note), note[-5:]) == ("FailedScheduling", 1024, "x ...")


async def test_victims_are_told_and_deleted(autojump_clock: MockClock) -> None:
    """Those that are gone, or on their way, are left alone."""
    async with writing(autojump_clock) as (server, writer):
        victim = await make(server, "victim", nodeName="n", terminationGracePeriodSeconds=9)
        leaving = victim._replace(terminating=True, name="leaving")
        gone = victim._replace(name="gone")
        pod = await make(server)
        await writer.preempt(pod, Candidate("n", (victim, leaving, gone), 0))
        found = next(one for one in await pods_of(server.client()) if one["spec"].get("nodeName"))
        assert found["metadata"]["deletionGracePeriodSeconds"] == 9
        told = {one["type"]: one.get("message") for one in found["status"]["conditions"]}
        text = "default-scheduler: preempting to accommodate a higher priority pod"
        assert told["DisruptionTarget"] == text
        await trio.sleep(1)
        text = f"Preempted by pod {pod.uid} on node n"
        assert await events_of(server.client(), "Pod") == [("Normal", "Preempted", text)]


async def test_claims_hear_of_the_node(autojump_clock: MockClock) -> None:
    """For which their volumes are to be made."""
    async with writing(autojump_clock) as (server, writer):
        client = server.client()
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        meta = {"name": "data", "namespace": NAMESPACE}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        await client.create({**claim, "metadata": meta, "spec": spec})
        await writer.choose_for_claims(await make(server), "n", ["data"])
        found = await client.get(client.kind("v1", "PersistentVolumeClaim"), "data", NAMESPACE)
        chosen = found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
        assert chosen == "n"
