"""What a database says of the programs that wrote it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from kubetrio import __version__
from kubetrio.store.sqlite import versions
from kubetrio.store.sqlite.database import FILE_NAME, connect
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.writer import Writer


def notes(path: Path) -> dict[str, int]:
    """The releases that are noted, and how they are ordered."""
    with closing(apsw.Connection(str(path))) as db:
        rows = db.execute("SELECT substr(name, 9), value FROM meta WHERE name LIKE 'release:%'")
        return dict(rows.fetchall())  # type: ignore[arg-type]


def opened(path: Path, now_ms: int) -> str:
    """Which release opened a database last, once this one has."""
    open_writer(path, Writer, now_ms=now_ms).close()
    with closing(connect(path)) as connection:
        return versions.release_of(connection)


def test_the_release_that_opens_a_database_is_noted_once(tmp_path: Path) -> None:
    """With the time of its first opening: later ones write nothing."""
    path = tmp_path / FILE_NAME
    assert opened(path, 1000) == opened(path, 2000) == __version__
    assert notes(path) == {__version__: 1000}


def test_the_last_release_is_told_after_a_downgrade_and_an_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of openings, also where the wall clock goes back."""
    path = tmp_path / FILE_NAME
    for release, now_ms in (("0.1.0", 5000), ("0.2.0", 6000), ("0.1.0", 4000), ("0.2.0", 4000)):
        monkeypatch.setattr(versions, "__version__", release)
        assert opened(path, now_ms) == release
    assert notes(path) == {"0.1.0": 6001, "0.2.0": 6002}


def test_a_database_without_a_note_has_no_release(tmp_path: Path) -> None:
    """As those of before have none."""
    path = tmp_path / FILE_NAME
    opened(path, 1000)
    with closing(connect(path)) as connection:
        connection.execute("DELETE FROM meta WHERE name LIKE 'release:%'")
        assert versions.release_of(connection) == ""
        assert versions.schema_of(connection) == versions.SCHEMA_VERSION
