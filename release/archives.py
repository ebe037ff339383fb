"""Archives whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass

LEVEL = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One member of an archive.

    Attributes:
        path: without a slash at its beginning.
        content: bytes of a file; None is a directory.
        mode: permission bits.
        owner: numeric user and group.
        link: where a symbolic link leads; empty for files and directories.
    """

    path: str
    content: bytes | None = None
    mode: int = 0o755
    owner: int = 0
    link: str = ""


def with_parents(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries sorted by path, with the directories above each, of root and open to all."""
    by_path = {entry.path: entry for entry in entries}
    for path in [*by_path]:
        above = path.rpartition("/")[0]
        while above and above not in by_path:
            by_path[above] = Entry(path=above)
            above = above.rpartition("/")[0]
    return [by_path[path] for path in sorted(by_path)]


def tar(entries: Iterable[Entry], epoch: int) -> bytes:
    """Return a tar archive of entries in their order, each dated `epoch` (seconds since 1970)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode, info.mtime = entry.mode, epoch
            info.uid = info.gid = entry.owner
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            elif entry.content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content or b""))
    return out.getvalue()


def gzipped(data: bytes) -> bytes:
    """Return data compressed, with neither a name nor a time."""
    return gzip.compress(data, LEVEL, mtime=0)
