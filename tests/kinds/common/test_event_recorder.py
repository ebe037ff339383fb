"""Events of controllers: joined as client-go joins them, bounded, and never waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.kinds.common.recorder import MOST_WAITING, Correlator, EventRecorder, Happening
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
ABOUT: Object = {
    "kind": "ConfigMap", "apiVersion": "v1", "namespace": "default", "name": "c", "uid": "u",
}  # fmt: skip
ACCOUNT = "generic-garbage-collector"


@asynccontextmanager
async def recording(server: InProcess) -> AsyncIterator[EventRecorder]:
    """A recorder that writes."""
    api = server.api
    recorder = EventRecorder(api.registry, api.operations, api.env, "tester", ACCOUNT)
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
        recorder.event(ABOUT, "Warning", "Because", "of this")
    [event] = await events(server)
    meta = event.pop("metadata")
    assert meta["namespace"] == "default"
    name, _, when = meta["name"].partition(".")
    assert name == "c"
    assert int(when, 16) > 0
    assert event.pop("firstTimestamp") == event.pop("lastTimestamp")
    assert event == {
        "kind": "Event", "apiVersion": "v1", "involvedObject": ABOUT, "reason": "Because",
        "message": "of this", "source": {"component": "tester"}, "count": 1, "type": "Warning",
        "reportingComponent": "tester", "reportingInstance": "",
    }  # fmt: skip


async def test_what_happens_again_is_counted(server: InProcess) -> None:
    """In the event that there is; in a new one when somebody deleted it."""
    async with recording(server) as recorder:
        for _ in range(3):
            recorder.event(ABOUT, "Normal", "Because", "of this")
        await wait_all_tasks_blocked()
        [event] = await events(server)
        assert event["count"] == 3
        client = server.client()
        await client.delete(client.kind("v1", "Event"), event["metadata"]["name"], "default")
        recorder.event(ABOUT, "Normal", "Because", "of this")
    [event] = await events(server)
    assert event["count"] == 1


async def test_about_what_is_in_no_namespace(server: InProcess) -> None:
    """It is in the default one; and a name that is none for an event gets a random one."""
    about = {"kind": "ClusterRole", "name": "system:x", "uid": "u"}
    async with recording(server) as recorder:
        recorder.event(about, "Normal", "Because", "of this")
    [event] = await events(server)
    assert len(event["metadata"]["name"]) == 36


async def test_what_cannot_be_written_is_dropped(server: InProcess) -> None:
    """And the next one is written."""
    async with recording(server) as recorder:
        recorder.event({**ABOUT, "namespace": "nowhere"}, "Normal", "Because", "of this")
        recorder.event(ABOUT, "Normal", "Because", "of this")
    assert len(await events(server)) == 1


async def test_what_comes_too_fast_is_dropped(server: InProcess) -> None:
    """Nobody waits for a recorder that does not write."""
    api = server.api
    recorder = EventRecorder(api.registry, api.operations, api.env, "tester", ACCOUNT)
    for number in range(2 * MOST_WAITING):
        recorder.event({**ABOUT, "name": f"c{number}"}, "Normal", "Because", "of this")


def test_similar_events_are_joined() -> None:
    """The tenth message of a reason begins an event for all of them, for ten minutes."""
    correlator = Correlator()
    found = [correlator.joined("about", "Because", f"of {n}", float(n)) for n in range(12)]
    assert found[8] == Happening(("about", "Because", "of 8"), "of 8")
    joined = ("about", "Because")
    assert found[9] == Happening(joined, "(combined from similar events): of 9")
    assert found[11] == Happening(joined, "(combined from similar events): of 11")
    later = correlator.joined("about", "Because", "of 12", 700.0)
    assert later == Happening(("about", "Because", "of 12"), "of 12")


def test_many_events_about_an_object_are_dropped() -> None:
    """After 25 there is one every five minutes; others are not concerned."""
    correlator = Correlator()
    found = [correlator.joined("about", "Because", "of this", 0.0) for _ in range(30)]
    assert [one is not None for one in found] == [True] * 25 + [False] * 5
    assert correlator.joined("other", "Because", "of this", 0.0) is not None
    assert correlator.joined("about", "Because", "of this", 299.0) is None
    assert correlator.joined("about", "Because", "of this", 301.0) is not None


def test_it_remembers_a_bounded_number() -> None:
    """Of objects, reasons and events."""
    correlator = Correlator()
    for number in range(5000):
        correlator.joined(number, "Because", "of this", 0.0)
    assert len(correlator._buckets._items) == len(correlator._similar._items) == 1024
