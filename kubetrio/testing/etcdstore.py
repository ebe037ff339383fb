"""Replicas for tests, on a real etcd or on a model of it: any keys and values, under a prefix."""

from __future__ import annotations

import codecs
import string
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kubetrio.env import Env, seeded
from kubetrio.store.cipher import ENCRYPTED, Cipher, NoCipher, Plain, StoredValue
from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import Dial
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.keeping import CopySettings
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

    def is_current(self, key: str, data: bytes) -> bool:
        """Whether it is in the encoding that is written: of all values."""
        del key, data
        return True


class Rot13:
    """A cipher that needs no key: it says where a value belongs, and turns letters around.

    Attributes:
        generation: see `Cipher.generation`.
        broken: whether nothing can be decrypted.
    """

    def __init__(self) -> None:
        self.generation: Hashable = 1
        self.broken = False

    def covers(self, key: str) -> bool:
        """See `Cipher.covers`."""
        del key
        return True

    async def encrypt(self, value: StoredValue) -> bytes:
        """See `Cipher.encrypt`."""
        return ENCRYPTED + b"rot:" + value.path + b":" + value.data.translate(_TURNED)

    async def decrypt(self, values: Sequence[StoredValue]) -> Sequence[Plain | Unreadable]:
        """See `Cipher.decrypt`."""
        return [self._decrypted(value) for value in values]

    def _decrypted(self, value: StoredValue) -> Plain | Unreadable:
        begin = ENCRYPTED + b"rot:" + value.path + b":"
        if not value.data.startswith(ENCRYPTED):
            return Plain(value.data, stale=True)
        if self.broken or not value.data.startswith(begin):
            return Unreadable("the letters cannot be turned around")
        return Plain(value.data[len(begin) :].translate(_TURNED), stale=False)


_TURNED = bytes.maketrans(
    (string.ascii_letters).encode(),
    "".join(codecs.encode(letter, "rot13") for letter in string.ascii_letters).encode(),
)


@asynccontextmanager
async def replica(
    urls: tuple[str, ...],
    prefix: str,
    reopen: Reopen,
    env: Env,
    *,
    lease_reuse_s: float = 60.0,
    dial: Dial | None = None,
    cipher: Cipher | None = None,
    copy: CopySettings | None = None,
) -> AsyncIterator[EtcdStore]:
    """A replica of what is under a prefix, which takes no part in compaction.

    Args:
        urls: of the members.
        prefix: ends with a slash.
        reopen: opens the hole of complete bytes.
        env: randomness.
        lease_reuse_s: see `ReplicaSettings`.
        dial: opens connections, in place of sockets.
        cipher: encrypts values, None for none.
        copy: see `ReplicaSettings`.
    """
    mapping = Mapping(
        keys=PlainKeys(prefix.encode()),
        values=PlainValues(),
        reopen=reopen,
        cipher=cipher or NoCipher(),
    )
    settings = ReplicaSettings(
        client=ClientSettings(endpoints=urls),
        lease_reuse_s=lease_reuse_s,
        compaction_interval_s=0,
        copy=copy,
    )
    async with open_store(settings, mapping, env, dial=dial) as store:
        yield store


def modelled(
    model: EtcdModel,
    reopen: Reopen,
    seed: int = 1,
    *,
    lease_reuse_s: float = 0.0,
    cipher: Cipher | None = None,
    copy: CopySettings | None = None,
) -> AbstractAsyncContextManager[EtcdStore]:
    """Return a replica on a model, of what is under ``/t/``.

    Args:
        model: of etcd.
        reopen: opens the hole of complete bytes.
        seed: of its randomness.
        lease_reuse_s: see `ReplicaSettings`.
        cipher: encrypts values, None for none.
        copy: see `ReplicaSettings`.
    """
    return replica(
        ("http://etcd",),
        "/t/",
        reopen,
        seeded(seed),
        lease_reuse_s=lease_reuse_s,
        dial=model.dial,
        cipher=cipher,
        copy=copy,
    )
