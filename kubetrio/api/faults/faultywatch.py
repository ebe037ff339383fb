"""Watches that go wrong: the stream of an answer, wrapped, whatever transport it goes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kubetrio.api.response import Channel, ClientGone
from kubetrio.faults.injector import Active
from kubetrio.faults.rule import ENDS_WATCH

Run = Callable[[Channel], Awaitable[None]]


class _Ended(Exception):
    """The watch has had all its events."""


def events_of(payload: bytes, content_type: bytes) -> list[bytes]:
    """The events of a payload, whole: lines of JSON, frames of protobuf; all as one otherwise."""
    if b"protobuf" in content_type:
        events, start = [], 0
        while start < len(payload):
            end = start + 4 + int.from_bytes(payload[start : start + 4], "big")
            events.append(payload[start:end])
            start = end
        return events
    if b"json" in content_type:
        return payload.splitlines(keepends=True)
    return [payload] if payload else []


class FaultyWatch:
    """One watch and its fault.

    Args:
        active: the rule.
        run: the watch.
        content_type: of its events.
        last: an event that it ends with, if any.
    """

    def __init__(self, active: Active, run: Run, content_type: bytes, last: bytes) -> None:
        self._active = active
        self._run = run
        self._content_type = content_type
        self._last = last

    async def run(self, channel: Channel) -> None:
        """Run the watch until it goes wrong, and have it go wrong.

        Raises:
            ClientGone: the connection is to break, as if it had.
        """
        active = self._active
        rule = active.rule
        at_once = rule.fault in ENDS_WATCH and not (rule.after_s or rule.after_events)
        ended = at_once
        with trio.CancelScope() as scope:

            def last_forever() -> None:
                scope.deadline = float("inf")

            with active.holding(last_forever):
                faulty = _FaultyChannel(channel, active, self._content_type)
                if rule.fault in ENDS_WATCH and not rule.after_events:
                    scope.deadline = trio.current_time() + rule.after_s
                try:
                    if not at_once:
                        await self._run(faulty)
                except* _Ended:
                    ended = True
        if not (ended or scope.cancelled_caught):
            return
        if self._last:
            await channel.send(channel.frame(self._last))
        if rule.fault == "watch-drop":
            raise ClientGone


class _FaultyChannel:
    """A channel that counts events, and goes wrong in time.

    It takes nothing without waiting, so that a watch is served as for a slow client: from what the
    window or the store has, and no memory grows.
    """

    framing = "faulty"  # events are cut apart here, and framed then

    def __init__(self, channel: Channel, active: Active, content_type: bytes) -> None:
        self._channel = channel
        self._active = active
        self._content_type = content_type
        self._pending: list[bytes] = []
        self._sent = 0
        self._begun = trio.current_time()

    def frame(self, payload: bytes) -> bytes:
        """Framed when it is cut."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Keep it for `send`, which must follow."""
        self._pending.append(wire)
        return False

    def _due(self) -> bool:
        rule = self._active.rule
        late = trio.current_time() - self._begun >= rule.after_s
        return not self._active.ended and late and self._sent >= rule.after_events

    async def send(self, wire: bytes) -> None:
        """Send what there is, event by event, until it goes wrong."""
        if wire:
            self._pending.append(wire)
        pending, self._pending = b"".join(self._pending), []
        fault = self._active.rule.fault
        if pending and fault == "watch-delay" and self._due():
            await self._hold(self._active.rule.delay_s)
        for event in events_of(pending, self._content_type):
            if fault == "watch-stall" and self._due():
                await self._hold(float("inf"))
            await self._channel.send(self._channel.frame(event))
            self._sent += 1
            if fault in ENDS_WATCH and self._active.rule.after_events and self._due():
                raise _Ended
        if not pending:
            await self._channel.send(b"")

    async def _hold(self, seconds: float) -> None:
        with trio.CancelScope() as scope, self._active.holding(scope.cancel):
            await trio.sleep(seconds)

    async def wait_closed(self) -> None:
        """Wait until the client closes its side."""
        await self._channel.wait_closed()
