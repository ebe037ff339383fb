"""Watches: how they begin, what they say, how they end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from kubetrio.store.etcd.errors import (
    Compacted,
    EtcdError,
    PermissionDenied,
    Unavailable,
    WatchCancelled,
)
from kubetrio.store.etcd.messages import message_class
from kubetrio.store.etcd.requests import Event, KeyValue, decode, encode
from kubetrio.store.etcd.watching import Batch, Watch, WatchSettings, watching


class Scripted:
    """A stream that has messages for its reader, and an end."""

    def __init__(self, *messages: bytes) -> None:
        self.sent: list[bytes] = []
        self._messages = list(messages)

    def send(self, message: bytes) -> None:
        """See `Stream`."""
        self.sent.append(message)

    async def receive(self) -> bytes | None:
        """See `Stream`."""
        await trio.lowlevel.checkpoint()
        return self._messages.pop(0) if self._messages else None


def response(revision: int = 5, **members: Any) -> bytes:
    """A message of a watch."""
    header = message_class("etcdserverpb.ResponseHeader")(revision=revision)
    return encode("WatchResponse", header=header, **members)


CREATED = response(created=True)


def changed(key: bytes, revision: int, *, deleted: bool = False, before: int = 0) -> Any:
    """An event of a message."""
    made = message_class("mvccpb.Event")(type=int(deleted))
    made.kv.key, made.kv.mod_revision = key, revision
    if not deleted:
        made.kv.value, made.kv.create_revision, made.kv.version = b"new", before or revision, 1
    if before:
        made.prev_kv.key, made.prev_kv.mod_revision, made.prev_kv.value = key, before, b"old"
    return made


@asynccontextmanager
async def watch_of(*messages: bytes) -> AsyncIterator[Watch]:
    """A watch that has been told these messages."""
    async with watching(Scripted(CREATED, *messages), WatchSettings(key=b"a")) as watch:
        yield watch


async def test_what_is_asked_for() -> None:
    """All that the settings say; progress by a message of its own."""
    stream = Scripted(CREATED)
    settings = WatchSettings(key=b"a", end=b"b", start_revision=3)
    async with watching(stream, settings) as watch:
        assert watch.revision == 5
        watch.request_progress()
    create = decode("WatchRequest", stream.sent[0]).create_request
    assert (create.key, create.range_end, create.start_revision) == (b"a", b"b", 3)
    assert (create.prev_kv, create.progress_notify, create.fragment) == (True, True, True)
    asked = decode("WatchRequest", stream.sent[1])
    assert asked.HasField("progress_request")


async def test_batches() -> None:
    """Events with what was before, progress, and fragments."""
    async with watch_of(
        response(7, events=[changed(b"a", 6), changed(b"a", 7, before=6)], fragment=True),
        response(7, events=[changed(b"b", 7, deleted=True, before=6)]),
        response(9),
    ) as watch:
        first, second, third = [await watch.receive() for _ in range(3)]
    old = KeyValue(b"a", b"old", 6, 0, 0)
    assert first == Batch(
        7,
        [
            Event(KeyValue(b"a", b"new", 6, 6), deleted=False, previous=None),
            Event(KeyValue(b"a", b"new", 7, 6), deleted=False, previous=old),
        ],
        progress=False,
        more=True,
    )
    gone = Event(KeyValue(b"b", b"", 7, 0, 0), deleted=True, previous=old._replace(key=b"b"))
    assert second == Batch(7, [gone], progress=False, more=False)
    assert third == Batch(9, [], progress=True, more=False)


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        (response(compact_revision=9, canceled=True), Compacted, "compacted"),
        (
            response(canceled=True, cancel_reason="etcdserver: no leader"),
            Unavailable,
            "no leader",
        ),
        (
            response(canceled=True, cancel_reason="etcdserver: permission denied"),
            PermissionDenied,
            "permission denied",
        ),
        (response(canceled=True, cancel_reason="other"), WatchCancelled, "other"),
        (response(canceled=True), WatchCancelled, "was cancelled"),
        (None, Unavailable, "ended the stream"),
    ],
)
async def test_ends(message: bytes | None, error: type[EtcdError], text: str) -> None:
    """Each is an error, when the watch is made and later."""
    script = [message] if message else []
    async with watch_of(*script) as watch:
        with pytest.raises(error, match=text) as raised:
            await watch.receive()
    if isinstance(raised.value, Compacted):
        assert raised.value.revision == 9
    with pytest.raises(error, match=text):
        async with watching(Scripted(*script), WatchSettings(key=b"a")):
            pass


async def test_a_watch_is_iterated() -> None:
    """Batch by batch."""
    seen = []

    async def iterate() -> None:
        async with watch_of(response(6), response(7)) as watch:
            async for batch in watch:
                seen.append(batch.revision)

    with pytest.raises(Unavailable):
        await iterate()
    assert seen == [6, 7]
