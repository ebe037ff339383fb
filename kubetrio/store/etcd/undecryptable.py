"""Keys of a replica whose newest values cannot be decrypted: reads of them fail."""

from __future__ import annotations

from typing import NamedTuple

from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd.requests import KeyValue
from kubetrio.store.model import Range, Revision


class Undecryptable(NamedTuple):
    """A key whose value cannot be decrypted.

    Args:
        key: key of the store.
        error: why.
        kv: what etcd has.
    """

    key: str
    error: Unreadable
    kv: KeyValue

    @property
    def listed(self) -> Unreadable:
        """What a list answers that the key is in.

        Source: k8s.io/apiserver/pkg/storage/etcd3/store.go (`GetList`).
        """
        return Unreadable(f'unable to transform key "{self.kv.key.decode()}": {self.error}')


class UndecryptableKeys:
    """The keys, with what etcd has of them."""

    def __init__(self) -> None:
        self._states: dict[str, Undecryptable] = {}

    def __len__(self) -> int:
        return len(self._states)

    @property
    def kvs(self) -> list[KeyValue]:
        """What etcd has of the keys."""
        return [state.kv for state in self._states.values()]

    def note(self, state: Undecryptable) -> None:
        """Add a key, or its newest value."""
        self._states[state.key] = state

    def forget(self, key: str) -> None:
        """Leave out a key that is readable again, or deleted."""
        self._states.pop(key, None)

    def clear(self) -> None:
        """Leave out all keys."""
        self._states.clear()

    def check(self, key: str, at: Revision | None) -> None:
        """Refuse to read a key that cannot be decrypted.

        Args:
            key: the key.
            at: revision of the read, None for the newest.

        Raises:
            Unreadable: it cannot be decrypted.
        """
        state = self._states.get(key)
        if state is not None and (at is None or at >= state.kv.revision):
            raise state.error

    def check_range(self, keys: Range, at: Revision | None) -> None:
        """Refuse to read a range with a key that cannot be decrypted.

        Args:
            keys: the range.
            at: revision of the read, None for the newest.

        Raises:
            Unreadable: a key cannot be decrypted; the text says which.
        """
        for key in sorted(self._states):
            state = self._states[key]
            if key in keys and (at is None or at >= state.kv.revision):
                raise state.listed
