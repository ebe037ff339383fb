"""Calls in a process of their own."""

from __future__ import annotations

import os

import pytest

from kubetrio.runtime.apart import in_child
from kubetrio.tls.pki import PkiError


def test_what_a_call_returns_comes_back() -> None:
    """From another process."""
    assert in_child(os.getpid) != os.getpid()


def test_what_it_raises_does_too() -> None:
    """As it was raised."""

    def fail() -> None:
        raise PkiError("a file is damaged")

    with pytest.raises(PkiError, match="a file is damaged"):
        in_child(fail)


def test_a_process_that_is_killed_is_told() -> None:
    """Rather than taken for an answer."""
    with pytest.raises(OSError, match="ended with status 9"):
        in_child(lambda: os.kill(os.getpid(), 9))


def test_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is made in place."""
    monkeypatch.delattr(os, "fork")
    assert in_child(os.getpid) == os.getpid()
