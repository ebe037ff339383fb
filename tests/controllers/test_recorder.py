"""Events of controllers: few of them, whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.controllers.recorder import (
    BURST,
    MOST_KNOWN,
    MOST_WAITING,
    WARNING,
    EventRecorder,
    Reference,
)
from kubetrio.server.parts import Parts
from kubetrio.simulation.nodeobjects import kubelet_of
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
POD = Reference("v1", "Pod", "default", "p", "u")
Recorded = Callable[[], Any]


def recorder_of(server: InProcess) -> EventRecorder:
    """A recorder of one controller."""
    api = server.api
    return EventRecorder(
        "tester", "pod-garbage-collector", api.storage.registry, api.writes.operations, api.edge.env
    )


@asynccontextmanager
async def recording(parts: Parts | None = None) -> AsyncIterator[tuple[InProcess, EventRecorder]]:
    """A server and a recorder that writes."""
    async with open_api(parts=parts) as server:
        recorder = recorder_of(server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(recorder.run)
            yield server, recorder
            nursery.cancel_scope.cancel()


class Together(Base):
    """A plugin that counts events that are written at a time."""

    name = "Together"
    operations = frozenset({Operation.CREATE})

    def __init__(self) -> None:
        self.now = self.most = 0

    async def validate(self, attributes: Attributes) -> None:
        """Count one while others come."""
        del attributes
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        self.now -= 1


async def events_of(server: InProcess) -> list[Object]:
    """What was written when all is quiet."""
    await wait_all_tasks_blocked(0.002)
    client = server.client()
    return (await client.list(client.kind("v1", "Event"), "default")).items


async def test_an_event_is_one_of_its_object() -> None:
    """With the members that client-go sends."""
    async with recording() as (server, recorder):
        recorder.record(POD._replace(resource_version="7"), WARNING, "Why", "so")
        (event,) = await events_of(server)
        assert event["metadata"]["name"].startswith("p.")
        assert event["involvedObject"] == {
            "kind": "Pod", "namespace": "default", "name": "p", "uid": "u", "apiVersion": "v1",
            "resourceVersion": "7",
        }  # fmt: skip
        shown = ("type", "reason", "message", "count", "source", "reportingComponent")
        assert [event[name] for name in shown] == [
            "Warning", "Why", "so", 1, {"component": "tester"}, "tester",
        ]  # fmt: skip


async def test_the_same_event_is_counted() -> None:
    """Also when somebody deleted it meanwhile, and whatever the object's revision."""
    async with recording() as (server, recorder):
        for number in range(3):
            about = POD._replace(resource_version=str(number))
            recorder.record(about, WARNING, "Why", "so")
        (event,) = await events_of(server)
        assert event["count"] == 3
        client = server.client()
        await client.delete(client.kind("v1", "Event"), event["metadata"]["name"], "default")
        recorder.record(POD, WARNING, "Why", "so")
        (event,) = await events_of(server)
        assert event["count"] == 4


async def test_many_that_differ_in_words_become_one() -> None:
    """From the tenth on."""
    async with recording() as (server, recorder):
        for number in range(15):
            recorder.record(POD, WARNING, "Why", f"number {number}")
        events = await events_of(server)
        assert len(events) == 10
        (combined,) = [one for one in events if one["message"].startswith("(combined")]
        assert combined["message"] == "(combined from similar events): number 14"
        assert combined["count"] == 6


async def test_an_object_gets_a_burst_and_then_little(autojump_clock: object) -> None:
    """One more in five minutes."""
    del autojump_clock
    async with recording() as (server, recorder):
        for number in range(BURST + 20):
            recorder.record(POD, WARNING, f"Why{number}", "so")
        assert len(await events_of(server)) == BURST
        await trio.sleep(301)
        for number in range(100, 103):
            recorder.record(POD, WARNING, f"Why{number}", "so")
        assert len(await events_of(server)) == BURST + 1


async def test_what_waits_is_bounded() -> None:
    """Recording never waits; what is too much is lost."""
    async with open_api() as server:
        recorder = recorder_of(server)
        for number in range(MOST_WAITING + 5):
            recorder.record(POD, WARNING, "Why", str(number))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(recorder.run)
            events = await events_of(server)
            nursery.cancel_scope.cancel()
        assert sum(one["count"] for one in events) <= MOST_WAITING
        assert MOST_KNOWN <= 4096


async def test_a_refused_event_does_not_end_the_recorder() -> None:
    """Nor one about an object whose name cannot begin that of an event."""
    async with recording() as (server, recorder):
        recorder.record(POD._replace(namespace="nowhere"), WARNING, "Why", "so")
        recorder.record(POD._replace(name="system:x"), WARNING, "Why", "so")
        (event,) = await events_of(server)
        assert event["metadata"]["name"].startswith("event-")


async def test_an_event_may_come_from_a_node() -> None:
    """It names the node and the part of the object, and is written as that node's kubelet."""
    async with open_api() as server:
        api = server.api
        recorder = EventRecorder(
            "kubelet", kubelet_of, api.storage.registry, api.writes.operations, api.edge.env,
        )  # fmt: skip
        async with trio.open_nursery() as nursery:
            nursery.start_soon(recorder.run)
            about = POD._replace(field_path="spec.containers{c}")
            recorder.record(about, WARNING, "Why", "so", "node-0")
            (event,) = await events_of(server)
            nursery.cancel_scope.cancel()
        assert event["source"] == {"component": "kubelet", "host": "node-0"}
        assert event["reportingInstance"] == "node-0"
        assert event["involvedObject"]["fieldPath"] == "spec.containers{c}"
        assert event["metadata"]["managedFields"][0]["manager"] == "kubelet"


async def test_recorders_do_not_take_each_others_names() -> None:
    """Two that tell of an object in the same moment."""
    async with recording() as (server, recorder):
        other = recorder_of(server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other.run)
            recorder.record(POD, WARNING, "One", "so")
            other.record(POD, WARNING, "Two", "so")
            events = await events_of(server)
            nursery.cancel_scope.cancel()
        assert {event["reason"] for event in events} == {"One", "Two"}


async def test_events_of_several_objects_are_written_together() -> None:
    """They share transactions then; those of one object come one after the other."""
    plugin = Together()
    async with recording(Parts(admission=[plugin])) as (server, recorder):
        plugin.most = 0
        for number in range(12):
            about = POD._replace(name=f"p{number % 4}", field_path=f"f{number}")
            recorder.record(about, WARNING, "Why", f"{number:02}")
        events = await events_of(server)
        assert plugin.most == 4
        ordered = sorted(events, key=lambda one: int(one["metadata"]["resourceVersion"]))
        for name in ("p0", "p1", "p2", "p3"):
            told = [one["message"] for one in ordered if one["involvedObject"]["name"] == name]
            assert told == sorted(told)
            assert len(told) == 3
