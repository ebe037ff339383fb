"""Data directories that releases have left, and servers of today on them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kubetrio.datadir.verify import Fault, Seen, existing, settled, verify
from kubetrio.env import seeded
from kubetrio.flags.given import configured
from kubetrio.server import Server, open_server
from release import fixture

RELEASES = sorted(path.name.removesuffix(".tar.xz") for path in fixture.FIXTURES.glob("*.tar.xz"))
Object = dict[str, Any]


def unpacked(release: str, form: str, folder: Path) -> Path:
    """Take one form of a release's directories apart; return where it is."""
    with tarfile.open(fixture.FIXTURES / f"{release}.tar.xz") as archive:
        members = [member for member in archive if member.name.split("/")[0] == form]
        archive.extractall(folder, members, filter="data")
    for path in (folder / form / fixture.DATA, folder / form / fixture.DATA / "pki"):
        path.chmod(0o700)
    return folder / form


def told(place: Path) -> Object:
    """What the release answered."""
    answers: Object = json.loads((place / fixture.ANSWERS).read_text())
    return answers


@asynccontextmanager
async def opened(place: Path, further: Sequence[str] = ()) -> AsyncIterator[Server]:
    """A server of today on a directory, a second after the release stopped."""
    flags = fixture.flags(place / fixture.DATA, place / fixture.KEYS_FILE, further)
    env = seeded(1, start=told(place)["end"] + 1)
    async with open_server(configured(flags, ()), env) as server:
        await server.settled()
        yield server


def verified(place: Path) -> tuple[list[Fault], Seen]:
    """What is wrong with a directory, and what it says of itself."""
    seen = Seen()
    with settled(existing(place / fixture.DATA)) as database:
        faults = list(verify(database, seen, lambda _done, _of: None, lambda: None))
    return faults, seen
