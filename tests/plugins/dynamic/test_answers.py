"""Questions of expressions to authorizers: which are waited for, and how often."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kubetrio.auth.authorize import ALLOWED, NO_OPINION
from kubetrio.machinery.identity import Attributes, UserInfo, Verdict
from kubetrio.plugins.dynamic.answers import MOST_WAITED, Answers
from kubetrio.runtime.effort import STRIDE, Effort

ALICE = UserInfo("alice")


async def test_questions_that_wait_are_bounded() -> None:
    """An expression that asks about ever new names is an error in the end."""
    asked: list[str] = []

    async def later(attributes: Attributes) -> Verdict:
        asked.append(attributes.name)
        await trio.lowlevel.checkpoint()
        return ALLOWED

    answers = Answers(later)
    count = 0

    def evaluate() -> int:
        nonlocal count
        count += 1
        for number in range(MOST_WAITED + 5):
            question = {"verb": "open", "resource": "doors", "name": f"d{number}"}
            answers.ask(ALICE, question)
        return count

    with pytest.raises(ValueError, match="running out of cost budget"):
        await answers.decided(evaluate)
    assert len(asked) == MOST_WAITED


async def test_an_answer_does_not_change_within_a_request() -> None:
    """Whatever the authorizer says the next time."""
    said = iter([ALLOWED, NO_OPINION])
    answers = Answers(lambda _: next(said))
    question = {"verb": "get", "resource": "pods"}
    assert answers.ask(ALICE, question).allowed
    assert answers.ask(ALICE, question).allowed


async def test_errors_of_an_evaluation_that_waits_for_nothing_go_through() -> None:
    """They are not taken for a question."""
    with pytest.raises(ZeroDivisionError):
        await Answers(lambda _: ALLOWED).decided(lambda: 1 // 0)


async def test_a_cancelled_wait_leaves_no_coroutine_behind() -> None:
    """Questions that were put with it are closed."""

    async def never(_: Attributes) -> Verdict:
        await trio.sleep_forever()
        raise AssertionError

    answers = Answers(never)

    def evaluate() -> bool:
        failed = 0
        for name in ("a", "b", "c"):
            try:
                answers.ask(ALICE, {"verb": "get", "resource": "pods", "name": name})
            except ValueError:
                failed += 1
        if failed:
            raise ValueError("not yet")
        return True

    with trio.move_on_after(0):
        await answers.decided(evaluate)


async def test_what_takes_long_is_done_in_a_thread() -> None:
    """From its beginning, and what comes behind it for the request too; questions stay here."""
    places: list[str] = []
    here = True

    async def thread(fn: Any, *args: Any) -> Any:
        nonlocal here
        here = False
        try:
            return fn(*args)
        finally:
            here = True

    def authorize(_: Attributes) -> Verdict:
        assert here
        return ALLOWED

    answers = Answers(authorize, thread)

    def evaluate(steps: int) -> bool:
        places.append("loop" if here else "thread")
        effort = Effort()
        for _ in range(steps):
            effort.spend(1)
        return answers.ask(ALICE, {"verb": "get", "resource": "pods"}).allowed

    assert await answers.decided(lambda: evaluate(10))
    assert await answers.decided(lambda: evaluate(2 * STRIDE))
    answers = Answers(authorize, thread)
    assert await answers.decided(lambda: evaluate(2 * STRIDE))
    assert await answers.decided(lambda: evaluate(10))
    assert places == ["loop", "loop", "thread", "loop", "thread", "thread", "thread"]
