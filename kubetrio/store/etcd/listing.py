"""What etcd has at one revision: all of it, or what differs from what a replica has already.

A key that was written last by the revision that the replica knows has the value that the replica
knows, in one history.  An etcd that was restored has another history, in which the same revision
may have written another value.  So the newest of the keys that are taken to be unchanged are read
with their values: two histories that agree in a change agree in all that came before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.requests import Get, KeyValue, Ranged

PAGE_KEYS = 1000
TOGETHER = 64
"""Keys that one transaction reads; etcd takes 128 operations, or what ``--max-txn-ops`` says."""
WITNESSES = 8
"""Unchanged keys that are read all the same."""


class Listing(NamedTuple):
    """What is there.

    Args:
        revision: the revision.
        kvs: keys with their values.
        unchanged: keys without their values, which are those that the replica has.
    """

    revision: int
    kvs: Sequence[KeyValue]
    unchanged: Sequence[KeyValue] = ()

    @property
    def newest(self) -> KeyValue | None:
        """Key that was written last, of those with their values; None where there is none."""
        return max(self.kvs, key=lambda kv: kv.revision, default=None)


class Known(Protocol):
    """What a replica has."""

    def has(self, kv: KeyValue) -> bool:
        """Whether it has a value of the revisions of a key that was read without its value."""
        ...

    async def agrees(self, kvs: Sequence[KeyValue]) -> bool:
        """Return whether it has all these keys, with these values."""
        ...


async def list_all(
    client: Client, keys: tuple[bytes, bytes], *, keys_only: bool = False
) -> Listing:
    """Read a range, page by page.

    Args:
        client: of etcd.
        keys: first key, and the end of the range.
        keys_only: whether values are left out.

    Raises:
        EtcdError: etcd fails.
    """
    key, end = keys
    kvs: list[KeyValue] = []
    revision = 0
    while True:
        page = await client.range(
            Get(key=key, end=end, limit=PAGE_KEYS, revision=revision, keys_only=keys_only)
        )
        revision = revision or page.revision
        kvs += page.kvs
        if not page.more or not page.kvs:
            return Listing(revision, kvs)
        key = page.kvs[-1].key + b"\0"


async def read_keys(client: Client, keys: Sequence[bytes], revision: int) -> list[KeyValue]:
    """Read keys at a revision; those that are not there are left out.

    Raises:
        EtcdError: etcd fails, or has compacted the revision.
    """
    kvs: list[KeyValue] = []
    for begin in range(0, len(keys), TOGETHER):
        gets = [Get(key=key, revision=revision) for key in keys[begin : begin + TOGETHER]]
        for answer in (await client.txn([], gets)).answers:
            if isinstance(answer, Ranged):
                kvs += answer.kvs
    return kvs


async def list_changes(client: Client, keys: tuple[bytes, bytes], known: Known) -> Listing | None:
    """Read keys, and the values of those that a replica has not; None where it knows none.

    Args:
        client: of etcd.
        keys: first key, and the end of the range.
        known: what the replica has.

    Raises:
        EtcdError: etcd fails.
    """
    listed = await list_all(client, keys, keys_only=True)
    unchanged: list[KeyValue] = []
    changed: list[KeyValue] = []
    for kv in listed.kvs:
        (unchanged if known.has(kv) else changed).append(kv)
    witnesses = heapq.nlargest(WITNESSES, unchanged, key=lambda kv: kv.revision)
    names = {kv.key for kv in witnesses}
    shown = await read_keys(client, sorted(names), listed.revision)
    if not shown or not await known.agrees(shown):
        return None
    written = await read_keys(client, [kv.key for kv in changed], listed.revision)
    rest = [kv for kv in unchanged if kv.key not in names]
    return Listing(listed.revision, [*written, *shown], rest)
