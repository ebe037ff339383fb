"""Environments for tests: blocking calls that can be held."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, TypeVarTuple

import trio

from kubetrio.env import Env, seeded

T = TypeVar("T")
Args = TypeVarTuple("Args")


class Hold(enum.Enum):
    """Where blocking calls are held."""

    NOWHERE = "nowhere"
    BEFORE = "before"
    BEHIND = "behind"


class Gate:
    """Runs blocking calls inline, and holds them before or behind the call while asked to.

    Held before the call of a commit, a write is taken and not stored; held behind it, it is stored
    and neither announced nor answered.
    """

    def __init__(self) -> None:
        self._where = Hold.NOWHERE
        self._opened = trio.Event()

    def hold(self, where: Hold) -> None:
        """Hold the calls from now on."""
        self._where = where
        self._opened = trio.Event()

    def open(self) -> None:
        """Let go of what is held and hold nothing more."""
        self._where = Hold.NOWHERE
        self._opened.set()

    async def wait(self, where: Hold) -> None:
        """Wait here if calls are held here; not a checkpoint otherwise."""
        if self._where is where:
            await self._opened.wait()

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call `fn(*args)`; see `kubetrio.env.RunBlocking`."""
        await trio.lowlevel.checkpoint()
        await self.wait(Hold.BEFORE)
        result = fn(*args)
        await self.wait(Hold.BEHIND)
        return result


def gated(seed: int) -> tuple[Env, Gate]:
    """A seeded Env whose blocking calls pass a gate."""
    gate = Gate()
    return replace(seeded(seed), run_blocking=gate), gate
