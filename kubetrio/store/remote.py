"""A note in a data directory whose server keeps its objects in etcd: where they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FILE_NAME = "kubetrio.etcd"
TABLE_NAME = "kubetrio.etcd.table"
"""A copy of what etcd has, which begins the next start."""


class Remote(NamedTuple):
    """Where objects are.

    Args:
        servers: URLs of etcd.
        prefix: of keys.
    """

    servers: Sequence[str]
    prefix: str

    @property
    def flags(self) -> str:
        """Flags that name it."""
        prefix = "" if self.prefix == "/registry" else f" --etcd-prefix {self.prefix}"
        return f"--etcd-servers {','.join(self.servers)}{prefix}"


def leave(directory: Path, remote: Remote) -> None:
    """Note where the objects of a data directory are.

    Raises:
        OSError: the directory cannot be written.
    """
    text = json.dumps({"servers": list(remote.servers), "prefix": remote.prefix})
    path = directory / FILE_NAME
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def forget(directory: Path) -> None:
    """Remove the note, and the copy of what etcd has: objects are in the data directory.

    Raises:
        OSError: they cannot be removed.
    """
    (directory / FILE_NAME).unlink(missing_ok=True)
    for name in (f".{TABLE_NAME}.new", TABLE_NAME):
        (directory / name).unlink(missing_ok=True)


def left(directory: Path) -> Remote | None:
    """Return where the objects of a data directory are, None where nothing says so."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads((directory / FILE_NAME).read_text())
        return Remote([str(url) for url in noted["servers"]], str(noted["prefix"]))
    return None
