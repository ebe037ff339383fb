"""Events of controllers: joined as client-go joins them, bounded, and never waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.controllers.recorder import MOST_WAITING, EventRecorder, Reference
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
ABOUT = Reference("v1", "ConfigMap", "default", "c", "u")
ACCOUNT = "generic-garbage-collector"


@asynccontextmanager
async def recording(server: InProcess) -> AsyncIterator[EventRecorder]:
    """A recorder that writes."""
    api = server.api
    recorder = EventRecorder(
        "tester", ACCOUNT, api.storage.registry, api.writes.operations, api.edge.env
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def events(server: InProcess, namespace: str = "default") -> list[Object]:
    """The events there are."""
    client = server.client()
    return (await client.list(client.kind("v1", "Event"), namespace)).items


async def test_an_event_is_as_client_go_writes_it(server: InProcess) -> None:
    """All members of it."""
    async with recording(server) as recorder:
        recorder.record(ABOUT, "Warning", "Because", "of this")
    [event] = await events(server)
    meta = event.pop("metadata")
    assert meta["namespace"] == "default"
    name, _, when = meta["name"].partition(".")
    assert name == "c"
    assert int(when, 16) > 0
    assert event.pop("firstTimestamp") == event.pop("lastTimestamp")
    assert event == {
        "kind": "Event", "apiVersion": "v1", "involvedObject": ABOUT.shown(), "reason": "Because",
        "message": "of this", "source": {"component": "tester"}, "count": 1, "type": "Warning",
        "eventTime": None, "reportingComponent": "tester", "reportingInstance": "",
    }  # fmt: skip


async def test_what_happens_again_is_counted(server: InProcess) -> None:
    """In the event that there is; in a new one when somebody deleted it."""
    async with recording(server) as recorder:
        for _ in range(3):
            recorder.record(ABOUT, "Normal", "Because", "of this")
        await wait_all_tasks_blocked()
        [event] = await events(server)
        assert event["count"] == 3
        client = server.client()
        await client.delete(client.kind("v1", "Event"), event["metadata"]["name"], "default")
        recorder.record(ABOUT, "Normal", "Because", "of this")
    [event] = await events(server)
    assert event["count"] == 4


async def test_about_what_is_in_no_namespace(server: InProcess) -> None:
    """It is in the default one; and a name that is none for an event gets a random one."""
    about = Reference("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:x", "u")
    async with recording(server) as recorder:
        recorder.record(about, "Normal", "Because", "of this")
    [event] = await events(server)
    assert event["metadata"]["namespace"] == "default"
    assert "system:x" not in event["metadata"]["name"]


async def test_what_cannot_be_written_is_dropped(server: InProcess) -> None:
    """And the next one is written."""
    async with recording(server) as recorder:
        recorder.record(ABOUT._replace(namespace="nowhere"), "Normal", "Because", "of this")
        recorder.record(ABOUT, "Normal", "Because", "of this")
    assert len(await events(server)) == 1


async def test_what_comes_too_fast_is_dropped(server: InProcess) -> None:
    """Nobody waits for a recorder that does not write."""
    api = server.api
    recorder = EventRecorder(
        "tester", ACCOUNT, api.storage.registry, api.writes.operations, api.edge.env
    )
    for number in range(2 * MOST_WAITING):
        recorder.record(ABOUT._replace(name=f"c{number}"), "Normal", "Because", "of this")


async def test_similar_events_are_joined(autojump_clock: MockClock, server: InProcess) -> None:
    """The tenth message of a reason begins an event for all of them."""
    async with recording(server) as recorder:
        for number in range(12):
            recorder.record(ABOUT, "Normal", "Because", f"of {number}")
            await trio.sleep(0.001)  # names are made of the time
    found = {event["message"]: event["count"] for event in await events(server)}
    joined = "(combined from similar events): of 11"
    assert found == {**{f"of {n}": 1 for n in range(9)}, joined: 3}


async def test_many_events_about_an_object_are_dropped(
    autojump_clock: MockClock, server: InProcess
) -> None:
    """After 25 there is one every five minutes; others are not concerned."""
    async with recording(server) as recorder:
        for number in range(30):
            recorder.record(ABOUT, "Normal", f"Because{number}", "of this")
            await trio.sleep(0.001)  # names are made of the time
        recorder.record(ABOUT._replace(name="other"), "Normal", "Because", "of this")
        await trio.sleep(299)
        recorder.record(ABOUT, "Normal", "TooEarly", "of this")
        await trio.sleep(2)
        recorder.record(ABOUT, "Normal", "InTime", "of this")
    reasons = {event["reason"] for event in await events(server)}
    assert len(reasons) == 27
    assert {"Because", "InTime"} < reasons
