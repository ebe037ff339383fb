"""Replicas on a real etcd for tests of the contract: any keys and values, under a prefix."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.model import Range, Reopen, Stamped

_HOLE = b"\0\xffhole\xff\0"


class PlainKeys:
    """Keys of the store behind a prefix.

    Args:
        prefix: of them in etcd.
    """

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix

    @property
    def everything(self) -> tuple[bytes, bytes]:
        """First key, and the end of the range."""
        return self._prefix, self._prefix[:-1] + bytes((self._prefix[-1] + 1,))

    def to_etcd(self, key: str) -> bytes:
        """Etcd's key."""
        return self._prefix + key.encode()

    def from_etcd(self, key: bytes) -> str | None:
        """The store's key."""
        return key[len(self._prefix) :].decode() if key.startswith(self._prefix) else None

    def range_of(self, keys: Range) -> tuple[bytes, bytes]:
        """Start and end in etcd."""
        return self.to_etcd(keys.start), self.to_etcd(keys.end)


class PlainValues:
    """Values with a mark where their hole is."""

    def to_etcd(self, key: str, value: Stamped) -> bytes:
        """What etcd has."""
        del key
        return value.before + _HOLE + value.after

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """The value."""
        del key
        before, _, after = data.partition(_HOLE)
        return Stamped(before, after)


@asynccontextmanager
async def replica(
    urls: tuple[str, ...], prefix: str, reopen: Reopen, env: Env
) -> AsyncIterator[EtcdStore]:
    """A replica of what is under a prefix, which takes no part in compaction.

    Args:
        urls: of the members.
        prefix: ends with a slash.
        reopen: opens the hole of complete bytes.
        env: randomness.
    """
    mapping = Mapping(keys=PlainKeys(prefix.encode()), values=PlainValues(), reopen=reopen)
    settings = ReplicaSettings(client=ClientSettings(endpoints=urls), compaction_interval_s=0)
    async with open_store(settings, mapping, env) as store:
        yield store
