"""The command `stop`."""

from __future__ import annotations

from kubetrio.cli.stop import Told, tell


def test_nobody_else_is_told_to_end() -> None:
    """A pid that is not known, is of no process, or does not have the directory any more."""
    import os

    assert tell(0, lambda: 0) is Told.HIDDEN
    assert tell(os.getpid(), lambda: None) is Told.GONE
    assert tell(os.getpid(), lambda: 1) is Told.GONE
    nobody = 2**22 + 1  # above what the kernel gives
    assert tell(nobody, lambda: nobody) is Told.HIDDEN
    assert tell(nobody, lambda: None) is Told.GONE
