"""Exceptions that leave a block as they were raised in it.

Nurseries put what passes them into groups.  A user of our context managers has not opened
those nurseries and need not know of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def ungrouped(
    make: Callable[P, AbstractAsyncContextManager[T]],
) -> Callable[P, AbstractAsyncContextManager[T]]:
    """Let a single exception leave a context manager without the groups around it.

    Args:
        make: makes the context manager, whose nurseries surround the block.
    """

    @wraps(make)
    @asynccontextmanager
    async def opened(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        raised: BaseException | None = None
        try:
            async with make(*args, **kwargs) as value:
                try:
                    yield value
                except BaseException as error:
                    raised = error
                    raise
        except BaseExceptionGroup as group:
            only = single(group, raised)
            if only is group:
                raise
        else:
            return
        raise only

    return opened


def single(error: BaseException, sought: BaseException | None = None) -> BaseException:
    """What is in groups of one, or the group that has more.

    Args:
        error: a group, or not.
        sought: where to stop, because it was raised like that.
    """
    while isinstance(error, BaseExceptionGroup):
        # Nurseries make groups that pass them anew.
        if isinstance(sought, BaseExceptionGroup) and repr(error) == repr(sought):
            return sought
        if len(error.exceptions) > 1:
            break
        error = error.exceptions[0]
    return error


def call_all(functions: Iterable[Callable[P, object]], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call functions with the same arguments, all of them, whatever one raises.

    Raises:
        ExceptionGroup: what they raised.
    """
    failures: list[Exception] = []
    for function in functions:
        try:
            function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  (raised behind the last call)
            failures.append(error)
    if failures:
        raise ExceptionGroup("subscribers failed", failures)


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """What is in a group and the groups in it.

    Args:
        group: that was caught.
    """
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error
