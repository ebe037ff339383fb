"""Flow control of requests: what each is to the gate, and its answer when it is refused.

Two ways: API Priority and Fairness through `flow.gate`, or plain counting as kube-apiserver does
with ``--enable-priority-and-fairness=false``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import trio

from kubetrio.api.deadlines import limit_of
from kubetrio.api.request import CONNECTED, Request, truthy
from kubetrio.api.response import TEXT, AnyResponse, Channel, Response, StreamResponse
from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.dispatcher import Dispatcher, wait_limit
from kubetrio.flow.entries import Entry
from kubetrio.flow.estimate import Estimator, EstimatorConfig, ListQuery, Stored, tells_watchers
from kubetrio.flow.gate import Gate
from kubetrio.flow.objects import ObjectCounts
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.machinery.identity import MASTERS
from kubetrio.observe.metrics import Collected
from kubetrio.schema.registry import LiveRegistry, Registry
from kubetrio.watch.hub import Hub, prefixes

LONG_RUNNING_VERBS = frozenset({"proxy"})
READ_ONLY = frozenset({"get", "list", "watch"})
LISTS = frozenset({"list", "watch"})
WRITES = frozenset({"create", "update", "patch", "delete"})
Leave = Callable[[Request, float], None]
NOSNIFF = (b"X-Content-Type-Options", b"nosniff")


def too_many_requests(retry_after_s: int) -> Response:
    """The answer to a request that found no seat."""
    return Response(
        429,
        b"Too many requests, please try again later.\n",
        TEXT,
        ((b"Retry-After", b"%d" % retry_after_s), NOSNIFF),
    )


def is_long_running(request: Request) -> bool:
    """Whether a request may last for as long as its client likes, watches included."""
    info = request.info
    if not info.is_resource:
        return False
    return info.verb == "watch" or info.verb in LONG_RUNNING_VERBS or info.subresource in CONNECTED


class FlowControl(Protocol):
    """One way of flow control."""

    def hold(self) -> AbstractContextManager[Hold]:
        """Let no request pass or come back as long as the block lasts."""
        ...

    def passes(self, request: Request) -> bool:
        """Let a request pass at once if there is nothing to wait for."""
        ...

    async def admit(self, request: Request) -> Response | None:
        """Wait for a seat; an answer if there is none to be had."""
        ...

    def leave(self, request: Request, now: float) -> None:
        """Give the seat back, if there is one; may be called again."""
        ...

    def pause(self, request: Request, now: float) -> None:
        """Give the seat back while a body comes; the request comes back for another one."""
        ...

    def resumed(self, request: Request) -> None:
        """Note that the request has a seat again: it is one request, and counted once."""
        ...

    def executing(self) -> tuple[int, int]:
        """Requests executing now: read-only, mutating."""
        ...

    def queued(self) -> tuple[int, int]:
        """Requests waiting now: read-only, mutating."""
        ...

    def close(self) -> None:
        """Reject what would wait from now on (shutdown)."""
        ...


class Hold:
    """What requests wait for that come while none may begin.

    Attributes:
        waiting: how many of them there are.
    """

    __slots__ = ("_released", "waiting")

    def __init__(self) -> None:
        self._released = trio.Event()
        self.waiting = 0

    def release(self) -> None:
        """Let those that wait go on."""
        self._released.set()

    async def wait(self) -> None:
        """Wait for that."""
        self.waiting += 1
        try:
            await self._released.wait()
        finally:
            self.waiting -= 1


class _Holding:
    """Flow control of which all requests can be held; one hold at a time.

    `passes` lets nothing pass while `held` is not None, and `admit` waits for it first.
    """

    held: Hold | None = None

    @contextmanager
    def hold(self) -> Iterator[Hold]:
        """See `FlowControl`."""
        self.held = hold = Hold()
        try:
            yield hold
        finally:
            self.held = None
            hold.release()

    def close(self) -> None:
        """See `FlowControl`."""
        hold, self.held = self.held, None
        if hold is not None:
            hold.release()


class _SeatedRun:
    """Runs a stream and gives the seat back when it is over, or will never be run."""

    __slots__ = ("_leave", "_run")

    def __init__(
        self, run: Callable[[Channel], Awaitable[None]], leave: Callable[[], None]
    ) -> None:
        self._run = run
        self._leave = leave

    async def __call__(self, channel: Channel) -> None:
        try:
            await self._run(channel)
        finally:
            self._leave()

    def __del__(self) -> None:
        self._leave()


def keep_seat(response: StreamResponse, leave: Callable[[], None]) -> None:
    """Give the seat of a streamed answer back when the stream ends."""
    response.run = _SeatedRun(response.run, leave)


@dataclass(slots=True, eq=False)
class _About:
    """What the estimate needs of lists alike, and of writes, whose watchers they all wake.

    Args:
        prefix: storage prefix of what they are about.
        folders: of the keys that a write changes; none for a list.
    """

    prefix: str
    folders: tuple[str, ...] = ()


class PriorityAndFairness(_Holding):
    """API Priority and Fairness.

    Args:
        dispatcher: of the server, with starts held.
        registry: what is served.
        hub: who watches.
        wall: wall clock, seconds since the epoch.
        request_timeout_s: what a request may take, in seconds.
        leaving: makes what gives a seat back of what the gate does; None where that is all.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        registry: LiveRegistry,
        hub: Hub,
        wall: Callable[[], float],
        request_timeout_s: float,
        leaving: Callable[[Leave], Leave] | None = None,
    ) -> None:
        self.gate = Gate(dispatcher, digest, wall, patience_s=wait_limit(request_timeout_s))
        self.leave: Leave = self.gate.leave if leaving is None else leaving(self.gate.leave)
        self._entries = self.gate.entries
        self._begin = self.gate.ticketless.begin
        self.counts = ObjectCounts()
        self._registry = registry
        self._hub = hub
        self._estimator = Estimator(EstimatorConfig())
        self._request_timeout_s = request_timeout_s
        registry.subscribe(self._kinds_changed)

    def _kinds_changed(self, before: Registry, after: Registry) -> None:
        """What is remembered of requests says which kinds they are about, and how wide they are."""
        self._entries.clear()
        old, new = _prefixes(before), _prefixes(after)
        for prefix in old - new:
            self.counts.forget(prefix)
        self.counts.want(new - old)

    def passes(self, request: Request) -> bool:
        """See `FlowControl`."""
        if self.held is not None:
            return False
        info, user = request.info, request.user
        key: tuple[object, ...]
        if info.is_resource:
            key = (user.name, user.groups, info.verb, info.group, info.resource, info.subresource,
                   info.namespace)  # fmt: skip
        else:
            key = (user.name, user.groups, info.verb, info.path)
        entry = self._entries.get(key)
        if entry is None:
            if info.verb in LONG_RUNNING_VERBS or info.subresource in CONNECTED:
                return True
            entry = self.gate.entries.remember(key, digest(request), self._about(request))
        request.response_headers += entry.headers
        about = entry.about
        if isinstance(about, _About):
            request.width = self._width(request, entry, about)
            if request.width is not ONE_SEAT:
                request.seat = entry
                return False
        if self._begin(request, entry) if entry.exempt else self.gate.passes(request, entry):
            return True
        request.seat = entry
        return False

    async def admit(self, request: Request) -> Response | None:
        """See `FlowControl`."""
        while self.held is not None:
            await self.held.wait()
            if self.passes(request):
                return None
        entry: Entry = request.seat
        request.seat = None
        remaining = self._request_timeout_s
        if "timeout" in request.query:
            remaining = min(remaining, limit_of(request.query["timeout"]) or remaining)
        width: Width = request.width or ONE_SEAT
        patience_s = wait_limit(remaining)
        again = request.paused
        refused = await self.gate.admit(request, entry, width, patience_s, again=again)
        return None if refused is None else too_many_requests(refused.retry_after_s)

    def pause(self, request: Request, now: float) -> None:
        """See `FlowControl`."""
        request.paused = True
        self.gate.pauses(request, now)
        self.leave(request, now)

    def resumed(self, request: Request) -> None:
        """See `FlowControl`."""
        self.gate.resumed(request)

    def executing(self) -> tuple[int, int]:
        """See `FlowControl`."""
        return self.gate.executing()

    def queued(self) -> tuple[int, int]:
        """See `FlowControl`."""
        return self.gate.queued()

    def stored_objects(self) -> Iterable[Collected]:
        """What is stored, each kind once."""
        kinds = {one.storage_prefix: one for one in self._registry.resources.values()}
        for prefix, resource in kinds.items():
            stored = self.counts.stored(prefix)
            if isinstance(stored, Stored):
                which = resource.stored_as.group, resource.resource
                size = stored.objects * stored.average_bytes
                yield Collected(*which, stored.objects, size, self.counts.changes(prefix))

    def close(self) -> None:
        """See `FlowControl`."""
        super().close()
        self.gate.close()

    def _about(self, request: Request) -> _About | None:
        info = request.info
        if not info.is_resource:
            return None
        resource = self._registry.resources.get((info.group, info.version, info.resource))
        if resource is None:
            return None
        if info.verb in LISTS:
            return _About(resource.storage_prefix)
        if info.verb not in WRITES or not tells_watchers(info.resource, info.subresource):
            return None
        folder = resource.prefix(info.namespace if resource.namespaced else "")
        folders = tuple(prefixes(folder)[1:])  # the first is no folder
        return _About(resource.storage_prefix, folders)

    def _width(self, request: Request, entry: Entry, about: _About) -> Width:
        info = request.info
        if not about.folders:
            width = self._estimator.reading(
                info.verb,
                list_query(request),
                self.counts.stored(about.prefix),
                entry.classified.max_seats,
            )
            return ONE_SEAT if width == ONE_SEAT else width
        folders = about.folders
        concerned = (*folders, folders[0] + info.name) if info.name else folders
        watchers = self._hub.watchers_of(concerned)
        if not request.paused:
            entry.histograms.watchers.observe(watchers)
        return self._estimator.writing(info.verb, watchers, entry.classified.max_seats)


def _prefixes(registry: Registry) -> frozenset[str]:
    """Key prefixes of all that is stored."""
    return frozenset(kind.storage_prefix for kind in registry.resources.values()) - {""}


def digest(request: Any) -> RequestDigest:
    """A request as flow control sees it."""
    info = request.info
    return RequestDigest(
        user=request.user.name,
        groups=request.user.groups,
        verb=info.verb,
        path=info.path,
        namespace=info.namespace,
        resource=info.resource,
        subresource=info.subresource,
        api_group=info.group,
        name=info.name,
        api_version=info.version,
        is_resource=info.is_resource,
    )


def list_query(request: Request) -> ListQuery:
    """The options of a list or watch that bear on its width."""
    query = request.query
    if not query:
        return ListQuery()
    limit = query.get("limit") or "0"
    initial = query.get("sendInitialEvents")
    return ListQuery(
        limit=int(limit) if limit.isdecimal() else 0,
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        selective=bool(query.get("labelSelector") or query.get("fieldSelector")),
        names_one=bool(request.info.name),
        send_initial_events=None if initial is None else truthy(initial),
        malformed=not limit.removeprefix("-").isdecimal(),
    )


class MaxInFlight(_Holding):
    """At most so many requests at a time, read-only and mutating; nothing waits.

    Args:
        read_only: limit of get, list and watch; 0 for none.
        mutating: limit of everything else; 0 for none.
    """

    RETRY_AFTER_S = 1

    def __init__(self, read_only: int, mutating: int) -> None:
        self._limits = (read_only, mutating)
        self._executing = [0, 0]

    def passes(self, request: Request) -> bool:
        """See `FlowControl`."""
        if self.held is not None:
            return False
        if is_long_running(request):
            return True
        kind = request.info.verb not in READ_ONLY
        limit = self._limits[kind]
        if limit and self._executing[kind] >= limit:
            # An administrator must be able to look after a server that is full.
            return MASTERS in request.user.groups
        self._executing[kind] += 1
        request.seat = kind
        return True

    async def admit(self, request: Request) -> Response | None:
        """See `FlowControl`."""
        while self.held is not None:
            await self.held.wait()
            if self.passes(request):
                return None
        return too_many_requests(self.RETRY_AFTER_S)

    def leave(self, request: Request, now: float) -> None:
        """See `FlowControl`."""
        del now
        kind = request.seat
        if kind is not None:
            request.seat = None
            self._executing[kind] -= 1

    def pause(self, request: Request, now: float) -> None:
        """See `FlowControl`."""
        self.leave(request, now)

    def resumed(self, request: Request) -> None:
        """See `FlowControl`; nothing is counted."""

    def executing(self) -> tuple[int, int]:
        """See `FlowControl`."""
        return self._executing[0], self._executing[1]

    def queued(self) -> tuple[int, int]:
        """See `FlowControl`."""
        return 0, 0


def held_by_stream(response: AnyResponse, method: str) -> TypeGuard[StreamResponse]:
    """Whether a seat is kept beyond the answer's head: by streams that will be written."""
    return isinstance(response, StreamResponse) and method != "HEAD"
