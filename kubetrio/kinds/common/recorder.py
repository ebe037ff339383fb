"""Events that controllers record, as client-go's recorder does: few, joined, and never waited for.

What happens to an object again counts in the event that there is.  The tenth kind of message for
one reason within ten minutes begins an event that stands for all further ones.  After 25 events
about an object there is one every five minutes.  What comes faster than it is written is dropped.

Source: client-go tools/record (events_cache.go, event.go).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

import trio

from kubetrio.env import Env
from kubetrio.kinds.common.acting import acting_as
from kubetrio.logs import Log
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError

Object = dict[str, Any]
log = Log("kubetrio.controllers")

MOST_WAITING = 1000
MOST_REMEMBERED = 1024
SIMILAR, SIMILAR_S = 10, 600.0
BURST, REFILL_PER_S = 25, 1 / 300.0
NOT_NAMESPACED = "default"
"""Where events are about what is in no namespace."""

T = TypeVar("T")


class _Recent(Generic[T]):
    """A dictionary that forgets what was not used for longest."""

    def __init__(self) -> None:
        self._items: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        return self._items.get(key)

    def put(self, key: object, value: T) -> None:
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > MOST_REMEMBERED:
            self._items.popitem(last=False)


class _Bucket(NamedTuple):
    tokens: float
    at: float


class _Similar(NamedTuple):
    messages: frozenset[str]
    at: float


class Written(NamedTuple):
    """An event that was written.

    Args:
        name: of the event.
        times: how often it happened.
    """

    name: str
    times: int


class Happening(NamedTuple):
    """What is to be written.

    Args:
        key: the same for what counts in one event.
        message: for people.
    """

    key: object
    message: str


class Correlator:
    """Decides what of many events is written."""

    def __init__(self) -> None:
        self._buckets: _Recent[_Bucket] = _Recent()
        self._similar: _Recent[_Similar] = _Recent()
        self.written: _Recent[Written] = _Recent()

    def joined(self, about: object, reason: str, message: str, now: float) -> Happening | None:
        """What to write, or None to drop it.

        Args:
            about: object and type of the event, comparable.
            reason: of the event.
            message: of the event.
            now: wall clock, in seconds.
        """
        all_of_them = (about, reason)
        similar = self._similar.get(all_of_them)
        if similar is None or now - similar.at > SIMILAR_S:
            similar = _Similar(frozenset(), now)
        messages = similar.messages | {message}
        happening = Happening((about, reason, message), message)
        if len(messages) >= SIMILAR:
            happening = Happening(all_of_them, f"(combined from similar events): {message}")
            messages = similar.messages
        self._similar.put(all_of_them, _Similar(messages, now))
        return happening if self._afford(about, now) else None

    def _afford(self, about: object, now: float) -> bool:
        bucket = self._buckets.get(about) or _Bucket(BURST, now)
        tokens = min(bucket.tokens + (now - bucket.at) * REFILL_PER_S, BURST)
        enough = tokens >= 1
        self._buckets.put(about, _Bucket(tokens - enough, now))
        return enough


class _News(NamedTuple):
    involved: Object
    type: str
    reason: str
    message: str


class EventRecorder:
    """Records events of one component.

    Args:
        registry: what is served.
        operations: writes.
        env: wall clock and identities.
        component: who reports.
        account: service account in whose name events are written.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        env: Env,
        component: str,
        account: str,
    ) -> None:
        self._kind = registry.resources["", "v1", "events"]
        self._operations = operations
        self._env = env
        self._component = component
        self._who = acting_as(account)
        self._correlator = Correlator()
        self._send, self._receive = trio.open_memory_channel[_News](MOST_WAITING)

    def event(self, involved: Object, type: str, reason: str, message: str) -> None:  # noqa: A002
        """Have an event recorded; it does not wait, and may be dropped.

        Args:
            involved: reference to the object that it is about (``ObjectReference``).
            type: ``Normal`` or ``Warning``.
            reason: in one word.
            message: for people.
        """
        try:
            self._send.send_nowait(_News(involved, type, reason, message))
        except trio.WouldBlock:
            pass  # as client-go does

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            news = await self._receive.receive()
            try:
                await self._record(news)
            except (ApiError, StoreError) as error:
                log.warning("cannot record an event", reason=news.reason, error=str(error))

    async def _record(self, news: _News) -> None:
        now = self._env.now()
        about = (*sorted(news.involved.items()), news.type)
        happening = self._correlator.joined(about, news.reason, news.message, now)
        if happening is None:
            return
        known = self._correlator.written
        before = known.get(happening.key)
        if before is not None and await self._again(news, before, happening, now):
            known.put(happening.key, Written(before.name, before.times + 1))
            return
        name = await self._create(news, happening.message, now)
        known.put(happening.key, Written(name, 1))

    def _namespace(self, news: _News) -> str:
        return news.involved.get("namespace") or NOT_NAMESPACED

    async def _again(self, news: _News, before: Written, happening: Happening, now: float) -> bool:
        """Count in an event that was written; False when it is gone."""
        target = Target(self._kind, self._namespace(news), before.name)
        changed = {
            "count": before.times + 1,
            "lastTimestamp": format_time(now),
            "message": happening.message,
        }
        try:
            await self._operations.patch(target, lambda old: {**old, **changed}, self._who)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _create(self, news: _News, message: str, now: float) -> str:
        name = f"{news.involved.get('name', '')}.{int(now * 1e9):x}"
        if dns1123_subdomain(name):
            name = self._env.new_uid()
        at = format_time(now)
        namespace = self._namespace(news)
        body = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {key: value for key, value in news.involved.items() if value},
            "reason": news.reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "type": news.type,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        await self._operations.create(Target(self._kind, namespace), body, self._who)
        return name
