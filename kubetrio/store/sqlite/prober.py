"""Whether the engine still answers, for health checks: one question at a time, with a time limit.

A thread that waits for the disk cannot be called back, so no request waits for it: a task of the
store puts the question, and requests wait for its answer, each as long as its own limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NoReturn

import trio

from kubetrio.store.errors import StoreClosed, StoreError, StoreUnavailable

PASSES = 8
"""Passes of the loop without an answer that make a time limit: a busy loop is no failed disk."""
FRESH_S = 0.25  # a question so soon after an answer gets that one: any client may ask often


class _Question:
    """One question, and the answer when it is there.

    Attributes:
        put_at: when, by Trio's clock.
        answered_at: when the answer came.
        answered: set with the answer.
        error: what is wrong, None if nothing is.
        overdue: whether a caller has waited for it in vain.
    """

    __slots__ = ("answered", "answered_at", "error", "overdue", "put_at")

    def __init__(self) -> None:
        self.put_at = self.answered_at = trio.current_time()
        self.answered = trio.Event()
        self.error: StoreError | None = None
        self.overdue = False

    def tells(self, limit_s: float) -> bool:
        """Whether its answer tells what a new question would.

        Args:
            limit_s: seconds that an answer may take.
        """
        fresh = trio.current_time() <= self.answered_at + FRESH_S
        return fresh and not self.overdue and self.answered_at - self.put_at <= limit_s


class Prober:
    """Asks an engine when a caller wants to know.

    Args:
        ask: reads from the engine; its `StoreError` is the answer.
    """

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        self._ask = ask
        self._question: _Question | None = None  # the last one
        self._wanted = trio.Event()
        self._closed = False

    async def answer(self, limit_s: float) -> None:
        """Wait until the engine has answered a question that was put lately.

        Args:
            limit_s: seconds that it may take from when any caller put the question: a disk that
                does not answer keeps only the first caller waiting.

        Raises:
            StoreUnavailable: it does not answer in time, or cannot be read.
            StoreClosed: the store is closed.
        """
        if self._closed:
            raise StoreClosed("the store is closed")
        question = self._question
        if question is None or (question.answered.is_set() and not question.tells(limit_s)):
            question = self._question = _Question()
            self._wanted.set()
        left = question.put_at + limit_s - trio.current_time()
        for _ in range(0 if question.overdue else PASSES):
            with trio.move_on_after(max(left, 0.0) / PASSES):
                await question.answered.wait()
                break
        if not question.answered.is_set():
            question.overdue = True
            raise StoreUnavailable(f"no answer within {limit_s:g} s")
        if question.error is not None:
            raise StoreUnavailable(str(question.error)) from question.error

    async def run(self) -> NoReturn:
        """Put questions until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = trio.Event()
                question = self._question
                if question is None:
                    raise AssertionError("a caller wants to know")
                try:
                    await self._ask()
                except StoreError as error:
                    question.error = error
                question.answered_at = trio.current_time()
                question.answered.set()
        finally:
            self._closed = True
            if self._question is not None and not self._question.answered.is_set():
                self._question.error = StoreClosed("the store is closed")
                self._question.answered.set()
