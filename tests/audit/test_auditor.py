"""The auditor: what it gives to its backends, and what a request waits for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import pytest
import trio

from kubetrio.audit.auditor import Auditor
from kubetrio.audit.backends import (
    Backend,
    Direct,
    Grouped,
)
from kubetrio.audit.counting import Counting
from kubetrio.audit.events import AuditEvent, time_json
from kubetrio.audit.policy import Chosen, Level, Policy
from kubetrio.machinery.identity import UserInfo

ANYTHING = Policy([], Chosen(Level.METADATA))


def event(number: int = 0, stage: str = "ResponseComplete", **more: Any) -> AuditEvent:
    at = time_json(1_700_000_000)
    given: dict[str, Any] = {
        "level": Level.METADATA, "audit_id": f"id-{number}", "stage": stage, "uri": "/x",
        "verb": "get", "user": UserInfo("me"), "sources": b"", "ip": "", "agent": "",
        "namespace": "", "ref": b"", "received": at, "staged": at,
    }  # fmt: skip
    return AuditEvent(**{**given, **more})


class Recorder:
    """A plugin that remembers what it wrote, when it may."""

    name = "recorder"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.times: list[float] = []
        self.gate = trio.Event()
        self.gate.set()
        self.good = True
        self.at_once = self.most = 0

    def flat(self) -> list[str]:
        return list(chain.from_iterable(self.batches))

    async def process(self, events: Sequence[AuditEvent]) -> Sequence[bool]:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.gate.wait()
        self.at_once -= 1
        self.batches.append([one.audit_id for one in events])
        self.times.append(trio.current_time())
        return [self.good] * len(events)

    async def run(self) -> None:
        await trio.sleep_forever()


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
