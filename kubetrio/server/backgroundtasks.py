"""What a server does of its own accord: controllers, and what keeps its own objects in order.

All of it can be stopped for a moment.  It is level-triggered: a task that begins anew looks at what
is stored then, and a key that was being worked on is given out again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

import trio

from kubetrio.bootstrap.election import LeaderElection
from kubetrio.informers.reconciler import Reconciler
from kubetrio.runtime.supervise import run_forever_with_backoff

Run = Callable[[], Awaitable[object]]


class BackgroundTasks:
    """Runs tasks until cancelled.

    Args:
        runs: tasks that write, by name; they look anew when they begin anew.
        controllers: that run.
        always: tasks that are not stopped: they write nothing, or only what is always right.
        led: controllers that run while this server leads.
        election: decides who leads where several servers share a store, None where it has one.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        controllers: Sequence[Reconciler],
        always: Mapping[str, Run],
        led: Sequence[Reconciler] = (),
        election: LeaderElection | None = None,
    ) -> None:
        self._own = controllers
        self._led = led
        self._election = election
        self._runs = dict(runs)
        self._always = {**always, **{one.name: one.run for one in controllers}}
        if election is None:
            self._always |= {one.name: one.run for one in led}
        else:
            self._always["leader election"] = partial(election.run, self._lead)
        self._scope: trio.CancelScope | None = None  # of the runs
        self._stopped = trio.Event()
        self._resumed = trio.Event()

    async def _lead(self) -> None:
        """Run the controllers of the leader until cancelled."""
        async with trio.open_nursery() as nursery:
            for one in self._led:
                nursery.start_soon(run_forever_with_backoff, one.run, one.name, name=one.name)

    @property
    def _controllers(self) -> Sequence[Reconciler]:
        """Controllers that run now."""
        led = self._election is None or self._election.leads
        return (*self._own, *self._led) if led else self._own

    async def run(self) -> None:
        """Keep all of it running until cancelled."""
        async with trio.open_nursery() as nursery:
            for name, run in self._always.items():
                nursery.start_soon(run_forever_with_backoff, run, name, name=name)
            while True:
                async with trio.open_nursery() as tasks:  # each runs until it is cancelled
                    self._scope = tasks.cancel_scope
                    for name, run in self._runs.items():
                        tasks.start_soon(run_forever_with_backoff, run, name, name=name)
                self._scope = None
                self._stopped.set()
                await self._resumed.wait()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Nothing is done in the block; one such block at a time."""
        if self._scope is None:
            yield  # nothing runs at all
            return
        self._stopped, self._resumed = trio.Event(), trio.Event()
        try:
            self._scope.cancel()
            for one in self._controllers:
                await one.pause()
            await self._stopped.wait()
            yield
        finally:
            self._resumed.set()
            for one in self._controllers:
                one.resume()

    def begin_anew(self) -> None:
        """Tell all controllers that what is stored is as it was at another time."""
        for one in self._controllers:
            one.begin_anew()

    async def settled(self) -> None:
        """Wait until all controllers have begun, and have nothing to do but what is delayed."""
        for one in self._controllers:
            await one.began.wait()
        while busy := [one for one in self._controllers if not one.queue.idle]:
            for one in busy:
                await one.queue.settled()
