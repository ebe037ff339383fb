"""Calls in a process of their own, so that what they import does not stay in this one.

Making keys and certificates loads ``cryptography``, 12 MB of a server that needs none of it again
until they are renewed.

Source: fork(2); the child calls nothing that another thread could have locked.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TypeVar, cast

import outcome

T = TypeVar("T")


def in_child(call: Callable[[], T]) -> T:
    """Make a call in a forked process, and return or raise what it did there.  Blocking.

    In place where the system has no fork.  To be called while this process has one thread.

    Args:
        call: what it returns and raises can be pickled.

    Raises:
        OSError: no process can be made, or it ended without an answer.
    """
    if not hasattr(os, "fork"):
        return call()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _answer(call, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    _, status = os.waitpid(pid, 0)
    if not said:
        raise OSError(f"a process for certificates ended with status {status}")
    done = cast("outcome.Outcome[T]", pickle.loads(said))  # noqa: S301  (of this program itself)
    return done.unwrap()


def _answer(call: Callable[[], object], writing: int) -> None:
    """Be the child: make the call, write its outcome, and end."""
    code = 1
    try:
        with os.fdopen(writing, "wb") as answer:
            answer.write(pickle.dumps(outcome.capture(call)))
        code = 0
    finally:
        os._exit(code)
