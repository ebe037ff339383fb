"""Watches that go wrong on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.faults import Rule
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

WATCHED = CONFIGMAPS + "?watch=1&resourceVersion="


def named(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
async def events(server: InProcess, client: Client) -> AsyncIterator[Any]:
    """Opens a watch under a rule, and writes objects that it sees."""
    async with server.connect() as watcher, trio.open_nursery() as nursery:

        async def watched(rule: Rule, *names: str, query: str = "") -> Client:
            server.api.faults.add(rule)
            target = f"{WATCHED}{server.api.storage.hub.revision}{query}"
            await watcher.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert (await watcher.head()).get(b"x-kubetrio-fault") == b"watch"
            for name in names:
                await client.request("POST", CONFIGMAPS, json=named(name))
            return watcher

        yield watched
        nursery.cancel_scope.cancel()


def name_of(chunk: bytes) -> str:
    name: str = orjson.loads(chunk)["object"]["metadata"]["name"]
    return name


async def test_a_watch_breaks_off(events: Any) -> None:
    """After so many events, in the middle of the answer: the last chunk is missing."""
    watcher = await events(Rule(fault="watch-drop", id="watch", after_events=2), "a", "b", "c")
    assert [name_of(await watcher.chunk()) for _ in range(2)] == ["a", "b"]
    assert await watcher.rest() == b""


async def test_a_watch_ends(events: Any) -> None:
    """After so many events, as if its time were up."""
    watcher = await events(Rule(fault="watch-close", id="watch", after_events=1), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert await watcher.chunk() == b""


async def test_a_watch_expires(events: Any) -> None:
    """After so many events: it must be listed again."""
    watcher = await events(Rule(fault="410", id="watch", after_events=1), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert orjson.loads(await watcher.chunk())["object"]["reason"] == "Expired"
    assert await watcher.chunk() == b""


async def test_a_watch_stalls(
    events: Any, server: InProcess, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing comes any more, until its time is up; or until the rule ends, and then all of it."""
    watcher = await events(Rule(fault="watch-stall", id="watch", after_events=1), "a", "b", "c")
    assert name_of(await watcher.chunk()) == "a"
    with trio.move_on_after(100) as waited:
        await watcher.chunk()
    assert waited.cancelled_caught
    server.api.faults.clear()
    left = (await watcher.chunk()) + (await watcher.chunk())
    assert [name_of(line) for line in left.splitlines()] == ["b", "c"]


async def test_a_stalled_watch_ends_in_time(
    events: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Its own time limit holds."""
    before = trio.current_time()
    rule = Rule(fault="watch-stall", id="watch")
    watcher = await events(rule, "a", query="&timeoutSeconds=30")
    assert await watcher.chunk() == b""
    assert trio.current_time() - before == pytest.approx(30)


async def test_events_come_late(events: Any, autojump_clock: trio.testing.MockClock) -> None:
    """In order, each at least so long after the write."""
    before = trio.current_time()
    watcher = await events(Rule(fault="watch-delay", id="watch", delay_s=10), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert trio.current_time() - before == pytest.approx(10)
    assert name_of(await watcher.chunk()) == "b"
    assert trio.current_time() - before <= 20.001


async def test_a_watch_breaks_after_a_time(
    events: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """However quiet it is."""
    before = trio.current_time()
    watcher = await events(Rule(fault="watch-drop", id="watch", after_s=40))
    assert await watcher.rest() == b""
    assert trio.current_time() - before == pytest.approx(40)
