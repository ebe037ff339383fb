"""Clients that keep a cache by list and watch, the model they are held against, and chaos.

Everything goes through `Pipeline.handle` with a fake channel, so that a run is a function of its
seed: connections are cut after any number of bytes, are slow, or time out; history is compacted
under them.  The model is the log of commits; what any list or watch showed must follow from it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random  # noqa: TID251  (a type; the generators are seeded)
from typing import Any
from urllib.parse import urlencode

import orjson
import trio

from kubetrio.api.request import Request, no_body
from kubetrio.api.response import AnyResponse, ClientGone, Response, StreamResponse
from kubetrio.store.model import Event, EventType, Range
from kubetrio.testing.client import ADMIN
from kubetrio.testing.server import InProcess
from kubetrio.watch.window import Window

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name
Predicate = Callable[[Object], bool]


def key_of(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def revision_of(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def bare(obj: Object) -> Object:
    """Without type: items of lists have none."""
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which objects a client wants, said twice: to the server and to the model."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    wants: Predicate = lambda _obj: True
    namespace: str = ""

    def matches(self, obj: Object) -> bool:
        if self.namespace and obj["metadata"]["namespace"] != self.namespace:
            return False
        return self.wants(obj)


# ---------------------------------------------------------------- talking to the pipeline


class Wire:
    """The receiving end of a stream: bounded, and cut after so many bytes (None: never)."""

    framing = "raw"

    def __init__(self, capacity: int = 65536, cut_after: int | None = None) -> None:
        self.capacity = capacity
        self.left = cut_after
        self.data = bytearray()
        self.closed = trio.Event()
        self.ended = False
        self.moved = trio.Event()

    def frame(self, payload: bytes) -> bytes:
        return payload

    def offer(self, wire: bytes) -> bool:
        if self.closed.is_set():
            return False
        if self.left is not None:
            wire = wire[: self.left]
            self.left -= len(wire)
        self.data += wire
        if self.left == 0:
            self.cut()
        self._wake()
        return len(self.data) < self.capacity and not self.closed.is_set()

    async def send(self, wire: bytes) -> None:
        self.offer(wire)
        while len(self.data) >= self.capacity and not self.closed.is_set():
            await self.moved.wait()
        if self.closed.is_set():
            raise ClientGone
        await trio.lowlevel.checkpoint()

    async def wait_closed(self) -> None:
        await self.closed.wait()

    def cut(self) -> None:
        """The connection breaks: what was received stays, nothing more comes."""
        self.closed.set()
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    async def read(self, most: int = 1 << 30) -> bytes:
        """What has come, empty at the end."""
        while not self.data and not self.ended and not self.closed.is_set():
            await self.moved.wait()
        await trio.lowlevel.checkpoint()
        taken = bytes(self.data[:most])
        del self.data[:most]
        self._wake()
        return taken

    def _wake(self) -> None:
        self.moved.set()
        self.moved = trio.Event()


class Pipeline:
    """Requests to a server in this process."""

    def __init__(self, server: InProcess) -> None:
        self.server = server

    async def handle(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> AnyResponse:
        raw = b"" if body is None else orjson.dumps(body)
        headers = {b"content-type": content_type.encode()} if raw else {}

        async def read_body(limit: int) -> bytes:
            return raw

        request = Request(
            method,
            path,
            urlencode(query or {}),
            headers,
            list(headers.items()),
            read_body if raw else no_body,
            certificate=ADMIN,
            ready=True,
        )
        return await self.server.api.handle(request)

    async def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, Any]:
        """Status code and parsed body of a request that is not a watch."""
        response = await self.handle(method, path, query, body, content_type)
        if isinstance(response, Response):
            return response.status, orjson.loads(response.body)
        assert not response.long_running
        wire = Wire(capacity=1 << 30)
        await response.run(wire)
        return response.status, orjson.loads(bytes(wire.data))

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str], wire: Wire
    ) -> AsyncIterator[tuple[int, Events]]:
        """Status and events of a watch; a refusal is an ERROR event, as in the stream."""
        response = await self.handle("GET", path, {**query, "watch": "1"})
        if isinstance(response, Response):
            wire.end()
            yield response.status, Events(wire, orjson.loads(response.body))
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run, response, wire)
            try:
                yield response.status, Events(wire)
            finally:
                wire.cut()
                nursery.cancel_scope.cancel()


async def _run(response: StreamResponse, wire: Wire) -> None:
    try:
        await response.run(wire)
    except* ClientGone:
        pass  # the server learned of the cut in the middle of a write
    finally:
        wire.end()


class Events:
    """The events of a stream; half an event at a cut is dropped, as clients do."""

    def __init__(self, wire: Wire, first: Object | None = None) -> None:
        self._wire = wire
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._first = first

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Object:
        if self._first is not None:
            status, self._first = self._first, None
            return {"type": "ERROR", "object": status}
        while not self._lines:
            data = await self._wire.read()
            if not data:
                raise StopAsyncIteration
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)
        event: Object = orjson.loads(self._lines.popleft())
        return event


# ---------------------------------------------------------------- the model


class History:
    """Every commit of a store from its creation on; the state at any revision follows."""

    def __init__(self, server: InProcess) -> None:
        self._store = server.api.storage.store
        self.base = self._store.revision
        self.log: dict[int, Event] = {}
        self.found: dict[str, bytes] = {}
        self.newest = self.base
        server.api.storage.store.on_commit(self._committed)

    async def begin(self) -> None:
        """Note what is there already; nothing was written since the model was made."""
        everything = await self._store.range(Range.prefix("/registry/"))
        assert everything.revision == self.base
        self.found = {item.key: item.value for item in everything.items}

    def _committed(self, events: Any) -> None:
        for event in events:
            assert event.revision > self.newest, "revisions grow"
            self.newest = event.revision
            self.log[event.revision] = event

    def object(self, revision: int) -> Object:
        """The object that a revision wrote, or deleted."""
        value: Object = orjson.loads(self.log[revision].value)
        return value

    def before(self, revision: int) -> Object:
        """The object in front of a revision, stamped with it, as watchers see one that left."""
        previous = self.log[revision].previous
        assert previous is not None
        value: Object = orjson.loads(previous)
        value["metadata"]["resourceVersion"] = str(revision)
        return value

    def state(self, prefix: str, at: int, chosen: Chosen) -> dict[Key, Object]:
        """The objects of a prefix at a revision."""
        found = {key: value for key, value in self.found.items() if key.startswith(prefix)}
        for revision in range(self.base + 1, at + 1):
            event = self.log[revision]
            if not event.key.startswith(prefix):
                continue
            if event.type is EventType.DELETED:
                del found[event.key]
            else:
                found[event.key] = event.value
        objects = [bare(orjson.loads(value)) for value in found.values()]
        return {key_of(obj): obj for obj in objects if chosen.matches(obj)}


def tiny_window(server: InProcess, size: int) -> None:
    """Let the hub remember a few events only, so that watchers read the store."""
    hub = server.api.storage.hub
    hub._window = Window(hub.revision, size)


# ---------------------------------------------------------------- the client


class Reflector:
    """What client-go's reflector does: list, watch behind it, resume, relist when history is gone.

    Args:
        pipeline: the server.
        history: the model.
        prefix: key prefix of the kind, for the model.
        chosen: what it wants.
        rng: its randomness.
        streaming: whether it asks for streaming lists.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        history: History,
        prefix: str,
        chosen: Chosen,
        rng: Random,
        *,
        streaming: bool,
    ) -> None:
        self.pipeline = pipeline
        self.history = history
        self.prefix = prefix
        self.chosen = chosen
        self.rng = rng
        self.streaming = streaming
        self.cache: dict[Key, Object] = {}
        self.revision = 0
        self.wire: Wire | None = None
        self.calm = False
        self.seen: Counter[str] = Counter()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if not self.streaming:
                await self._list()
            stream = self.streaming
            while await self._watch(stream=stream):
                stream = False
                await trio.sleep(0 if self.calm else self.rng.uniform(0, 3))
            self.seen["begun again"] += 1

    async def _list(self) -> None:
        limit = self.rng.choice((0, 1, 1, 3))
        version = self.rng.choice(("", "0", str(self.revision)))
        query = {**self.chosen.query, "resourceVersion": version}
        if version not in ("", "0"):
            query["resourceVersionMatch"] = "NotOlderThan"
        items: list[Object] = []
        token = ""
        while True:
            paging = {"limit": str(limit)} if limit else {}
            if token:
                query = {**self.chosen.query, "continue": token}
            code, page = await self.pipeline.call("GET", self.chosen.path, {**query, **paging})
            if code == 410:  # between two pages: a full list, as client-go's pager does
                assert token, "only a page can be too old"
                assert page["reason"] == "Expired"
                self.seen["expired page"] += 1
                items, token, limit, query = [], "", 0, dict(self.chosen.query)
                continue
            assert code == 200, page
            items += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                break
            self.seen["page"] += 1
            await trio.sleep(0 if self.calm else self.rng.uniform(0, 6))
        self.cache = {key_of(item): bare(item) for item in items}
        assert len(self.cache) == len(items), "an object twice in one list"
        self.revision = int(page["metadata"]["resourceVersion"])
        self.seen["listed"] += 1
        self._check()

    async def _watch(self, *, stream: bool) -> bool:
        """One connection; whether to resume behind the last revision."""
        query = {**self.chosen.query, "allowWatchBookmarks": "true"}
        query["timeoutSeconds"] = str(self.rng.randrange(1, 100))
        if stream:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            query["resourceVersion"] = self.rng.choice(("", "0", str(self.revision)))
            fresh: dict[Key, Object] | None = {}
        else:
            query["resourceVersion"] = str(self.revision)
            fresh = None
        cut_after = None if self.calm or self.rng.random() < 0.5 else self.rng.randrange(1, 6000)
        self.wire = Wire(self.rng.choice((1, 500, 65536)), cut_after)
        async with self.pipeline.watch(self.chosen.path, query, self.wire) as (code, events):
            async for event in events:
                kind, obj = event["type"], event["object"]
                if kind == "ERROR":
                    assert obj["code"] == 410, obj
                    assert obj["reason"] == "Expired"
                    self.seen["expired watch"] += 1
                    return False
                assert code == 200
                if fresh is not None:
                    fresh = self._initial(kind, obj, fresh)
                else:
                    self._apply(kind, obj)
                if not self.calm and self.rng.random() < 0.1:
                    await trio.sleep(self.rng.uniform(0, 1))
        self.seen["disconnected"] += 1
        # A list that did not come to its end is begun again.
        return fresh is None

    def _initial(
        self, kind: str, obj: Object, fresh: dict[Key, Object]
    ) -> dict[Key, Object] | None:
        if kind == "ADDED":
            assert key_of(obj) not in fresh
            fresh[key_of(obj)] = bare(obj)
            return fresh
        assert kind == "BOOKMARK"
        assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        self.cache, self.revision = fresh, revision_of(obj)
        self.seen["streamed"] += 1
        self._check()
        return None

    def _apply(self, kind: str, obj: Object) -> None:
        revision = revision_of(obj)
        self.seen[kind] += 1
        if kind == "BOOKMARK":
            assert revision >= self.revision
            self.revision = revision
            self._check()
            return
        assert revision > self.revision, "events come in order, once"
        self.revision = revision
        key = key_of(obj)
        known = key in self.cache
        log = self.history.log[revision]
        if kind == "DELETED":
            assert known
            gone = log.type is EventType.DELETED
            assert obj == (self.history.object(revision) if gone else self.history.before(revision))
            del self.cache[key]
        else:
            assert known == (kind == "MODIFIED")
            assert obj == self.history.object(revision)
            self.cache[key] = bare(obj)
        if self.rng.random() < 0.1:
            self._check()

    def _check(self) -> None:
        """The cache is the server's state at the cache's revision, not only at the end."""
        assert self.cache == self.history.state(self.prefix, self.revision, self.chosen)
