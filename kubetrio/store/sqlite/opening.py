"""Open the SQLite store of a data directory, and close it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw
import trio

from kubetrio.env import Env
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Reopen, unstampable
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite.checksums import Damage
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.head import Head, left_behind, stopped_at
from kubetrio.store.sqlite.journaling import JournalingWriter
from kubetrio.store.sqlite.reader import Reader, SharedReader
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.reserve import Reserve, size_for
from kubetrio.store.sqlite.revisions import READERS, SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import Space
from kubetrio.store.sqlite.sync import open_sync
from kubetrio.store.sqlite.writer import Writer

PROBE_CACHE_KIB = 64
FLUSHED = 4  # times the size of a journal go to the log and to the database when it is flushed


@asynccontextmanager
async def open_store(
    directory: Path, config: StoreConfig, env: Env, reopen: Reopen = unstampable
) -> AsyncIterator[SqliteStore]:
    """Open the store of a data directory for as long as the block lasts.

    Args:
        directory: data directory; made when missing, mode 0700.
        config: tunables.
        env: clocks and threads.
        reopen: opens the hole of complete bytes, so that deletions are stamped.

    Raises:
        DataDirectoryLocked: another server has it.
        DatabaseUnusable: foreign, corrupt or newer file.
        StoreUnavailable: the disk is full or fails.
        OSError: the directory cannot be written.
    """
    with ExitStack() as stack:
        try:
            store = _open(directory, config, env.for_storage(), reopen, stack)
        except OSError as error:
            error.filename = error.filename or directory  # what failed was asked by descriptor
            raise
        clean = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.run)
                yield store
                nursery.cancel_scope.cancel()
            clean = True
        finally:
            store.close(clean=clean)


def _open(
    directory: Path, config: StoreConfig, env: Env, reopen: Reopen, stack: ExitStack
) -> SqliteStore:
    """Open the file; what is to be given back when the store is closed is left on the stack."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    stack.callback(DirectoryLock(directory).release)
    path = directory / database.FILE_NAME
    file = path.resolve()  # SQLite keeps the log beside what a link leads to
    log = file.with_name(file.name + "-wal")
    reserve_bytes = size_for(file.parent, config.reserve_bytes)
    if reserve_bytes:  # on a full disk a journal has to be flushed once
        flushed = min(config.reserve_bytes, FLUSHED * config.journal_bytes)
        reserve_bytes = max(reserve_bytes, flushed)
    config = replace(config, checkpoint_pages=_pages_to_checkpoint(config, reserve_bytes))
    space = Space(Reserve(file.parent, reserve_bytes), file)
    space.opening()
    cache_kib = config.cache_kib // (1 if config.journal_bytes else 3)
    kind = JournalingWriter if config.journal_bytes else Writer
    damage = Damage()
    make = partial(kind, cache_kib=cache_kib, reopen=reopen, damage=damage)
    now_ms, journals = int(env.now() * 1000), config.journal_bytes > 0
    note = None if config.accept_data_loss else left_behind(directory)
    stopped = 0 if config.accept_data_loss else stopped_at(directory)
    while True:
        try:
            writer = open_writer(
                path, make, now_ms=now_ms, noted=note, stopped=stopped, journals=journals
            )
            break
        except DatabaseUnusable as error:
            no_room = isinstance(error.__cause__, apsw.FullError | apsw.IOError)
            if not no_room or not space.more():
                raise
    with ExitStack() as failed:
        # Last of all: closing a file lets go of SQLite's locks on it.
        failed.callback(space.closed)
        failed.callback(writer.abandon)
        synced = config.durability == "full"
        head = Head(directory, synced=synced)
        failed.callback(head.close, clean=False)
        head.note(writer.revision)
        synced_file = log
        if isinstance(writer, JournalingWriter):
            synced_file = writer.begin_journal(config.journal_bytes, log)
        sync = stack.enter_context(open_sync(synced_file, env)) if synced else None
        space.opened()
        try:  # all that it will ever need: later there may be no descriptors
            if config.journal_bytes:
                readers: list[Reader] = [SharedReader(writer.connection, damage)] * (2 + READERS)
            else:
                readers = _readers(path, cache_kib, failed, damage)
            copier = database.connect(path)
            failed.callback(copier.close)
        except apsw.Error as error:
            raise database.unusable(path, "opened", error) from error
        store = SqliteStore(
            directory, config, env, writer, readers, copier, sync, space, head, damage
        )
        failed.pop_all()
    return store


def _readers(path: Path, cache_kib: int, failed: ExitStack, damage: Damage) -> list[Reader]:
    """Open a connection for the event loop, those for threads, and one for probes."""
    readers: list[Reader] = []
    for place, cache in enumerate((cache_kib, *[cache_kib // 2] * READERS, PROBE_CACHE_KIB)):
        readers.append(Reader(path, cache_kib=cache, maps=place == 0, damage=damage))
        failed.callback(readers[-1].close)
    return readers


def _pages_to_checkpoint(config: StoreConfig, reserve_bytes: int) -> int:
    """Pages of log that start a checkpoint.

    The log is copied into the file while some of the reserve has room for all of it; of a small one
    the rest is to have room for the deletion of a large object.
    """
    if not reserve_bytes:
        return config.checkpoint_pages
    part = 2 if reserve_bytes >= config.reserve_bytes else 8
    return min(config.checkpoint_pages, reserve_bytes // part // database.PAGE_BYTES)
