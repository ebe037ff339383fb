"""Encryption at rest of an engine that stores other bytes than the store's own.

An engine that converts values encrypts what it has made of them, and decrypts before it converts:
it is given a `Cipher`.  Engines that store the bytes that they are given know nothing of it; a
store that encrypts stands in front of them (`encryption.sealed`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, Protocol

from kubetrio.store.errors import Unreadable

ENCRYPTED: Final = b"k8s:enc:"
"""Prefix of all encrypted values, and of no others."""
UNREADABLE: Final = "identity transformer tried to read encrypted data"


class StoredValue(NamedTuple):
    """A value as it is stored.

    Args:
        key: key of the store, which says of which resource the value is.
        path: key of the engine, which is authenticated with the value.
        data: the stored bytes.
    """

    key: str
    path: bytes
    data: bytes


class Plain(NamedTuple):
    """Plain bytes of a stored value.

    Args:
        data: the plain bytes.
        stale: whether the value would be stored in another way now.
    """

    data: bytes
    stale: bool


class Cipher(Protocol):
    """Encrypts and decrypts values of an engine."""

    @property
    def generation(self) -> Hashable:
        """Identifier of what encrypts now; another one makes values stale, or readable."""
        ...

    def covers(self, key: str) -> bool:
        """Whether a configuration says how values of a key are stored."""
        ...

    async def encrypt(self, value: StoredValue) -> bytes:
        """Return what is stored for plain bytes.

        Raises:
            Unreadable: nothing can be encrypted now.
        """
        ...

    async def decrypt(self, values: Sequence[StoredValue]) -> Sequence[Plain | Unreadable]:
        """Return the plain bytes of stored values in order, or why there are none."""
        ...


class NoCipher:
    """Values as they are; encrypted ones cannot be read."""

    generation = 0

    def covers(self, key: str) -> bool:
        """See `Cipher.covers`."""
        del key
        return False

    async def encrypt(self, value: StoredValue) -> bytes:
        """See `Cipher.encrypt`."""
        return value.data

    async def decrypt(self, values: Sequence[StoredValue]) -> Sequence[Plain | Unreadable]:
        """See `Cipher.decrypt`."""
        return [
            Unreadable(UNREADABLE) if data.startswith(ENCRYPTED) else Plain(data, stale=False)
            for _, _, data in values
        ]
