"""Work over large bodies and objects, beside the event loop.

What a client sends may take seconds to read: three megabytes of YAML are a million nodes.  A body
of some kilobytes is read in place; the work over a larger one is done in a thread, so that the
loop waits for no more than Python's switch between threads.  Answers that have to be encoded are
such work too (`largeanswers`).  There is one such thread at a time, since they would only take
turns at the interpreter, and its users take turns too: a user with a hundred large bodies under
way delays another user's by one of them, not by a hundred.  Each of them keeps its seat (API
Priority and Fairness) until it is answered.

Some small bodies are much work, since a schema says so: work that counts its steps is begun in
place, and done again in the thread when it turns out to take longer.  In the thread it ends soon
after its request has, by its time limit or because its client left.

What is made of a body takes up to thirty times its weight, and is held while its request waits for
the next turn.  So few bodies are begun at a time: the others wait as they came.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar, TypeVarTuple

import trio

from kubetrio.api.request import Request
from kubetrio.env import RunBlocking, end_if_cancelled
from kubetrio.machinery.status import TOO_LATE, timeout
from kubetrio.runtime.effort import Looking
from kubetrio.wire.weights import weight

T = TypeVar("T")
Args = TypeVarTuple("Args")

INLINE_BYTES = 16 * 1024
"""Bodies up to this size are worked over in place: at the worst some 20 ms."""
WEIGHED_BYTES = 128 * 1024
"""Bodies and objects up to this size are weighed in place, in less than a millisecond."""
INLINE_OBJECT_BYTES = 64 * 1024
"""And so are changes of stored objects up to this size."""
BEGUN_BYTES = 4 * 1024 * 1024
"""Of all bodies that are worked over: one of the largest, or many smaller ones."""

UNKNOWN_BYTES = 1024 * 1024
"""Taken for the size of a small body that turns out to be much work."""


class _Elsewhere(Exception):
    """Work in place takes too long for that."""


def _not_here() -> None:
    raise _Elsewhere


class OffLoop:
    """Runs functions over the bodies of requests.

    Args:
        thread: runs a blocking call without stalling the event loop.
        limit_s: how long work for a write may take that came as a whole, and so has no timer.
    """

    def __init__(self, thread: RunBlocking, limit_s: float = math.inf) -> None:
        self._thread = thread
        self._limit_s = limit_s
        self._busy = False
        self._waiting: dict[str, deque[trio.Event]] = {}
        """By user, the one whose turn is next first."""
        self._begun: dict[Request, int] = {}
        self._begun_bytes = 0
        self._unbegun: dict[str, deque[tuple[Request, int, trio.Event]]] = {}
        """Requests whose undecoded bodies wait for a turn."""

    async def begin(self, request: Request, size: int) -> None:
        """Wait until the work over a large body may begin; `end` when its request is answered.

        Args:
            request: the request.
            size: bytes of its body.
        """
        if not self._unbegun and self._fits(size):
            self._begin(request, size)
            return
        user, mine = request.user.name, (request, size, trio.Event())
        self._unbegun.setdefault(user, deque()).append(mine)
        try:
            await mine[2].wait()
        except trio.Cancelled:
            if not mine[2].is_set():
                queue = self._unbegun[user]
                queue.remove(mine)
                if not queue:
                    del self._unbegun[user]
                self._begin_more()  # a smaller one may have waited behind it
            raise

    async def begin_anew(self, request: Request, size: int) -> None:
        """Wait for more room than a request has: it gives back its own first.

        Args:
            request: the request, begun or not.
            size: that it is to have.
        """
        if self._begun.get(request, 0) < size:
            self.end(request)
            await self.begin(request, size)

    def end(self, request: Request) -> None:
        """The request is answered; nothing, if it never began."""
        self._begun_bytes -= self._begun.pop(request, 0)
        self._begin_more()

    def _fits(self, size: int) -> bool:
        return not self._begun or self._begun_bytes + size <= BEGUN_BYTES

    def _begin(self, request: Request, size: int) -> None:
        self._begun[request] = size
        self._begun_bytes += size

    def _begin_more(self) -> None:
        while self._unbegun:
            user = next(iter(self._unbegun))
            request, size, event = self._unbegun[user][0]
            if not self._fits(size):
                return
            queue = self._unbegun.pop(user)
            queue.popleft()
            if queue:
                self._unbegun[user] = queue  # behind the others
            self._begin(request, size)
            event.set()

    async def run(self, request: Request, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call a function that works over the body of a request: at once, unless that is large.

        Args:
            request: the request.
            fn: touches nothing that another task might change; is called again elsewhere if it
                takes many steps (`effort`), and must not mind.
            args: what it is called with.

        Raises:
            ApiError: 504, and what the function raises.
        """
        if not request.heavy:
            try:
                with Looking(_not_here):
                    return fn(*args)
            except _Elsewhere:
                request.heavy = True
                await self.begin(request, UNKNOWN_BYTES)
        if request.timer is not None or request.method == "GET":
            return await self.beside(request, fn, *args)
        with trio.move_on_after(self._limit_s):
            return await self.beside(request, fn, *args)
        raise timeout(TOO_LATE)

    async def beside(self, request: Request, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call a function in the thread, when it is the turn of the request's user.

        Args:
            request: the request.
            fn: touches nothing that another task might change.
            args: what it is called with.
        """
        await self._take_turn(request.user.name)
        try:
            with Looking(end_if_cancelled):
                return await self._thread(fn, *args)
        finally:
            self._pass_turn()

    def of(self, request: Request) -> ForOne:
        """Return `call` bound to one request, for rooms that know no requests."""
        return ForOne(self, request)

    async def _take_turn(self, user: str) -> None:
        if not self._busy:
            self._busy = True
            return
        mine = trio.Event()
        self._waiting.setdefault(user, deque()).append(mine)
        try:
            await mine.wait()
        except trio.Cancelled:
            if mine.is_set():
                self._pass_turn()
            else:
                queue = self._waiting[user]
                queue.remove(mine)
                if not queue:
                    del self._waiting[user]
            raise

    def _pass_turn(self) -> None:
        if not self._waiting:
            self._busy = False
            return
        user = next(iter(self._waiting))
        queue = self._waiting.pop(user)
        queue.popleft().set()
        if queue:
            self._waiting[user] = queue  # behind the others


class ForOne:
    """Work for one request.

    Args:
        off_loop: where it is done.
        request: the request.
    """

    __slots__ = ("_off_loop", "_request")

    def __init__(self, off_loop: OffLoop, request: Request) -> None:
        self._off_loop = off_loop
        self._request = request

    async def work(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """See `OffLoop.run`."""
        return await self._off_loop.run(self._request, fn, *args)

    async def weigh(self, value: bytes) -> None:
        """A small request for a large object is heavy too, and waits as one with a large body.

        Args:
            value: the stored object.
        """
        if len(value) <= INLINE_OBJECT_BYTES:
            return
        request: Request = self._request
        request.heavy = True
        weigh = partial(weight, media="application/json", change=True)
        if len(value) <= WEIGHED_BYTES:
            size = weigh(value)
        else:
            size = await self._off_loop.beside(self._request, weigh, value)
        await self._off_loop.begin_anew(self._request, size)
