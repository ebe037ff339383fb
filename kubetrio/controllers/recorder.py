"""Events that controllers record about objects, few of them whatever happens.

The same event again counts up the one there is, many that differ only in their words become one,
and an object gets no more than a few in a row.

Source: k8s.io/client-go/tools/record (``EventCorrelator``), in its defaults.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

import trio

from kubetrio.controllers.identity import as_service_account
from kubetrio.env import Env
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError

log = Log("kubetrio.events")
Object = dict[str, Any]
T = TypeVar("T")

NORMAL, WARNING = "Normal", "Warning"
MOST_WAITING = 1000
MOST_KNOWN = 1024  # keys that a memory has; client-go has 4096
SIMILAR, SIMILAR_S = 10, 600.0
BURST, REFILL_S = 25, 300.0  # events about an object at once, and seconds for one more
ATTEMPTS = 16  # to find a name
TOGETHER = 50  # events that are written at a time
COMBINED = "(combined from similar events): "


class Reference(NamedTuple):
    """What an event is about.

    Args:
        api_version: of its kind.
        kind: of the object.
        namespace: empty for an object without one.
        name: of the object.
        uid: of the object.
        resource_version: that was looked at, if that is known.
        field_path: of the part of the object, empty for all of it.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    def shown(self) -> Object:
        """As a member of an event."""
        members = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.api_version,
            "resourceVersion": self.resource_version,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in members.items() if value}


def reference_to(obj: Mapping[str, Any], api_version: str = "", kind: str = "") -> Reference:
    """A reference to an object.

    Args:
        obj: the object.
        api_version: of its kind, if the object does not say.
        kind: the same.
    """
    meta = obj["metadata"]
    return Reference(
        api_version or obj["apiVersion"],
        kind or obj["kind"],
        meta.get("namespace", ""),
        meta["name"],
        meta.get("uid", ""),
        meta.get("resourceVersion", ""),
    )


class _Recent(Generic[T]):
    """Values by key; those that were not asked for longest go."""

    def __init__(self) -> None:
        self._values: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: object, value: T) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > MOST_KNOWN:
            self._values.popitem(last=False)

    def clear(self) -> None:
        self._values.clear()


class _Seen(NamedTuple):
    """An event that is there: its name, how often it happened, and since when."""

    name: str
    times: int
    first: str


class _Waiting(NamedTuple):
    about: Reference
    type: str
    reason: str
    message: str
    at: float
    host: str


class EventRecorder:
    """Records events in the name of one controller, from a task of its own.

    Args:
        component: that the events come from.
        writer: service account of the controller, or how the events of a host are written.
        registry: what is served.
        operations: writes.
        env: wall clock.
        most_waiting: how many wait to be written; what comes above that is lost.
    """

    def __init__(
        self,
        component: str,
        writer: str | Callable[[str], WriteOptions],
        registry: LiveRegistry,
        operations: Operations,
        env: Env,
        *,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._component = component
        if isinstance(writer, str):
            who = as_service_account(writer)
            self._who: Callable[[str], WriteOptions] = lambda _: who
        else:
            self._who = writer
        self._kind = registry.resources["", "v1", "events"]
        self._operations = operations
        self._env = env
        self._similar: _Recent[tuple[float, set[str]]] = _Recent()
        self._seen: _Recent[_Seen] = _Recent()
        self._tokens: _Recent[tuple[float, float]] = _Recent()
        self._last = 0  # number in the name of the newest event
        # What comes while this is full is lost, as in client-go.
        self._send, self._receive = trio.open_memory_channel[_Waiting](most_waiting)

    def record(
        self, about: Reference, type_: str, reason: str, message: str, host: str = ""
    ) -> None:
        """Record an event soon; returns at once.

        Args:
            about: the object.
            type_: ``Normal`` or ``Warning``.
            reason: in one word.
            message: for people.
            host: name of the node that the event comes from, empty for none.
        """
        waiting = _Waiting(about, type_, reason, message, self._env.now(), host)
        try:
            self._send.send_nowait(waiting)
        except trio.WouldBlock:
            log.warning("too many events", component=self._component, reason=reason)

    async def run(self) -> None:
        """Write what is recorded, until cancelled; then what was not written is lost."""
        try:
            while True:
                waiting = [await self._receive.receive()]
                with suppress(trio.WouldBlock):
                    while len(waiting) < TOGETHER:
                        waiting.append(self._receive.receive_nowait())
                await self._write_together(waiting)
        except trio.Cancelled:
            self._forget()
            raise

    async def _write_together(self, waiting: list[_Waiting]) -> None:
        """Write events at a time, so that they share transactions; those of an object in order."""
        of_object: dict[Reference, list[_Waiting]] = {}
        for event in waiting:
            about = event.about._replace(resource_version="", field_path="")
            of_object.setdefault(about, []).append(event)
        async with trio.open_nursery() as nursery:
            for events in of_object.values():
                nursery.start_soon(self._write_in_order, events)

    async def _write_in_order(self, events: list[_Waiting]) -> None:
        for event in events:
            try:
                await self._write(event)
            except (ApiError, StoreError) as error:
                log.info("cannot record an event", reason=event.reason, error=str(error))

    def _forget(self) -> None:
        """Let nothing of now show in what is recorded later."""
        with suppress(trio.WouldBlock):
            while True:
                self._receive.receive_nowait()
        self._similar.clear()
        self._seen.clear()
        self._tokens.clear()

    async def _write(self, event: _Waiting) -> None:
        key, message = self._combined(event)
        known = self._seen.get(key)
        if not self._allowed(event):
            if known is not None:
                self._seen.put(key, known._replace(times=known.times + 1))
            return
        now = format_time(event.at)
        namespace = event.about.namespace or "default"
        if known is not None:
            count = known.times + 1
            target = Target(self._kind, namespace, known.name)

            def again(old: Object) -> Object:
                return {**old, "count": count, "lastTimestamp": now, "message": message}

            try:
                await self._operations.patch(target, again, self._who(event.host))
            except ApiError as error:
                if error.code != 404:
                    raise
            else:
                self._seen.put(key, known._replace(times=count))
                return
        count, first = (known.times + 1, known.first) if known else (1, now)
        for _ in range(ATTEMPTS):
            name = self._name(event)
            try:
                await self._create(event, name, message, count, first)
            except ApiError as error:
                # Another recorder told of the object in the same moment.
                if error.reason != "AlreadyExists":
                    raise
            else:
                self._seen.put(key, _Seen(name, count, first))
                return
        log.info("cannot name an event", reason=event.reason, name=event.about.name)

    def _name(self, event: _Waiting) -> str:
        """Return a name for an event; each has another, however many there are at one time."""
        self._last = max(int(event.at * 1e9), self._last + 1)
        name = f"{event.about.name}.{self._last:x}"
        # Not every name can begin that of an event.
        return f"event-{self._env.new_uid()}" if dns1123_subdomain(name) else name

    async def _create(
        self, event: _Waiting, name: str, message: str, count: int, first: str
    ) -> None:
        namespace = event.about.namespace or "default"
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": event.about.shown(),
            "reason": event.reason,
            "message": message,
            "source": {
                "component": self._component,
                **({"host": event.host} if event.host else {}),
            },
            "firstTimestamp": first,
            "lastTimestamp": format_time(event.at),
            "count": count,
            "type": event.type,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": event.host,
        }
        who = self._who(event.host)
        await self._operations.create(Target(self._kind, namespace), body, who)

    def _combined(self, event: _Waiting) -> tuple[object, str]:
        """By what the event is known, and its words."""
        # Not by resourceVersion: the next state of an object is the same object.
        about = event.about._replace(resource_version="")
        kin = (about, event.type, event.reason)
        last, messages = self._similar.get(kin) or (-inf, set[str]())
        if event.at - last > SIMILAR_S:
            messages = set()
        messages.add(event.message)
        self._similar.put(kin, (event.at, messages))
        if len(messages) < SIMILAR:
            return (*kin, event.message), event.message
        messages.pop()
        return kin, COMBINED + event.message

    def _allowed(self, event: _Waiting) -> bool:
        """Whether the object may have one more."""
        key = (event.about._replace(resource_version=""), event.type)
        at, tokens = self._tokens.get(key) or (event.at, float(BURST))
        tokens = min(tokens + max(event.at - at, 0.0) / REFILL_S, float(BURST))
        allowed = tokens >= 1
        self._tokens.put(key, (event.at, tokens - 1 if allowed else tokens))
        return allowed
