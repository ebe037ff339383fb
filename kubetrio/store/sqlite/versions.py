"""What a database says of the programs that wrote it: its schema version, and the releases.

The schema version is the number of the newest migration.  It rises with each change of what is in
a data directory that an earlier release would misread: tables, the journal, the notes beside the
database, the form of keys and values.  A program opens each version up to its own, and refuses
newer ones before it changes anything (docs/reference/versions.md).

Releases are rows ``release:VERSION`` of the table ``meta``; the one with the highest value opened
the database last.
"""

from __future__ import annotations

import apsw

from kubetrio import __version__
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.statements import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "note_release", "release_of", "schema_of"]


def schema_of(connection: apsw.Connection) -> int:
    """Return the schema version of a database.

    Raises:
        DatabaseUnusable: it is newer than this program.
    """
    version: int = connection.execute(sql.SCHEMA_VERSION_FOUND).get
    if version > SCHEMA_VERSION:
        release = release_of(connection)
        named = release not in ("", __version__)
        writer = f"kubetrio {release}" if named else "a newer kubetrio"
        raise DatabaseUnusable(
            f"{connection.filename} has schema version {version}, which {writer} wrote, and "
            f"kubetrio {__version__} knows versions up to {SCHEMA_VERSION}: start "
            f"{f'{writer} or later' if named else 'that'}, or restore a backup that was made "
            "before the upgrade"
        )
    return version


def release_of(connection: apsw.Connection) -> str:
    """Return the release that opened a database for writing last; empty where none is noted.

    A note whose bytes are damaged is shown as it is: no server depends on it.
    """
    release: bytes | None = connection.execute(sql.NEWEST_RELEASE).get
    return (release or b"").decode(errors="backslashreplace")


def note_release(connection: apsw.Connection, now_ms: int) -> None:
    """Note that this release opens a database for writing, unless that is noted already.

    Args:
        connection: to it.
        now_ms: wall clock; the note is the newest whatever it says.
    """
    if release_of(connection) != __version__:
        connection.execute(sql.NOTE_RELEASE, (__version__, now_ms))
