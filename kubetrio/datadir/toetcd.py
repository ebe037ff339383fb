"""Copy the objects of a data directory to an empty etcd.

etcd numbers revisions itself, one for each transaction.  Objects are written one after the other in
the order of their revisions, and writes of a key that is no object's fill what is between, so each
gets the resourceVersion that it has.  Where etcd is beyond that already, as an empty one is beyond
the first two, an object is written last.  At the end etcd forgets what is older than the copy: a
client that watched the data directory is told 410, and lists anew.

While the copy is not complete a key says so (`MARKER`), with a digest of what is copied: an
interrupted copy is gone on with, and etcd with other keys is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import trio

from kubetrio.datadir.migration import (
    BATCH,
    MARKER,
    EtcdPlace,
    Migrated,
    MigrationError,
    Tell,
    is_copied,
    open_cipher,
)
from kubetrio.env import Env
from kubetrio.resources.objects import restamp
from kubetrio.store.cipher import Cipher, StoredValue
from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd import errors as etcd
from kubetrio.store.etcd.client import Client, open_client
from kubetrio.store.etcd.leases import LeaseManager
from kubetrio.store.etcd.mapping import Translation
from kubetrio.store.etcd.requests import Delete, Get, Put, at_revision
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Revision
from kubetrio.store.sqlite.copies import settled
from kubetrio.store.sqlite.inspection import Inspection, existing, inspect

FILLED_MOST = 1_000_000
"""Revisions that are filled without being asked: minutes on a usual etcd."""
FILLED_AT_ONCE = 16
COMPACTED_EACH = 10_000
KEYS_AT_ONCE = 5_000
LEASE_REUSE_S = 60.0


async def copy_to_etcd(
    directory: Path,
    place: EtcdPlace,
    encryption: Path | None,
    env: Env,
    tell: Tell,
    *,
    renumber: bool = False,
) -> Migrated:
    """Copy the objects of a data directory that no server uses, or go on with an interrupted copy.

    Args:
        directory: data directory.
        place: where they go; it has no keys but those of an interrupted copy.
        encryption: the file of ``--encryption-provider-config``, which decrypts what is read and
            encrypts what is written; None for neither.
        env: randomness and threads.
        tell: of revisions.
        renumber: whether objects get the revisions that come, and nothing is filled.

    Raises:
        MigrationError: it cannot be done.
        StoreError: the data directory is in use, or cannot be read.
        OSError: the same.
    """
    source = existing(directory)
    lock = DirectoryLock(directory)
    try:
        with settled(source) as database, inspect(database) as seen:
            async with (
                open_cipher(encryption, env) as cipher,
                open_client(place.client, env, dial=place.dial) as client,
            ):
                copy = _Copy(seen, client, place, cipher, tell, renumber=renumber)
                try:
                    return await copy.run()
                except etcd.TooLarge as error:
                    raise MigrationError(
                        f"etcd: {error}: {copy.key} is larger than it takes; start etcd with a "
                        "larger --max-request-bytes, and run this again to go on"
                    ) from error
                except etcd.EtcdError as error:
                    raise MigrationError(f"etcd: {error}; run this again to go on") from error
    finally:
        lock.release()


class _Copy:
    """One copy.

    Args:
        seen: what is copied.
        client: of etcd.
        place: see `copy_to_etcd`.
        cipher: decrypts and encrypts.
        tell: see `copy_to_etcd`.
        renumber: see `copy_to_etcd`.

    Attributes:
        key: what is written now.
    """

    def __init__(
        self,
        seen: Inspection,
        client: Client,
        place: EtcdPlace,
        cipher: Cipher,
        tell: Tell,
        *,
        renumber: bool,
    ) -> None:
        self._seen = seen
        self._client = client
        self._place = place
        self._cipher = cipher
        self._tell = tell
        self._renumber = renumber
        self._translation = Translation(place.mapping(cipher))
        self._marker = self._translation.keys.to_etcd(MARKER)
        self._leases = LeaseManager(client.lease_grant, LEASE_REUSE_S)
        self._plan = [(revision, key) for revision, key in seen.live() if is_copied(key)]
        digest = sha256(json.dumps([seen.revision, self._plan]).encode()).hexdigest()
        self._mark = json.dumps({"from": seen.revision, "digest": digest}).encode()
        self._at: Revision = 0
        self._compacted: Revision = 0
        self._renumbered = 0
        self.key = ""

    async def run(self) -> Migrated:
        """Copy all; see `copy_to_etcd`."""
        there = await self._begin()
        self._renumbered = sum(there.get(key, rev) != rev for rev, key in self._plan)
        plan = [(revision, key) for revision, key in self._plan if key not in there]
        first = [row for row in plan if row[0] > self._at or self._renumber]
        await self._write_all(first)
        await self._fill(self._seen.revision)
        await self._write_all([row for row in plan if row not in set(first)])
        await self._finish()
        return Migrated(len(self._plan), len(there), self._renumbered, self._at)

    async def _write_all(self, plan: Sequence[tuple[Revision, str]]) -> None:
        """Write objects.

        Raises:
            MigrationError: one cannot be decrypted, or another client has written it.
        """
        for begin in range(0, len(plan), BATCH):
            part = plan[begin : begin + BATCH]
            for (revision, key), value in zip(part, await self._read(part), strict=True):
                await self._write(revision, key, value)
                self._tell(min(self._at, self._seen.revision), self._seen.revision)

    async def _begin(self) -> dict[str, Revision]:
        """Mark etcd; return what an interrupted copy has written, with its revisions.

        Raises:
            MigrationError: etcd has other keys.
        """
        there: dict[str, Revision] = {}
        mark, foreign = b"", 0
        begin, end = self._translation.keys.everything
        while True:
            page = await self._client.range(
                Get(key=begin, end=end, limit=KEYS_AT_ONCE, keys_only=True)
            )
            self._at = page.revision
            for kv in page.kvs:
                key = self._translation.key_of(kv)
                if key == MARKER:
                    mark = (await self._client.range(Get(key=self._marker))).kvs[0].value
                elif key is None or not is_copied(key):
                    foreign += 1
                else:
                    there[key] = kv.revision
            if not page.more:
                break
            begin = page.kvs[-1].key + b"\0"
        foreign += len(there.keys() - {key for _, key in self._plan})
        prefix = self._place.prefix
        if not mark and (there or foreign):
            raise MigrationError(
                f"etcd has {len(there) + foreign} keys under {prefix}: name another --etcd-prefix, "
                "or an empty etcd"
            )
        if mark and (mark != self._mark or foreign):
            raise MigrationError(
                f"etcd has an interrupted copy under {prefix}, and the data directory or etcd was "
                "written to since: have no server run on either, remove the copy with etcdctl del "
                f"--prefix {prefix}/, and begin again"
            )
        self._refuse_too_many()
        if not mark:
            unwritten = at_revision(self._marker, 0)
            outcome = await self._client.txn([unwritten], [Put(self._marker, self._mark)])
            if not outcome.succeeded:
                raise MigrationError(f"another copy to {prefix} runs; wait for its end")
            self._at = outcome.revision
        return there

    def _refuse_too_many(self) -> None:
        """Refuse to fill very many revisions.

        Raises:
            MigrationError: there are.
        """
        between = self._seen.revision - self._at
        if between > FILLED_MOST and not self._renumber:
            raise MigrationError(
                f"resourceVersions go up to {self._seen.revision}, and etcd is at {self._at}: it "
                f"would have to be written to {between} times to keep them. With --renumber "
                "objects get new ones; end all clients first, since what they remember means "
                "nothing then"
            )

    async def _read(self, part: Sequence[tuple[Revision, str]]) -> list[bytes]:
        """Return the plain values of keys.

        Raises:
            MigrationError: one cannot be decrypted.
        """
        rows = [
            StoredValue(key, key.encode(), self._seen.value_of(revision)) for revision, key in part
        ]
        values: list[bytes] = []
        for (_, key), plain in zip(part, await self._cipher.decrypt(rows), strict=True):
            if isinstance(plain, Unreadable):
                raise MigrationError(
                    f"{key}: {plain}: give the server's --encryption-provider-config"
                )
            values.append(plain.data)
        return values

    async def _write(self, revision: Revision, key: str, value: bytes) -> None:
        """Write an object, at its revision where that is possible.

        Raises:
            MigrationError: another client has written it.
        """
        self.key = key
        await self._fill(revision - 1)
        name, data = await self._translation.to_etcd(key, restamp(value))
        lease = await self._leases.lease_for(self._place.ttl_s(key))
        outcome = await self._client.txn([at_revision(name, 0)], [Put(name, data, lease)])
        if not outcome.succeeded:
            raise MigrationError(f"{key} was written to etcd by another client meanwhile")
        self._at = outcome.revision
        self._renumbered += self._at != revision

    async def _fill(self, upto: Revision) -> None:
        """Write the marker until etcd is at a revision."""
        if self._renumber:
            return
        left = upto - self._at

        async def write() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                outcome = await self._client.txn([], [Put(self._marker, self._mark)])
                self._at = max(self._at, outcome.revision)
                self._tell(self._at, self._seen.revision)
                if self._at - self._compacted >= COMPACTED_EACH:
                    self._compacted = self._at
                    await self._client.compact(self._at)

        try:
            async with trio.open_nursery() as nursery:
                for _ in range(min(FILLED_AT_ONCE, max(left, 0))):
                    nursery.start_soon(write)
        except* etcd.EtcdError as group:
            raise _first(group) from None

    async def _finish(self) -> None:
        """Take the mark away, and have etcd forget how the copy was made."""
        self._at = (await self._client.txn([], [Delete(self._marker)])).revision
        await self._client.compact(self._at)


def _first(group: BaseExceptionGroup[etcd.EtcdError]) -> etcd.EtcdError:
    """Return one error of a group."""
    error: etcd.EtcdError | BaseExceptionGroup[etcd.EtcdError] = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
