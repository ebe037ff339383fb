"""What a list shows is one moment: in pages, at old revisions, as a stream, while others write.

Source: docs "API concepts" (chunks, resource versions, streaming lists); KEP-365, KEP-3157.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random  # noqa: TID251  (a type; the generators are seeded)

import orjson
import pytest
import trio
import trio.testing
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from reflector import Chosen, History, Key, Object, Pipeline, Wire, bare, key_of, tiny_window

from kubetrio.api.response import StreamResponse
from kubetrio.env import seeded
from kubetrio.testing.server import InProcess, open_api

NAMES = tuple(f"x{number}" for number in range(12))
FOLDER = "/api/v1/namespaces/default/configmaps"
EVERYWHERE = "/api/v1/configmaps"
EXPIRED_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


def tier(obj: Object) -> str | None:
    value: str | None = (obj["metadata"].get("labels") or {}).get("tier")
    return value


ALL = Chosen(FOLDER, namespace="default")
CHOSEN = (
    ALL,
    Chosen(EVERYWHERE),
    Chosen(FOLDER, {"labelSelector": "tier=a"}, lambda o: tier(o) == "a", "default"),
    Chosen(FOLDER, {"labelSelector": "tier notin (a)"}, lambda o: tier(o) != "a", "default"),
    Chosen(
        EVERYWHERE,
        {"fieldSelector": "metadata.name!=x3"},
        lambda o: o["metadata"]["name"] != "x3",
    ),
)


class World:
    """A server with a model beside it, and somebody who writes."""

    def __init__(self, server: InProcess, rng: Random) -> None:
        self.server = server
        self.rng = rng
        self.pipeline = Pipeline(server)
        self.history = History(server)
        self.resource = server.api.storage.registry.resources["", "v1", "configmaps"]

    @property
    def revision(self) -> int:
        return self.server.api.storage.store.revision

    def state(self, chosen: Chosen, at: int) -> dict[Key, Object]:
        return self.history.state(self.resource.storage_prefix, at, chosen)

    async def change(self, size: int = 10) -> None:
        """One write that changes something."""
        before = self.revision
        while self.revision == before:
            name = self.rng.choice(NAMES)
            labels = {"tier": self.rng.choice("abc")}
            body = {"metadata": {"name": name, "labels": labels}, "data": {"x": "y" * size}}
            if self.rng.random() < 0.3:
                await self.pipeline.call("DELETE", f"{FOLDER}/{name}")
            elif (await self.pipeline.call("PUT", f"{FOLDER}/{name}", None, body))[0] == 404:
                await self.pipeline.call("POST", FOLDER, None, body)

    async def write(self, pause_s: float) -> None:
        """Changes until cancelled."""
        while True:
            await self.change()
            await trio.sleep(self.rng.uniform(0, pause_s))

    async def pages(self, chosen: Chosen, query: dict[str, str], pause_s: float) -> list[Object]:
        """A list page by page."""
        found: list[Object] = []
        token, limit = "", query.pop("limit")
        while True:
            rest = {"continue": token} if token else query
            code, page = await self.pipeline.call(
                "GET", chosen.path, {**chosen.query, **rest, "limit": limit}
            )
            assert code == 200, page
            assert len(page["items"]) <= int(limit)
            found.append(page)
            token = page["metadata"].get("continue", "")
            if not token:
                return found
            await trio.sleep(self.rng.uniform(0, pause_s))


@asynccontextmanager
async def world(seed: int, changes: int = 30) -> AsyncIterator[World]:
    async with open_api(seed=seed) as server:
        made = World(server, seeded(seed + 1).rng)
        await made.history.begin()
        tiny_window(server, 3000)
        for _ in range(changes):
            await made.change()
        yield made


def run(main: Callable[[World], Awaitable[None]], seed: int, changes: int = 30) -> None:
    async def whole() -> None:
        async with world(seed, changes) as made:
            await main(made)

    trio.run(whole, clock=trio.testing.MockClock(autojump_threshold=0))


def as_state(items: list[Object]) -> dict[Key, Object]:
    found = {key_of(item): bare(item) for item in items}
    assert len(found) == len(items)
    assert list(found) == sorted(found), "in key order"
    return found


@shortened(60)
@given(seed=st.integers(0, 10_000), chosen=st.sampled_from(CHOSEN), limit=st.integers(1, 7))
def test_pages_are_one_snapshot(seed: int, chosen: Chosen, limit: int) -> None:
    """All pages of a list show the revision of the first, whatever is written between them."""

    async def main(made: World) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.write, 1.0)
            for _ in range(3):
                pages = await made.pages(chosen, {"limit": str(limit)}, 3.0)
                (revision,) = {int(page["metadata"]["resourceVersion"]) for page in pages}
                items = [item for page in pages for item in page["items"]]
                assert as_state(items) == made.state(chosen, revision)
                for page in pages[:-1]:
                    assert len(page["items"]) == limit
                if chosen.query:
                    continue  # with selectors nobody counts
                left = len(items)
                for page in pages:
                    left -= len(page["items"])
                    assert page["metadata"].get("remainingItemCount", 0) == left
            nursery.cancel_scope.cancel()

    run(main, seed)


@shortened(30)
@given(seed=st.integers(0, 10_000), chosen=st.sampled_from(CHOSEN), limit=st.integers(0, 4))
def test_every_retained_revision_can_be_read(seed: int, chosen: Chosen, limit: int) -> None:
    """Exact reads show what the model says; older ones are gone, with kube-apiserver's words."""

    async def main(made: World) -> None:
        floor = made.rng.randrange(made.history.base + 1, made.revision + 1)
        await made.server.api.storage.store.compact(floor)
        for revision in range(floor, made.revision + 1):
            query = {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
            if limit:
                pages = await made.pages(chosen, {**query, "limit": str(limit)}, 0)
            else:
                pages = [
                    (await made.pipeline.call("GET", chosen.path, {**chosen.query, **query}))[1]
                ]
            assert {page["metadata"]["resourceVersion"] for page in pages} == {str(revision)}
            items = [item for page in pages for item in page["items"]]
            assert as_state(items) == made.state(chosen, revision)
        query = {"resourceVersion": str(floor - 1), "resourceVersionMatch": "Exact"}
        code, status = await made.pipeline.call("GET", chosen.path, {**chosen.query, **query})
        assert (code, status["reason"]) == (410, "Expired")

    run(main, seed)


@shortened(40)
@given(
    seed=st.integers(0, 10_000),
    chosen=st.sampled_from(CHOSEN),
    capacity=st.sampled_from((1, 900, 1 << 20)),
)
def test_a_streaming_list_is_a_list_and_a_watch(seed: int, chosen: Chosen, capacity: int) -> None:
    """Its initial events are the state at its bookmark; what follows is what a watch shows."""

    async def main(made: World) -> None:
        start = made.revision
        query = {
            **chosen.query,
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "resourceVersion": str(made.rng.choice((0, start))),
            "timeoutSeconds": "20",
        }
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.write, 1.0)
            async with made.pipeline.watch(chosen.path, query, Wire(capacity)) as (code, events):
                assert code == 200
                initial, bookmark = [], None
                async for event in events:
                    if event["type"] == "BOOKMARK":
                        bookmark = event["object"]
                        break
                    assert event["type"] == "ADDED"
                    initial.append(event["object"])
                assert bookmark is not None
                meta = bookmark["metadata"]
                assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
                revision = int(meta["resourceVersion"])
                assert revision >= start
                assert as_state(initial) == made.state(chosen, revision)
                exact = {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
                _, listed = await made.pipeline.call("GET", chosen.path, {**chosen.query, **exact})
                assert as_state(listed["items"]) == as_state(initial)
                streamed = [event async for event in events]
            nursery.cancel_scope.cancel()
        again = {**chosen.query, "resourceVersion": str(revision), "timeoutSeconds": "20"}
        async with made.pipeline.watch(chosen.path, again, Wire()) as (_, events):
            watched = [event async for event in events]
        streamed = [event for event in streamed if event["type"] != "BOOKMARK"]
        assert streamed
        assert watched[: len(streamed)] == streamed

    run(main, seed)


def test_a_large_list_is_one_snapshot_too() -> None:
    """A list that leaves in several parts, slowly, while others write."""

    async def main(made: World) -> None:
        made.rng.seed(1)
        for _ in range(40):
            await made.change(300_000)
        for chosen in (ALL, Chosen(EVERYWHERE)):
            response = await made.pipeline.handle("GET", chosen.path, chosen.query)
            assert isinstance(response, StreamResponse)
            revision = made.revision
            wire = Wire(capacity=1)
            async with trio.open_nursery() as nursery:

                async def stream(response: StreamResponse = response, wire: Wire = wire) -> None:
                    await response.run(wire)
                    wire.end()

                nursery.start_soon(stream)
                body = b""
                while data := await wire.read(200_000):
                    body += data
                    await made.change(300_000)
            listed = orjson.loads(body)
            assert listed["metadata"]["resourceVersion"] == str(revision)
            assert as_state(listed["items"]) == made.state(chosen, revision)

    run(main, 5)


@shortened(30)
@given(seed=st.integers(0, 10_000), chosen=st.sampled_from(CHOSEN), limit=st.integers(1, 3))
def test_an_expired_page_offers_the_rest(seed: int, chosen: Chosen, limit: int) -> None:
    """410 brings a token that goes on behind the same key, at the newest revision."""

    async def main(made: World) -> None:
        query = {**chosen.query, "limit": str(limit)}
        _, first = await made.pipeline.call("GET", chosen.path, query)
        if "continue" not in first["metadata"]:
            return
        for _ in range(5):
            await made.change()
        await made.server.api.storage.store.compact(made.revision)
        token = {"continue": first["metadata"]["continue"]}
        code, status = await made.pipeline.call("GET", chosen.path, {**query, **token})
        assert (code, status["reason"], status["message"]) == (410, "Expired", EXPIRED_PAGE)
        token = {"continue": status["metadata"]["continue"]}
        code, rest = await made.pipeline.call(
            "GET", chosen.path, {**query, **token, "limit": "500"}
        )
        assert code == 200
        last = key_of(first["items"][-1])
        now = made.state(chosen, made.revision)
        assert as_state(rest["items"]) == {key: obj for key, obj in now.items() if key > last}
        assert rest["metadata"]["resourceVersion"] == str(made.revision)

    run(main, seed)


@pytest.mark.parametrize("limit", [{}, {"limit": "3"}])
@pytest.mark.parametrize("match", [{}, {"resourceVersionMatch": "NotOlderThan"}])
def test_a_list_is_not_older_than_asked(match: dict[str, str], limit: dict[str, str]) -> None:
    """It waits for a revision that comes soon, and 504 tells of one that does not."""

    async def main(made: World) -> None:
        wanted = made.revision + 1
        query = {**match, **limit, "resourceVersion": str(wanted)}

        async def late() -> None:
            await trio.sleep(1)
            await made.change()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(late)
            code, listed = await made.pipeline.call("GET", ALL.path, query)
        assert code == 200
        assert int(listed["metadata"]["resourceVersion"]) == wanted
        shown = list(made.state(ALL, wanted).items())[: int(limit.get("limit", "100"))]
        assert len(listed["items"]) == len(shown)
        query["resourceVersion"] = str(made.revision + 100)
        code, status = await made.pipeline.call("GET", ALL.path, query)
        assert (code, status["reason"]) == (504, "Timeout")
        assert status["message"] == (
            f"Timeout: Too large resource version: {made.revision + 100}, current: {made.revision}"
        )

    run(main, 3)


@shortened(10)
@given(seed=st.integers(0, 10_000))
def test_a_watch_from_any_retained_revision_replays_history(seed: int) -> None:
    """From each revision on: the same events, each once; from older ones: 410 in the stream."""

    async def main(made: World) -> None:
        floor = made.rng.randrange(made.history.base + 1, made.revision + 1)
        await made.server.api.storage.store.compact(floor)
        # What is forgotten on disk may still be in memory, and is served from there.
        tiny_window(made.server, 0)
        kinds = ("ADDED", "MODIFIED", "DELETED")
        for start in range(floor, made.revision + 1):
            query = {"resourceVersion": str(start), "timeoutSeconds": "1"}
            async with made.pipeline.watch(EVERYWHERE, query, Wire()) as (_, events):
                seen = [(event["type"], event["object"]) async for event in events]
            assert seen == [
                (kinds[made.history.log[at].type], made.history.object(at))
                for at in range(start + 1, made.revision + 1)
            ]
        query = {"resourceVersion": str(floor - 1), "timeoutSeconds": "1"}
        async with made.pipeline.watch(EVERYWHERE, query, Wire()) as (_, events):
            (gone,) = [event async for event in events]
        assert gone["type"] == "ERROR"
        assert gone["object"]["code"] == 410
        assert gone["object"]["message"] == f"too old resource version: {floor - 1} ({floor})"

    run(main, seed)
