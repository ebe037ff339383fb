"""Marks: the change by which a replica knows etcd's history again.

A mark has a digest of the value in place of the value, so that a mark that is kept on disk shows
nothing of what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Self

from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.errors import Compacted
from kubetrio.store.etcd.requests import Event, Get, KeyValue


class AnotherHistory(Exception):
    """etcd has not the history that this server has seen; the text says what shows it."""


class UnknownHistory(Exception):
    """etcd has compacted what would show whether its history is the one that was told."""


class Mark(NamedTuple):
    """A change that was told.

    Args:
        kv: the key after it; of a deletion the key before it, None where that is not known.  The
            value is a digest.
        key: the key.
        gone: revision of the deletion, 0 for none.
        after: revision after which a watch goes on, so that it shows whether others came since.
    """

    kv: KeyValue | None
    key: bytes
    gone: int
    after: int

    @classmethod
    def of_change(cls, change: Event) -> Self:
        """Mark the newest change that was told."""
        revision = change.kv.revision
        if change.deleted:
            previous = change.previous
            kv = None if previous is None else _digested(previous)
            return cls(kv, change.kv.key, revision, revision)
        return cls(_digested(change.kv), change.kv.key, 0, revision)

    @classmethod
    def of_state(cls, newest: KeyValue | None, revision: int) -> Self | None:
        """Mark the newest key of what is there at a revision, None where there is none."""
        return None if newest is None else cls(_digested(newest), newest.key, 0, revision)

    def matches(self, kvs: Sequence[KeyValue]) -> bool:
        """Whether an answer to a read of the key is the state that the mark has."""
        return [_digested(kv) for kv in kvs] == ([] if self.kv is None else [self.kv])

    def to_json(self) -> list[Any]:
        """Return the mark as JSON has it."""
        kv = self.kv
        state = None if kv is None else [kv.value.hex(), *kv[2:]]
        return [self.key.hex(), self.gone, self.after, state]

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the mark that JSON has.

        Raises:
            ValueError: it is no mark.
            TypeError: it is none.
        """
        name, gone, after, state = value
        key = bytes.fromhex(name)
        kv = None
        if state is not None:
            digest, revision, created, version, lease = state
            numbers = (int(revision), int(created), int(version), int(lease))
            kv = KeyValue(key, bytes.fromhex(digest), *numbers)
        return cls(kv, key, int(gone), int(after))


def _digested(kv: KeyValue) -> KeyValue:
    return kv._replace(value=sha256(kv.value).digest())


async def compare(client: Client, mark: Mark | None, told: int) -> None:
    """Compare etcd's history with what was told.

    Args:
        client: of etcd.
        mark: the newest change that was told, None where there was none.
        told: revision up to which everything was told.

    Raises:
        AnotherHistory: it is another one.
        UnknownHistory: it cannot be compared.
        EtcdError: etcd fails.
    """
    now = None if mark is None else await client.range(Get(key=mark.key))
    newest = await client.newest() if now is None else now.revision
    if newest < told:
        raise AnotherHistory(f"etcd is at revision {newest}, this server has seen {told}")
    if mark is None or (now is not None and not mark.gone and mark.matches(now.kvs)):
        return
    try:
        there = await _is_there(client, mark)
    except Compacted as error:
        raise UnknownHistory(str(error)) from error
    if not there:
        raise AnotherHistory(
            f"etcd has another state of {mark.key!r} than this server has seen at revision "
            f"{mark.gone or mark.after}"
        )


async def _is_there(client: Client, mark: Mark) -> bool:
    """Whether etcd's history has a change.

    Raises:
        EtcdError: it cannot be read.
    """
    if mark.gone:
        if (await client.range(Get(key=mark.key, revision=mark.gone))).kvs:
            return False
        if mark.kv is None:
            return True
    at = mark.gone - 1 if mark.gone else (mark.kv.revision if mark.kv else 0)
    return mark.matches((await client.range(Get(key=mark.key, revision=at))).kvs)
