"""What stands between the bytes of the store and those of etcd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kubetrio.store.etcd.layout import Keys
from kubetrio.store.model import Reopen, Stamped


class Values(Protocol):
    """Converts values between the store's bytes and etcd's."""

    def to_etcd(self, key: str, value: Stamped) -> bytes:
        """What etcd has for a value.

        Raises:
            ValueError: a member does not fit its type.
        """
        ...

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """The value for what etcd has.

        Raises:
            Unreadable: it is no value that is known.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """What stands between the store and etcd.

    Args:
        keys: maps keys.
        values: converts values.
        reopen: opens the hole of complete bytes, so that deletions are stamped.
    """

    keys: Keys
    values: Values
    reopen: Reopen
