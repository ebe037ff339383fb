"""The auditor: what it gives to its backends, and what a request waits for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from recording import Recorder, event

from kubetrio.audit.auditor import Auditor
from kubetrio.audit.backends import (
    Backend,
    Direct,
    Grouped,
)
from kubetrio.audit.counting import Counting
from kubetrio.audit.policy import Chosen, Level, Policy

ANYTHING = Policy([], Chosen(Level.METADATA))


@asynccontextmanager
async def running(*backends: Backend, counting: Counting | None = None) -> AsyncIterator[Auditor]:
    auditor = Auditor(ANYTHING, backends, counting or Counting())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(auditor.run)
        yield auditor
        await auditor.close(5.0)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("kind", [Grouped, Direct])
@pytest.mark.parametrize("strict", [False, True])
async def test_only_strict_refuses(
    kind: Callable[..., Backend], strict: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """A request goes on whose event could not be written, but in mode blocking-strict."""
    plugin = Recorder()
    plugin.good = False
    async with running(kind(plugin, strict=strict)) as auditor:
        wait = auditor.take(event(0, "RequestReceived"))
        if wait is not None:
            assert await wait is not strict
        else:
            assert not strict


async def test_two_backends_are_both_told(autojump_clock: trio.testing.MockClock) -> None:
    """And the request is refused if one of them says so."""
    good, bad = Recorder(), Recorder()
    bad.good = False
    async with running(Grouped(bad, strict=True), Direct(good, strict=True)) as auditor:
        wait = auditor.take(event(0, "RequestReceived"))
        assert wait is not None
        assert not await wait
    assert good.batches == bad.batches == [["id-0"]]
