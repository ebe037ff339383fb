"""Replicas for tests, on a real etcd or on a model of it: any keys and values, under a prefix."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kubetrio.env import Env, seeded
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import Dial
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.model import Range, Reopen, Stamped
from kubetrio.testing.etcdmodel import EtcdModel

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


def stored(value: Stamped) -> bytes:
    """Return what etcd has for a value."""
    return value.before + _HOLE + value.after


class PlainValues:
    """Values with a mark where their hole is."""

    def to_etcd(self, key: str, value: Stamped) -> bytes:
        """What etcd has."""
        del key
        return stored(value)

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """The value."""
        del key
        before, _, after = data.partition(_HOLE)
        return Stamped(before, after)


@asynccontextmanager
async def replica(
    urls: tuple[str, ...],
    prefix: str,
    reopen: Reopen,
    env: Env,
    *,
    lease_reuse_s: float = 60.0,
    dial: Dial | None = None,
) -> AsyncIterator[EtcdStore]:
    """A replica of what is under a prefix, which takes no part in compaction.

    Args:
        urls: of the members.
        prefix: ends with a slash.
        reopen: opens the hole of complete bytes.
        env: randomness.
        lease_reuse_s: see `ReplicaSettings`.
        dial: opens connections, in place of sockets.
    """
    mapping = Mapping(keys=PlainKeys(prefix.encode()), values=PlainValues(), reopen=reopen)
    settings = ReplicaSettings(
        client=ClientSettings(endpoints=urls),
        lease_reuse_s=lease_reuse_s,
        compaction_interval_s=0,
    )
    async with open_store(settings, mapping, env, dial=dial) as store:
        yield store


def modelled(
    model: EtcdModel, reopen: Reopen, seed: int = 1, *, lease_reuse_s: float = 0.0
) -> AbstractAsyncContextManager[EtcdStore]:
    """Return a replica on a model, of what is under ``/t/``.

    Args:
        model: of etcd.
        reopen: opens the hole of complete bytes.
        seed: of its randomness.
        lease_reuse_s: see `ReplicaSettings`.
    """
    urls = ("http://etcd",)
    return replica(urls, "/t/", reopen, seeded(seed), lease_reuse_s=lease_reuse_s, dial=model.dial)
