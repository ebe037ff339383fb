"""Writes that wait, and batches of them between their transaction and their answers."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple

import outcome
import trio

from kubetrio.store.errors import StoreError, StoreUnavailable
from kubetrio.store.model import Event, Revision
from kubetrio.store.sqlite.writer import Wrote

Apply = Callable[..., Wrote[object]]


class Holding(NamedTuple):
    """Writes that are answered before they are synced.

    Args:
        prefixes: of their keys.
        seconds: how long they may wait for a sync; 0 for not at all.
    """

    prefixes: tuple[str, ...] = ()
    seconds: float = 0.0

    def takes(self, events: Sequence[Event]) -> bool:
        """Whether all of a batch may wait."""
        return self.seconds > 0 and all(event.key.startswith(self.prefixes) for event in events)


SYNC_ALL = Holding()


class State(enum.Enum):
    """Life of a write."""

    WAITING = enum.auto()
    TAKEN = enum.auto()


class Write:
    """A queued write and the task that waits for it."""

    __slots__ = ("apply", "arguments", "frees", "size", "state", "task")

    def __init__(
        self, apply: Apply, arguments: tuple[object, ...], size: int, *, frees: bool
    ) -> None:
        self.apply = apply
        self.arguments = arguments
        self.size = size
        self.frees = frees
        self.state = State.WAITING
        self.task = trio.lowlevel.current_task()


class Stage(enum.Enum):
    """How far a batch has come."""

    OPEN = enum.auto()
    """In an open transaction, or about to be."""
    COMMITTED = enum.auto()
    """In the log; the disk has not been asked to take it."""
    DECIDED = enum.auto()
    """On its way to the disk, or there without a sync, or rolled back."""


class Flight:
    """A batch between its transaction and its answers.

    Attributes:
        batch: its writes.
        size: bytes of their values.
        answered: how many of them have been answered.
        answers: of the first writes, or of all.
        events: what was stored.
        syncing: whether the log is being synced for it.
        began: since when, by Trio's clock.
        bug: what went wrong that is no answer.
        failure: why it is not known whether it is durable, apart from a sync that fails.
        stage: how far it has come.
        before: newest revision before it.
    """

    __slots__ = (
        "_landed", "answered", "answers", "batch", "before", "began", "bug",
        "events", "failure", "size", "stage", "syncing",
    )  # fmt: skip

    def __init__(self, before: Revision) -> None:
        self.batch: list[Write] = []
        self.before = before
        self.stage = Stage.OPEN
        self.size = self.answered = 0
        self.failure: OSError | None = None
        self.answers: list[outcome.Outcome[object]] = []
        self.events: list[Event] = []
        self.syncing = False
        self.began = 0.0
        self.bug: BaseException | None = None
        self._landed: trio.Event | None = None

    def fail(self, told: Callable[[], StoreError]) -> None:
        """Announce nothing: a refusal may rest on a write that is not stored, so it is not told."""
        self.events.clear()
        self.answers = [outcome.Error(told()) for _ in self.batch]

    async def wait(self) -> None:
        """Wait until it has landed."""
        if self._landed is None:
            self._landed = trio.Event()
        await self._landed.wait()

    def answer(self) -> None:
        """Answer its writers; whatever broke, they get an answer, since nothing can cancel them.

        Calling it again goes on where it failed.
        """
        while self.answered < len(self.batch):
            place = self.answered
            if place < len(self.answers):
                answer = self.answers[place]
            else:
                answer = outcome.Error(StoreUnavailable("store failed"))
            self.answered += 1
            trio.lowlevel.reschedule(self.batch[place].task, answer)
        if self._landed is not None:
            self._landed.set()
