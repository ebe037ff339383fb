"""The directories of a release: the same objects each time that they are made."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

from kubetrio.store.sqlite import journal
from release import fixture

ROWS = "SELECT rev, key, type, prev_rev, at, value FROM revision ORDER BY rev"


def log(place: Path) -> list[tuple[object, ...]]:
    """What was written, with revisions, times and values."""
    with closing(sqlite3.connect(place / fixture.DATA / "kubetrio.db")) as connection:
        return connection.execute(ROWS).fetchall()


def test_a_seed_decides_what_is_in_them(tmp_path: Path) -> None:
    """Uids, times, nonces of encryption and answers."""
    for name in ("one", "other"):
        fixture.make(tmp_path / name, "stopped")
    one, other = tmp_path / "one", tmp_path / "other"
    assert log(one) == log(other)
    assert (one / fixture.ANSWERS).read_bytes() == (other / fixture.ANSWERS).read_bytes()
    assert fixture.packed(one).startswith(b"\xfd7zXZ")


def test_each_form_is_what_it_says() -> None:
    """Of the newest release: stopped in order, a log that counts, and a journal that counts."""
    newest = max(fixture.FIXTURES.glob("*.tar.xz"))
    with tarfile.open(newest) as archive:
        files = {member.name: member for member in archive}

        def size(name: str) -> int:
            return files[name].size if name in files else 0

        assert size("stopped/data/kubetrio.stopped")
        assert not size("stopped/data/kubetrio.db-wal")
        assert not size("stopped/data/kubetrio.head")
        assert size("killed/data/kubetrio.db-wal") > 100_000
        assert size("killed/data/kubetrio.head")
        assert size("journal/data/kubetrio.journal") == 1 << 20
        read = archive.extractfile("journal/data/kubetrio.journal")
        assert read is not None
        text = read.read()
    assert text.startswith(journal.MAGIC)
    assert len(text.rstrip(b"\0")) > journal.HEADER_BYTES + 10_000
    assert all("admin" not in name and "apiserver" not in name for name in files)
