"""Copy the objects in etcd to a data directory.

All objects are of one revision of etcd, so servers may go on writing there; what they write then is
not in the copy.  An object keeps its revision as its resourceVersion.  Of several of one revision,
as one transaction can make, one keeps it.  Revisions of the copy go on above that of etcd,
and its history begins there: a client that watched etcd's servers is told 410, and lists anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kubetrio.datadir.migration import (
    BATCH,
    MARKER,
    EtcdPlace,
    Migrated,
    MigrationError,
    Tell,
    folder_of,
    is_copied,
    open_cipher,
)
from kubetrio.encryption.note import NOTE, note_of
from kubetrio.env import Env
from kubetrio.resources.objects import restamp
from kubetrio.store.cipher import ENCRYPTED, Cipher, StoredValue
from kubetrio.store.etcd import errors as etcd
from kubetrio.store.etcd.client import Client, open_client
from kubetrio.store.etcd.mapping import Translation
from kubetrio.store.etcd.requests import Get
from kubetrio.store.etcd.requests import KeyValue as EtcdKeyValue
from kubetrio.store.etcd.unreadable import UnreadableState
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import KeyValue, Revision
from kubetrio.store.remote import forget
from kubetrio.store.sqlite.inspection import FILE_NAME
from kubetrio.store.sqlite.loading import Loaded, Loader, discard, loading

KEYS_AT_ONCE = 1000


class _Source(NamedTuple):
    """What is copied.

    Args:
        states: objects, in the order in which they are written.
        revision: of etcd.
    """

    states: Sequence[KeyValue]
    revision: Revision


async def copy_from_etcd(
    directory: Path, place: EtcdPlace, encryption: Path | None, env: Env, tell: Tell
) -> Migrated:
    """Copy the objects in etcd to a data directory, or go on with an interrupted copy.

    Args:
        directory: data directory without a database, which no server uses.
        place: where objects are.
        encryption: the file of ``--encryption-provider-config``, which decrypts what is read and
            encrypts what is written; None for neither.
        env: clocks, randomness and threads.
        tell: of objects that are read, and then of those that are written.

    Raises:
        MigrationError: it cannot be done.
        StoreError: the data directory is in use, or cannot be written.
        OSError: the same.
    """
    lock = _locked(directory)
    try:
        if (directory / FILE_NAME).exists():
            raise MigrationError(
                f"{directory} has objects: name another --data-dir, or move {FILE_NAME} away"
            )
        async with open_cipher(encryption, env) as cipher:
            translation = Translation(place.mapping(cipher))
            try:
                async with open_client(place.client, env, dial=place.dial) as client:
                    source = await _read(client, translation, tell)
            except etcd.EtcdError as error:
                raise MigrationError(f"etcd: {error}") from error
            copy = partial(_copied, directory, source, place, cipher, env, tell)
            with _going_on(directory, source, env) as loader:
                return await copy(loader)
    finally:
        lock.release()


def _locked(directory: Path) -> DirectoryLock:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DirectoryLock(directory)


async def _read(client: Client, translation: Translation, tell: Tell) -> _Source:
    """Read all objects at one revision.

    Raises:
        MigrationError: one cannot be read.
        EtcdError: etcd fails.
    """
    begin, end = translation.keys.everything
    total = (await client.range(Get(key=begin, end=end, count_only=True))).total
    states: list[KeyValue] = []
    revision, done = 0, 0
    while True:
        get = Get(key=begin, end=end, limit=KEYS_AT_ONCE, revision=revision)
        page = await client.range(get)
        revision = revision or page.revision
        kvs = [kv for kv in page.kvs if _is_copied(translation, kv)]
        for kv, state in zip(kvs, await translation.states(kvs), strict=True):
            if isinstance(state, KeyValue):
                states.append(state)
                continue
            why = "it is no key of an object"
            if isinstance(state, UnreadableState):
                why = str(state.error)
                if not state.is_final:
                    why += ": give the servers' --encryption-provider-config"
            raise MigrationError(f"{kv.key.decode(errors='replace')} cannot be read: {why}")
        done += len(page.kvs)
        tell(done, total)
        if not page.more or not page.kvs:
            break
        begin = page.kvs[-1].key + b"\0"
    states.sort(key=lambda state: (state.revision, state.key))
    return _Source(states, revision)


def _is_copied(translation: Translation, kv: EtcdKeyValue) -> bool:
    """Whether a key of etcd is one of an object that is copied.

    Raises:
        MigrationError: it says that a copy into etcd is not complete.
    """
    key = translation.key_of(kv)
    if key == MARKER:
        raise MigrationError(
            "etcd has an interrupted copy of a data directory: end that first, with kubetrio "
            "migrate to-etcd"
        )
    return key is not None and is_copied(key)


def _numbered(source: _Source) -> Iterator[tuple[Revision, KeyValue]]:
    """Give each state its revision, and those that have it from others' further ones at the end."""
    others: list[KeyValue] = []
    newest: Revision = 0
    for state in source.states:
        if state.revision == newest:
            others.append(state)
        else:
            newest = state.revision
            yield newest, state
    yield from enumerate(others, source.revision + 1)


@contextmanager
def _going_on(directory: Path, source: _Source, env: Env) -> Iterator[Loader]:
    """Go on with an interrupted copy of the same objects, or begin one."""
    now_ms = int(env.now() * 1000)
    with loading(directory, now_ms) as loader:
        plan = {state.key: revision for revision, state in _numbered(source)}
        known = all(plan.get(key) == revision for key, revision in loader.written().items())
        if known:
            yield loader
    if not known:
        discard(directory)
        with loading(directory, now_ms) as loader:
            yield loader


async def _copied(
    directory: Path,
    source: _Source,
    place: EtcdPlace,
    cipher: Cipher,
    env: Env,
    tell: Tell,
    loader: Loader,
) -> Migrated:
    """Write what is not written yet."""
    numbered = list(_numbered(source))
    before = len(loader.written())
    encrypted = {folder_of(state.key) for _, state in numbered if cipher.covers(state.key)}
    for begin in range(before, len(numbered), BATCH):
        rows = [
            await _loaded(revision, state, place, cipher)
            for revision, state in numbered[begin : begin + BATCH]
        ]
        await env.run_blocking(loader.write, rows, int(env.now() * 1000))
        tell(begin + len(rows), len(numbered))
    notes = {NOTE: note_of(encrypted)} if encrypted else {}
    finish = partial(loader.finish, source.revision, int(env.now() * 1000), notes)
    newest = await env.run_blocking(finish)
    forget(directory)
    renumbered = sum(revision != state.revision for revision, state in numbered)
    return Migrated(len(numbered), before, renumbered, newest)


async def _loaded(revision: Revision, state: KeyValue, place: EtcdPlace, cipher: Cipher) -> Loaded:
    """Return what is written of an object."""
    stamped = restamp(state.value)
    complete = stamped.at(revision)
    value = await cipher.encrypt(StoredValue(state.key, state.key.encode(), complete))
    hole = -1 if value.startswith(ENCRYPTED) else stamped.hole
    return Loaded(state.key, revision, value, hole, int(place.ttl_s(state.key) * 1000))
