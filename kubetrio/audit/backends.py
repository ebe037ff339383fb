"""Where events go: plugins that write them, and the ways in which requests wait for that.

Source: docs "Auditing", audit backends, event batching and log entry truncation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from typing import NamedTuple, Protocol

import trio

from kubetrio.audit.counting import Counting
from kubetrio.audit.events import AuditEvent, event_list
from kubetrio.audit.policy import Level
from kubetrio.audit.rotation import Plain, RotatingFile
from kubetrio.env import Env, Worker
from kubetrio.observe.logs import Log

log = Log("kubetrio.audit")
MOST_AT_ONCE = 200
"""Events that are written to a file in one call; making their lines takes under a millisecond."""
GATHER_S = 0.02
"""Seconds that events gather for which no request waits: a call costs as much as ten lines."""
MOST_BYTES = 64 * 1024 * 1024
"""Of events that a backend holds in memory."""
ATTEMPTS = 5
BACKOFF_FACTOR = 1.5
BACKOFF_JITTER = 0.2


class Plugin(Protocol):
    """Writes events.

    Attributes:
        name: in metrics and the log.
    """

    name: str

    async def process(self, events: Sequence[AuditEvent]) -> Sequence[bool]:
        """Write events, in order; for each, whether that went well.

        What did not is counted and logged when it returns.
        """
        ...

    async def run(self) -> None:
        """Keep what it needs; until cancelled."""
        ...


class Backend(Protocol):
    """Takes events from requests."""

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """Take an event; what to wait for before the request goes on, None for nothing.

        What is waited for is False where the request must not go on.
        """
        ...

    async def run(self) -> None:
        """Work until `close` was called and nothing is left to do."""
        ...

    def close(self) -> None:
        """Take no more, and come to an end."""
        ...


class LogPlugin:
    """Writes lines to a file, in a thread, many at once.

    Args:
        file: the file.
        legacy: whether lines are text and not JSON.
        env: threads.
        counting: what is counted.
    """

    name = "log"

    def __init__(
        self, file: RotatingFile | Plain, env: Env, counting: Counting, *, legacy: bool = False
    ) -> None:
        self._file = file
        self._env = env
        self._counting = counting
        self._legacy = legacy
        self._worker: Worker | None = None
        self._ready = trio.Event()
        self._untidy = trio.Event()

    async def process(self, events: Sequence[AuditEvent]) -> Sequence[bool]:
        """See `Plugin`."""
        await self._ready.wait()
        if self._worker is None:
            raise AssertionError("it runs when it is ready")
        # Lines are made here: a thread that runs Python takes the interpreter from the event loop,
        # which costs more than the two microseconds of a line.
        lines = [one.legacy() if self._legacy else one.json() for one in events]
        self._worker.start(partial(self._file.write, lines))
        errors = await self._worker.wait()
        if self._file.untidy:
            self._untidy.set()
        if any(errors):
            for event, error in zip(events, errors, strict=True):
                if error is not None:
                    self._counting.lost(self.name, error, [event])
        return [error is None for error in errors]

    async def run(self) -> None:
        """See `Plugin`."""
        with self._env.for_one_caller() as self._worker:
            self._ready.set()
            try:
                while True:
                    await self._untidy.wait()
                    self._untidy = trio.Event()
                    try:
                        await self._env.run_blocking(self._file.tidy)
                    except OSError as error:
                        log.warning("cannot tidy old audit logs", err=error)
            finally:
                self._worker, self._ready = None, trio.Event()
                self._file.close()


Post = Callable[[bytes], Awaitable[None]]
"""Sends a body; raises `PostError` if it was not taken."""


class PostError(Exception):
    """A body was not taken; the text says why."""


class WebhookPlugin:
    """Sends lists of events, and tries again where they are not taken.

    Args:
        post: sends one.
        initial_backoff_s: before it is tried a second time.
        env: randomness and threads.
        counting: what is counted.
    """

    name = "webhook"

    def __init__(self, post: Post, initial_backoff_s: float, env: Env, counting: Counting) -> None:
        self._post = post
        self._backoff = initial_backoff_s
        self._env = env
        self._counting = counting

    async def process(self, events: Sequence[AuditEvent]) -> Sequence[bool]:
        """See `Plugin`."""
        body = await self._env.run_blocking(_as_list, events)
        pause = self._backoff
        for attempt in range(ATTEMPTS):
            if attempt:
                await trio.sleep(pause * (1 + BACKOFF_JITTER * self._env.rng.random()))
                pause *= BACKOFF_FACTOR
            try:
                await self._post(body)
            except PostError as error:
                failed = error
            else:
                return [True] * len(events)
        self._counting.lost(self.name, failed, events)
        return [False] * len(events)

    async def run(self) -> None:
        """See `Plugin`."""
        await trio.sleep_forever()


def _as_list(events: Sequence[AuditEvent]) -> bytes:
    return event_list([one.item() for one in events])


class Waiting(NamedTuple):
    """An event in a queue, and who waits for it."""

    event: AuditEvent
    written: trio.Event | None
    result: list[bool]


class Grouped:
    """A request waits until its events are written, with those of others that wait (blocking).

    All events go through one queue, so a request that waits for its last one waits for all
    of them.

    Args:
        plugin: writes them.
        strict: whether a request must not go on whose beginning could not be written.
    """

    def __init__(self, plugin: Plugin, *, strict: bool = False) -> None:
        self._plugin = plugin
        self._strict = strict
        self._queue = deque[Waiting]()
        self._filled = trio.Event()
        self._closing = False

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """See `Backend`."""
        first = event.stage == "RequestReceived"
        if first and not self._strict:
            self._put(Waiting(event, None, []))
            return None
        waiting = Waiting(event, trio.Event(), [])
        self._put(waiting)
        return self._written(waiting)

    def _put(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        if len(self._queue) == 1:
            self._filled.set()

    async def _written(self, waiting: Waiting) -> bool:
        if waiting.written is not None:
            await waiting.written.wait()
        return not self._strict or all(waiting.result)

    async def run(self) -> None:
        """See `Backend`."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._plugin.run)
            while self._queue or not self._closing:
                if not self._queue:
                    self._filled = trio.Event()
                    await self._filled.wait()
                    continue
                some = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_AT_ONCE))]
                results = await self._plugin.process([one.event for one in some])
                for one, result in zip(some, results, strict=True):
                    one.result.append(result)
                    if one.written is not None:
                        one.written.set()
            nursery.cancel_scope.cancel()

    def close(self) -> None:
        """See `Backend`."""
        self._closing = True
        self._filled.set()


class Direct:
    """A request waits until each of its events is written, on its own (blocking, webhook).

    Args:
        plugin: writes them.
        strict: whether a request must not go on whose beginning could not be written.
    """

    def __init__(self, plugin: Plugin, *, strict: bool = False) -> None:
        self._plugin = plugin
        self._strict = strict
        self._closed = trio.Event()

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """See `Backend`."""
        return self._written(event)

    async def _written(self, event: AuditEvent) -> bool:
        results = await self._plugin.process([event])
        return not self._strict or all(results)

    async def run(self) -> None:
        """See `Backend`."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._plugin.run)
            await self._closed.wait()
            nursery.cancel_scope.cancel()

    def close(self) -> None:
        """See `Backend`."""
        self._closed.set()


class BatchConfig(NamedTuple):
    """How events are collected.

    Args:
        buffer_size: events that wait, beside those of a batch.
        max_size: events of a batch.
        max_wait_s: how long a batch waits until it has so many.
        qps: batches a second, 0 for as many as there are.
        burst: batches at once, if there were fewer before.
        at_a_time: batches that are being written at a time.
    """

    buffer_size: int
    max_size: int
    max_wait_s: float
    qps: float = 0.0
    burst: int = 1
    at_a_time: float = 1


class Buffered:
    """A request waits for nothing: events are collected and written later (batch).

    Args:
        plugin: writes them.
        config: how they are collected.
        counting: what is counted.
        most_bytes: of events in memory, those that are being written among them.
    """

    name = "buffered"

    def __init__(
        self,
        plugin: Plugin,
        config: BatchConfig,
        counting: Counting,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._plugin = plugin
        self._config = config
        self._counting = counting
        self._most_bytes = most_bytes
        self._most = config.buffer_size + config.max_size
        # A file does not show how its lines were batched: one call for all that are there.
        single = config.max_size == 1 and not config.qps
        self._batch = MOST_AT_ONCE if single else config.max_size
        self._wait_s = max(config.max_wait_s, GATHER_S) if single else config.max_wait_s
        self._queue = deque[tuple[AuditEvent, int]]()
        self._bytes = 0
        self._wanted = 1  # events that the collector waits for
        self._filled = trio.Event()
        self._closing = False
        self._tokens = float(config.burst)
        self._refilled = trio.current_time()
        self._writing = 0
        self._wrote = trio.Event()

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """See `Backend`."""
        size = event.size()
        if self._closing:
            self._counting.lost(self.name, "audit backend shut down", [event])
        elif len(self._queue) >= self._most or self._bytes + size > self._most_bytes:
            self._counting.lost(self.name, "audit buffer queue blocked", [event])
        else:
            self._queue.append((event, size))
            self._bytes += size
            if len(self._queue) == self._wanted:
                self._filled.set()
        return None

    async def _wait_for(self, count: int, timeout_s: float = inf) -> None:
        with trio.move_on_after(timeout_s):
            while len(self._queue) < count and not self._closing:
                self._wanted = count
                self._filled = trio.Event()
                await self._filled.wait()

    async def _token(self) -> None:
        """Wait until one more batch may be written."""
        qps = self._config.qps
        if not qps:
            return
        while True:
            now = trio.current_time()
            gained = (now - self._refilled) * qps
            self._tokens = min(self._tokens + gained, float(self._config.burst))
            self._refilled = now
            if self._tokens >= 1 - 1e-9:
                self._tokens -= 1
                return
            await trio.sleep((1 - self._tokens) / qps)

    async def run(self) -> None:
        """See `Backend`."""
        async with trio.open_nursery() as plugins, trio.open_nursery() as writing:
            plugins.start_soon(self._plugin.run)
            while True:
                await self._wait_for(1)
                if not self._queue:
                    break  # closed
                await self._wait_for(self._batch, self._wait_s)
                await self._token()
                while self._writing >= self._config.at_a_time:
                    self._wrote = trio.Event()
                    await self._wrote.wait()
                count = min(len(self._queue), self._batch)
                some = [self._queue.popleft() for _ in range(count)]
                self._writing += 1
                writing.start_soon(self._write, some)
            while self._writing:
                self._wrote = trio.Event()
                await self._wrote.wait()
            plugins.cancel_scope.cancel()

    async def _write(self, some: Sequence[tuple[AuditEvent, int]]) -> None:
        try:
            await self._plugin.process([event for event, _ in some])
        finally:
            self._bytes -= sum(size for _, size in some)
            self._writing -= 1
            self._wrote.set()

    def close(self) -> None:
        """See `Backend`."""
        self._closing = True
        self._filled.set()


class Truncating:
    """Takes the objects out of events that are too large, and drops those that still are.

    Args:
        backend: what is left goes there.
        max_event_bytes: of the JSON of an event.
        counting: what is counted.
    """

    name = "truncate"

    def __init__(self, backend: Backend, max_event_bytes: int, counting: Counting) -> None:
        self._backend = backend
        self._most = max_event_bytes
        self._counting = counting

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """See `Backend`."""
        if len(event.json()) > self._most:
            if event.level >= Level.REQUEST:
                event = event.truncated()
            if len(event.json()) > self._most:
                self._counting.lost(self.name, "event is too large even after truncating", [event])
                return None
        return self._backend.take(event)

    async def run(self) -> None:
        """See `Backend`."""
        await self._backend.run()

    def close(self) -> None:
        """See `Backend`."""
        self._backend.close()
