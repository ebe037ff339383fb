"""A private directory for the keys of a server in memory that was given none.

Source: XDG Base Directory Specification for ``$XDG_RUNTIME_DIR``; shm_overview(7).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kubetrio.config import Config
from kubetrio.config.root import NOWHERE

PREFIX = "kubetrio-"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (a directory of its own is made in it)


@contextmanager
def placed(config: Config) -> Iterator[Config]:
    """A configuration with a data directory, which goes with the block if it was made for it.

    Blocking, for the time of some small files.

    Args:
        config: with a data directory, or without.

    Raises:
        OSError: none can be made.
    """
    if config.data_dir != NOWHERE:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=_in_memory()) as directory:
        yield replace(config, data_dir=Path(directory))


def _in_memory() -> Path | None:
    """A directory that is in memory, None for the system's for temporary files."""
    candidates = [Path(os.environ.get("XDG_RUNTIME_DIR", "")), SHARED_MEMORY]
    for place in candidates:
        if place.is_absolute() and place.is_dir() and os.access(place, os.W_OK | os.X_OK):
            return place
    return None
