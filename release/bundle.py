"""Read a single file: what it unpacks, without running it.

The form of the file is described in ``singlefile/launcher.c``.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = "kubetrio1"
TRAILER = len(MAGIC) + 1 + 32 + 3 * 21 + 1
INVENTORY = "_internal/inventory.json"
LICENCES = "_internal/licences.txt"


class NoSingleFile(Exception):
    """The file does not end as single files do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of a bundle.

    Attributes:
        path: below the folder of the server, with slashes.
        content: its bytes; of a link, what it leads to.
        executable: whether it may be run.
        link: whether it is a link.
    """

    path: str
    content: bytes
    executable: bool
    link: bool

    @property
    def mode(self) -> int:
        """Permission bits for a system; libraries are loaded and not run."""
        return 0o755 if self.executable and ".so" not in self.path else 0o644


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a single file holds, in the order of its index."""

    members: tuple[Member, ...]

    def text(self, path: str) -> str:
        """Return a text file of the bundle.

        Raises:
            NoSingleFile: it has no such file.
        """
        for member in self.members:
            if member.path == path:
                return member.content.decode()
        raise NoSingleFile(f"the single file has no {path}: build it again from this checkout")

    def inventory(self) -> list[dict[str, Any]]:
        """Return the packages in it, as ``singlefile/inventory.py`` wrote them."""
        listed: list[dict[str, Any]] = json.loads(self.text(INVENTORY))
        return listed


def read(path: Path) -> Bundle:
    """Return what a single file holds.

    Raises:
        NoSingleFile: it is another file.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    words = data[-TRAILER:].decode("latin-1").split()
    if len(words) != 5 or words[0] != MAGIC:
        raise NoSingleFile(f"{path} is no single file of kubetrio")
    begin, packed, listed = (int(word) for word in words[2:])
    index = data[begin + packed : begin + packed + listed].decode()
    content = zlib.decompress(data[begin : begin + packed])
    return Bundle(tuple(_members(index, content)))


def _members(index: str, content: bytes) -> Iterator[Member]:
    at = 0
    for line in index.splitlines():
        kind, mode, size, path = line.split(" ", 3)
        end = at + int(size)
        yield Member(
            path=path,
            content=content[at:end],
            executable=bool(int(mode, 8) & 0o100),
            link=kind == "l",
        )
        at = end


def lay(bundle: Bundle, folder: Path, epoch: int) -> None:
    """Write the files of a bundle into a folder: readable by all, dated `epoch`.

    Raises:
        OSError: they cannot be written.
    """
    for member in bundle.members:
        path = folder / member.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.link:
            path.symlink_to(os.fsdecode(member.content))
        else:
            path.write_bytes(member.content)
            path.chmod(member.mode)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
