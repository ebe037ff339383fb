"""Keys of a replica whose newest values cannot be read: reads of them fail.

A key is missing where a value cannot be decrypted.  A newer server has written a value that is
decrypted and cannot be converted, or it is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubetrio.store.errors import Undecodable, Unreadable
from kubetrio.store.etcd.requests import KeyValue
from kubetrio.store.model import Range, Revision


class UnreadableState(NamedTuple):
    """A key whose value cannot be read.

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
        if self.is_final:
            return self.error
        return Unreadable(f'unable to transform key "{self.kv.key.decode()}": {self.error}')

    @property
    def is_final(self) -> bool:
        """Whether no key makes the value readable."""
        return isinstance(self.error, Undecodable)


class UnreadableKeys:
    """The keys, with what etcd has of them."""

    def __init__(self) -> None:
        self._states: dict[str, UnreadableState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, key: object) -> bool:
        return key in self._states

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    @property
    def sealed(self) -> list[KeyValue]:
        """What etcd has of the keys whose values cannot be decrypted."""
        return [state.kv for state in self._states.values() if not state.is_final]

    def note(self, state: UnreadableState) -> None:
        """Add a key, or its newest value."""
        self._states[state.key] = state

    def forget(self, key: str) -> None:
        """Leave out a key that is readable again, or deleted."""
        self._states.pop(key, None)

    def clear(self) -> None:
        """Leave out all keys."""
        self._states.clear()

    def check(self, key: str, at: Revision | None) -> None:
        """Refuse to read a key whose value cannot be read.

        Args:
            key: the key.
            at: revision of the read, None for the newest.

        Raises:
            Unreadable: it cannot.
        """
        state = self._states.get(key)
        if state is not None and (at is None or at >= state.kv.revision):
            raise state.error

    def check_range(self, keys: Range, at: Revision | None) -> None:
        """Refuse to read a range with a key whose value cannot be read.

        Args:
            keys: the range.
            at: revision of the read, None for the newest.

        Raises:
            Unreadable: there is one; where it cannot be decrypted, the text says which.
        """
        for key in sorted(self._states):
            state = self._states[key]
            if key in keys and (at is None or at >= state.kv.revision):
                error = state.listed
                error.key = key
                raise error
