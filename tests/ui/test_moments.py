"""Revisions by the clock."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError
from kubetrio.resources.timeline import time_text
from kubetrio.store.memory import InMemoryStore
from kubetrio.store.model import Event, EventType, KeyValue
from kubetrio.testing.client import Client
from kubetrio.ui.moments import LOOK, Moments

START_MS = 1_700_000_000_000


class Asked:
    """A request, as far as it is looked at."""

    def __init__(self, **query: str) -> None:
        self.query = query


async def ask(store: InMemoryStore, **query: str) -> dict[str, Any]:
    """What is answered about a store."""
    return await Moments(store, store).answer(Asked(**query), store.revision)  # type: ignore[arg-type]


def written(count: int, gap: int = 1) -> InMemoryStore:
    """A store with a write a second, at each so manieth revision."""
    store = InMemoryStore(wall=lambda: 0.0)
    events = [
        (Event(n * gap, f"/k{n}", EventType.CREATED, b"x", None), START_MS + n * 1000 + 500)
        for n in range(1, count + 1)
    ]
    store.repeat([KeyValue("/old", b"x", 0, 0)], 0, events)
    return store


@pytest.mark.parametrize("gap", [1, 7, LOOK + 3])
async def test_the_newest_revision_by_a_time(gap: int) -> None:
    """A time in whole seconds has all of that second; before the first write is the oldest."""
    store = written(40, gap)
    for second in (1, 2, 17, 39, 40):
        told = await ask(store, time=time_text(START_MS + second * 1000))
        assert second * gap <= told["revision"] < (second + 1) * gap
        assert told["time"] == time_text(START_MS + second * 1000)
    assert (await ask(store, time=time_text(START_MS - 1000)))["revision"] < gap
    last = await ask(store, time="2100-01-01T00:00:00+01:00")
    assert last["revision"] == store.revision


async def test_the_time_of_a_revision() -> None:
    """And those of the oldest and the newest that are kept."""
    store = written(40)
    told = await ask(store, revision="7")
    assert told == {
        "revision": 7, "time": time_text(START_MS + 7000),
        "oldest": 0, "oldestTime": time_text(START_MS + 1000),
        "newest": 40, "newestTime": time_text(START_MS + 40_000),
    }  # fmt: skip
    assert (await ask(store))["revision"] == 40
    await store.compact(20)
    assert (await ask(store, time=time_text(START_MS)))["revision"] == 20


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"revision": "x"}, 400),
        ({"revision": "41"}, 400),
        ({"revision": "-1"}, 400),
        ({"revision": "3"}, 410),
        ({"time": "yesterday"}, 400),
        ({"time": ""}, 400),
        ({"time": "2026-02-30T00:00:00Z"}, 400),
    ],
)
async def test_what_cannot_be_asked(query: dict[str, str], code: int) -> None:
    """Is a message, and no 500."""
    store = written(40)
    await store.compact(5)
    with pytest.raises(ApiError) as error:
        await ask(store, **query)
    assert error.value.code == code


async def test_over_http(client: Client, autojump_clock: MockClock) -> None:
    """The page asks for it; a write of later is not in the cluster of before."""
    path = "/api/v1/namespaces/default/configmaps"
    revisions, times = [], []
    for name in ("a", "b"):
        sent = orjson.dumps({"metadata": {"name": name}})
        made = await client.request("POST", path, {"Content-Type": "application/json"}, sent)
        revisions.append(int(made.json()["metadata"]["resourceVersion"]))
        times.append(made.json()["metadata"]["creationTimestamp"])
        await trio.sleep(60)
    told = (await client.request("GET", f"/ui/moment?time={times[0]}")).json()
    assert revisions[0] <= told["revision"] < revisions[1]
    assert (await client.request("GET", "/ui/moment?revision=x")).status == 400
