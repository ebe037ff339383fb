"""Watches: changes of a range, as etcd sends them.

A watch has a stream of its own and is as long as that.  It does not begin anew by itself: what
reads it knows up to which revision it has come, and whether the history after that is still there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubetrio.store.etcd.connection import Stream
from kubetrio.store.etcd.errors import (
    Code,
    Compacted,
    EtcdError,
    PermissionDenied,
    Unavailable,
    WatchCancelled,
)
from kubetrio.store.etcd.requests import Event, decode, encode, events, message


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """What is watched.

    Args:
        key: the key, or the first of a range.
        end: end of the range, exclusive; empty for one key.
        start_revision: first revision whose change is wanted; 0 for those from now on.
        previous: whether events have the state before them.
        progress: whether etcd says how far it is where nothing happens (every ten minutes, or as
            ``--experimental-watch-progress-notify-interval`` says; `Watch.request_progress`).
        fragment: whether a message may be split that is larger than etcd's requests.
    """

    key: bytes
    end: bytes = b""
    start_revision: int = 0
    previous: bool = True
    progress: bool = True
    fragment: bool = True


class Batch(NamedTuple):
    """What one message of a watch says.

    Args:
        revision: newest revision of the store when etcd sent it.
        events: in the order of revisions, and of operations within one.
        progress: whether all changes up to `revision` have been sent, and none is in this batch.
        more: whether the next batch may go on with the revision of the last event.
    """

    revision: int
    events: list[Event]
    progress: bool
    more: bool


class Watch:
    """A watch that is open; iterating over it gives batches.

    Args:
        stream: its messages.
        revision: newest revision of the store when it was made.
    """

    def __init__(self, stream: Stream, revision: int) -> None:
        self.revision = revision
        self._stream = stream

    def request_progress(self) -> None:
        """Ask for a batch with `Batch.progress`, when all changes before it have been sent.

        etcd answers when the watch has come to the newest revision, and not while it is behind.
        """
        self._stream.send(_PROGRESS_REQUEST)

    async def receive(self) -> Batch:
        """Return the next batch.

        Raises:
            Compacted: etcd no longer has what comes next; with the revision up to which.
            Unavailable: the connection or the leader is gone.
            EtcdError: the watch ended for another reason.
        """
        while True:
            response = await _receive(self._stream)
            found = events(response)
            # A message without events that ends nothing is progress; etcd has no flag for it.
            if found or not response.created:
                return Batch(response.header.revision, found, not found, response.fragment)

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Batch:
        return await self.receive()


_PROGRESS_REQUEST = b"\x1a\x00"  # WatchRequest.progress_request, empty


async def _receive(stream: Stream) -> Any:
    """The next message.

    Raises:
        EtcdError: there is none, or it says that the watch has ended.
    """
    data = await stream.receive()
    if data is None:
        raise Unavailable("the member ended the stream", Code.UNAVAILABLE)
    response = decode("WatchResponse", data)
    if response.compact_revision:
        raise Compacted("mvcc: required revision has been compacted", response.compact_revision)
    if response.canceled:
        raise _cancelled(response.cancel_reason)
    return response


def _cancelled(reason: str) -> EtcdError:
    """The error of a watch that etcd ended; it gives a text and no code."""
    if "no leader" in reason:
        return Unavailable(reason, Code.UNAVAILABLE)
    if "permission denied" in reason:
        return PermissionDenied(reason, Code.PERMISSION_DENIED)
    return WatchCancelled(reason or "the watch was cancelled", Code.CANCELLED)


@asynccontextmanager
async def watching(stream: Stream, settings: WatchSettings) -> AsyncIterator[Watch]:
    """A watch on a stream, which is made when the block begins.

    Args:
        stream: a new stream of the method ``Watch``.
        settings: what is watched.

    Raises:
        EtcdError: etcd does not take it.
    """
    create = message(
        "WatchCreateRequest",
        key=settings.key,
        range_end=settings.end,
        start_revision=settings.start_revision,
        prev_kv=settings.previous,
        progress_notify=settings.progress,
        fragment=settings.fragment,
    )
    stream.send(encode("WatchRequest", create_request=create))
    created = await _receive(stream)
    yield Watch(stream, created.header.revision)
