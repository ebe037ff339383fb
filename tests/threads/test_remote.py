"""A watch that a task holds for others: its events, its end and its failure arrive in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from kubetrio.client import Events
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import open_api
from kubetrio.threads.remote import HeldWatch


async def test_events_come_one_by_one_until_the_end() -> None:
    """The end is None, again and again."""
    async with open_api() as server, trio.open_nursery() as nursery:
        client = server.client()
        held = HeldWatch(client.watch(client.kind("v1", "Namespace"), timeout_s=1))
        nursery.start_soon(held.hold)
        await held.entered()
        first = await held.next()
        assert first is not None
        assert first.type == "ADDED"
        while await held.next() is not None:
            pass
        assert await held.next() is None


async def test_a_refusal_is_told_at_the_entry() -> None:
    """And ends the holding task in order."""
    async with open_api() as server, trio.open_nursery() as nursery:
        client = server.client()
        held = HeldWatch(client.watch(client.kind("v1", "Namespace"), resource_version="x"))
        nursery.start_soon(held.hold)
        with pytest.raises(ApiError):
            await held.entered()


async def test_a_failure_comes_behind_the_events() -> None:
    """It is what the next look raises."""

    @asynccontextmanager
    async def fails() -> AsyncIterator[Events]:
        yield Failing()

    held = HeldWatch(fails())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(held.hold)
        await held.entered()
        with pytest.raises(ApiError, match="too old"):
            await held.next()


class Failing(Events):
    """A watch whose history is gone."""

    def __init__(self) -> None:
        """Without lines."""

    async def __anext__(self) -> object:  # type: ignore[override]
        await trio.lowlevel.checkpoint()
        raise ApiError(410, "Expired", "too old")
