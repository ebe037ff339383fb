"""Threads of these tests end with them."""

from __future__ import annotations

import threading  # noqa: TID251  (only to see that they end)
from collections.abc import Iterator

import pytest
from trio._core import _thread_cache

ENDS_S = 30.0


@pytest.fixture(scope="module", autouse=True)
def without_threads() -> Iterator[None]:
    """A process is started by a thread of Trio's, which waits for ten seconds for other work.

    Tests that copy this process cannot run meanwhile.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_thread_cache, "IDLE_TIMEOUT", 0.01)
        yield
        for thread in threading.enumerate():
            if thread.name.startswith("Trio thread"):
                thread.join(ENDS_S)
