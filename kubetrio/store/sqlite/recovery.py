"""Open the database behind whatever came before: an orderly stop, a crash, power loss.

Everything here is synchronous; see `store.sqlite.database`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from kubetrio.observe.logs import Log
from kubetrio.store.model import Revision
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite import sync
from kubetrio.store.sqlite.database import (
    closed_on_failure,
    connect,
    create,
    damaged,
    migrate,
    read_header,
    see_floor,
    unusable,
)
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.head import Noted
from kubetrio.store.sqlite.journal import beside, read
from kubetrio.store.sqlite.versions import SCHEMA_VERSION, note_release
from kubetrio.store.sqlite.writer import Writer

W = TypeVar("W", bound=Writer)

LOG = Log("kubetrio.store")


def open_writer(
    path: Path,
    make: Callable[[Path], W],
    *,
    now_ms: int,
    noted: Noted | None = None,
    stopped: Revision = 0,
    journals: bool = False,
) -> W:
    """Open or create the database, checking it whole after an unclean stop.

    What a journal has that the database lacks is written, and the journal goes, unless there is one
    again: its room is not for others to take.

    Args:
        path: database file.
        make: opens the connection.
        now_ms: wall clock.
        noted: what the run before left when it did not end in order; None also to take the file
            as it is.
        stopped: revision at which a run before ended in order, 0 if none did or what it left does
            not count.
        journals: whether a journal is begun then.

    Raises:
        DatabaseUnusable: foreign, corrupt, newer, or without what was answered; the file stays.
        OSError: the directory cannot be written.
    """
    log = path.with_name(path.name + "-wal")
    if not path.exists() or path.stat().st_size == 0:
        _create(path, log, now_ms, noted, stopped, journals=journals)
    read_header(path)
    logged = log.exists()
    try:
        connection = connect(path)
        with closed_on_failure(connection):
            unclean = connection.execute(sql.GET_META, ("clean",)).get != 1
            if unclean or noted is not None:
                _check(path, connection)
            _upgrade(connection, now_ms)
        connection.close()
        writer = make(path)
        with writer.given_up_on_failure():
            _catch_up(path, writer, noted, stays=journals)
            if unclean and not logged and noted is None:
                LOG.warning(
                    "The write-ahead log of an unclean stop is not there: if it held writes, they "
                    "are lost",
                    file=str(log),
                )
            with contextlib.suppress(apsw.FullError):  # then with the first write
                writer.mark(clean=False)
                note_release(writer.connection, now_ms)
                writer.note_wall_clock(now_ms - (writer.newest_ms or now_ms))
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError) as error:
        raise damaged(path, error) from error
    except apsw.Error as error:
        raise unusable(path, "opened", error) from error
    return writer


def _upgrade(connection: apsw.Connection, now_ms: int) -> None:
    """Bring the schema to the version of this release.

    Raises:
        DatabaseUnusable: the file is of a newer one.
    """
    former = migrate(connection, now_ms)
    if former < SCHEMA_VERSION:
        LOG.info(
            "The data directory has a newer schema now, which earlier releases do not open",
            was=former,
            version=SCHEMA_VERSION,
        )


def _check(path: Path, connection: apsw.Connection) -> None:
    """Check all pages.

    Raises:
        DatabaseUnusable: some are damaged.
    """
    faults = connection.execute("PRAGMA quick_check(5)").get
    if faults != "ok":
        raise damaged(path, faults if isinstance(faults, str) else "; ".join(faults))


def _create(
    path: Path,
    log: Path,
    now_ms: int,
    noted: Noted | None,
    stopped: Revision,
    *,
    journals: bool,
) -> None:
    """Create the database, unless there was one here.

    Raises:
        DatabaseUnusable: there was one, by its log, by what it left, or by an orderly stop.
    """
    if log.exists() and log.stat().st_size:
        # SQLite would replay it over the new file; and it may be the rest of a moved database.
        raise DatabaseUnusable(
            f"{log} is the log of a database that is not there: move it away with its database"
        )
    _refuse_loss(path, 0, noted, journals=journals)
    if stopped:
        raise DatabaseUnusable(
            f"{path} {'is empty' if path.exists() else 'is not there'}, and a server stopped "
            f"here in order at revision {stopped}: bring that file or a backup back, or begin "
            "a new cluster with --accept-data-loss"
        )
    path.unlink(missing_ok=True)
    try:
        create(path, now_ms)
    except apsw.Error as error:
        raise unusable(path, "made", error) from error


def _catch_up(path: Path, writer: Writer, noted: Noted | None, *, stays: bool) -> None:
    """Write what the journal has, unless the database would lack what was answered all the same."""
    see_floor(path, writer.compacted, writer.revision)
    place = beside(path)
    journaled = read(place)
    if journaled is None or not journaled.records:
        _refuse_loss(path, writer.revision, noted, journals=stays)
    else:
        with writer.replaying(journaled):
            _refuse_loss(path, writer.revision, noted, journals=stays)
        with path.with_name(path.name + "-wal").open("rb") as log:
            sync.fdatasync(log.fileno())
        LOG.info("The journal is in the database", revision=writer.revision)
    if journaled is not None and not stays:
        with contextlib.suppress(OSError):  # where it stays it changes nothing
            place.unlink()


def _refuse_loss(path: Path, revision: Revision, noted: Noted | None, *, journals: bool) -> None:
    """Refuse a file that lacks what was answered."""
    if noted is None or not noted.holds or noted.revision <= revision:
        return
    there = path.exists() and path.stat().st_size > 0
    state = f"ends at revision {revision}" if there else "is empty" if path.exists() else "is gone"
    gone = f"{beside(path)}" if journals else f"{path}-wal"
    files = f"{gone}. Bring that file" if there else f"it and {gone}. Bring both files"
    raise DatabaseUnusable(
        f"{path} {state}, and revision {noted.revision} was answered before "
        f"the server was killed: {noted.revision - revision} revisions are lost, with {files} "
        "or a backup back, or go on without them with --accept-data-loss"
    )
