"""Values that are encrypted on their way to an engine, when their revision is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from kubetrio.encryption.transformers import Seal
from kubetrio.store.model import Change, KeyValue, Revision, Rewinding, Stamped, Updating

Seals = Callable[[str, Stamped], Awaitable[Stamped]]


class Sealed(Stamped):
    """A value that is encrypted when its revision is known.

    Args:
        before: plain bytes in front of the revision.
        after: plain bytes after it.
        seal: encrypts the complete bytes.
    """

    seal: Seal

    @classmethod
    def of(cls, value: Stamped, seal: Seal) -> Sealed:
        """Return a value that `seal` encrypts."""
        sealed = cls(value.before, value.after)
        sealed.seal = seal
        return sealed

    def at(self, revision: Revision) -> bytes:
        """The encrypted bytes for a revision."""
        return self.seal(super().at(revision))

    @property
    def hole(self) -> int:
        """No hole: nothing can be told in encrypted bytes."""
        return -1


def answered(value: Stamped, stored: KeyValue) -> KeyValue:
    """What the writer of a value is answered, which the engine stored encrypted."""
    return stored._replace(value=value.at(stored.revision))


class SealedUpdates:
    """Updates that are encrypted on the way to an engine.

    Args:
        updating: those of the engine.
        sealed: encrypts the value of a key.
    """

    def __init__(self, updating: Updating, sealed: Seals) -> None:
        self._updating = updating
        self._sealed = sealed

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Updating.update`."""
        sealed = await self._sealed(key, value)
        stored = await self._updating.update(key, sealed, expected=expected, ttl_s=ttl_s)
        return answered(value, stored)


class SealedTogether:
    """Writing of several keys that are encrypted on the way to an engine.

    Args:
        several: that of the engine.
        sealed: encrypts the value of a key.
    """

    def __init__(self, several: Rewinding, sealed: Seals) -> None:
        self._several = several
        self._sealed = sealed

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Rewinding.write_all`."""
        sealed: list[Change] = []
        for change in changes:
            value = change.value
            if value is not None:
                value = await self._sealed(change.key, value)
            sealed.append(change._replace(value=value))
        await self._several.write_all(sealed)
