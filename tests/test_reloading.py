"""Files that change while a server runs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from kubetrio.env import seeded
from kubetrio.reloading import INTERVAL_S, Reloader


@asynccontextmanager
async def running() -> AsyncIterator[Reloader]:
    """A reloader that runs."""
    made = Reloader(seeded(0))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        yield made
        nursery.cancel_scope.cancel()


def change(path: Path, text: str) -> None:
    """Write a file so that its time differs."""
    stamp = path.stat().st_mtime_ns + 10**9 if path.exists() else 0
    path.write_text(text)
    if stamp:
        os.utime(path, ns=(stamp, stamp))


async def test_a_changed_file_is_read_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Once for each change of its content, and not for a new time."""
    path = tmp_path / "f"
    path.write_text("1")
    seen: list[str] = []
    async with running() as reloader:
        reloader.watch("--f", [path], lambda: seen.append(path.read_text()))
        await trio.sleep(3 * INTERVAL_S)
        assert seen == []
        change(path, "2")
        await trio.sleep(2 * INTERVAL_S)
        change(path, "2")
        await trio.sleep(2 * INTERVAL_S)
        assert seen == ["2"]


async def test_a_bad_file_is_told_and_the_next_good_one_is_used(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure is logged and counted, and ends nothing."""
    path = tmp_path / "f"
    path.write_text("1")
    seen: list[int] = []
    async with running() as reloader:
        reloader.watch("--f", [path], lambda: seen.append(int(path.read_text())))
        for text in ("bad", "7"):
            change(path, text)
            await trio.sleep(2 * INTERVAL_S)
        path.unlink()
        await trio.sleep(2 * INTERVAL_S)
        assert seen == [7]
        samples = {
            tuple(sample.labels.values()): sample.value
            for family in reloader.families()
            for sample in family.samples
        }
        assert samples == {("--f", "failure"): 2, ("--f", "success"): 1}
