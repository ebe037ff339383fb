"""A copy of what is in a data directory, in another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kubetrio.store.model import Revision
from kubetrio.store.sqlite.copies import copy
from kubetrio.store.sqlite.inspection import FILE_NAME, existing


def has_database(directory: Path) -> bool:
    """Return whether a server has kept objects in a directory."""
    return (directory / FILE_NAME).exists()


def copy_database(directory: Path, target: Path, tell: Callable[[int, int], None]) -> Revision:
    """Copy the database of a data directory, whether a server uses it or not.  Blocking.

    Args:
        directory: data directory.
        target: a directory without one.
        tell: told how many pages are done, and of how many.

    Returns:
        The newest revision in the copy.

    Raises:
        DatabaseUnusable: there is none, or it cannot be read.
        StoreUnavailable: the copy cannot be written.
        OSError: the same.
    """
    return copy(existing(directory), target / FILE_NAME, tell).revision
