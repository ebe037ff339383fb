"""Exceptions that leave a block as they were raised in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from kubetrio.runtime.groups import single, ungrouped


async def fail(error: Exception) -> None:
    """A task in the background that goes wrong."""
    raise error


@ungrouped
@asynccontextmanager
async def nested(behind: Exception | None = None) -> AsyncIterator[str]:
    """A block in two nurseries; `behind` is what goes wrong in one when the block has."""
    async with trio.open_nursery() as outer, trio.open_nursery():
        try:
            yield "value"
        finally:
            if behind is not None:
                outer.start_soon(fail, behind)
            outer.cancel_scope.cancel()


@pytest.mark.parametrize(
    "error", [ValueError("mine"), KeyboardInterrupt(), ExceptionGroup("mine", [ValueError("a")])]
)
async def test_what_the_block_raises_leaves_as_itself(error: BaseException) -> None:
    """Groups too, if that is what was raised."""
    with pytest.raises(type(error)) as caught:
        async with nested():
            raise error
    assert caught.value is error


async def test_a_block_that_ends_well_just_ends() -> None:
    """With the value of the context manager inside."""
    async with nested() as value:
        assert value == "value"


async def test_several_exceptions_stay_together() -> None:
    """None of them is lost."""
    with pytest.raises(ExceptionGroup) as caught:
        async with nested(TypeError("b")):
            raise ValueError("a")
    assert caught.group_contains(ValueError)
    assert caught.group_contains(TypeError)


async def test_cancellation_passes() -> None:
    """As through any block."""
    with trio.CancelScope() as scope:
        async with nested():
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


def test_single_looks_through_groups_of_one() -> None:
    """And stops where there is more than one, or at what was sought."""
    error = ValueError("a")
    assert single(ExceptionGroup("o", [ExceptionGroup("i", [error])])) is error
    two = ExceptionGroup("two", [error, error])
    assert single(ExceptionGroup("o", [two])) is two
    mine = ExceptionGroup("mine", [error])
    assert single(ExceptionGroup("o", [ExceptionGroup("mine", [error])]), mine) is mine
