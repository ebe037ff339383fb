"""Decrypt many stored values, on the event loop or in a thread, and fetch the keys they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubetrio.encryption.transformers import KeyWanted, Providers, TransformError
from kubetrio.env import Env
from kubetrio.store.cipher import Plain, StoredValue

INLINE_BYTES = 16 * 1024
"""Bytes of values that are encrypted or decrypted on the event loop; more go to a thread."""


class Decrypter:
    """Decrypts stored values.

    Args:
        providers: what stores the resource of a key; None for what is stored as it is.
        env: threads.
    """

    def __init__(self, providers: Callable[[str], Providers | None], env: Env) -> None:
        self._providers = providers
        self._env = env

    def open_some(
        self,
        rows: Sequence[StoredValue],
        done: list[Plain | TransformError],
        refused: Mapping[bytes, TransformError],
    ) -> None:
        """Decrypt the rows for which `done` has nothing yet.

        Args:
            rows: stored values.
            done: what is known of the first of them; the others are added.
            refused: keys that are not to be asked for again.

        Raises:
            KeyWanted: the next row needs a key that has to be fetched.
        """
        for key, path, data in rows[len(done) :]:
            providers = self._providers(key)
            if providers is None:
                done.append(Plain(data, stale=False))
                continue
            try:
                done.append(providers.open(data, path, refused))
            except TransformError as error:
                done.append(error)

    async def open_all(self, rows: Sequence[StoredValue]) -> list[Plain | TransformError]:
        """Return what each stored value means, or why that cannot be told."""
        done: list[Plain | TransformError] = []
        refused: dict[bytes, TransformError] = {}
        large = sum(len(row.data) for row in rows) > INLINE_BYTES
        while len(done) < len(rows):
            try:
                if large:
                    await self._env.run_blocking(self.open_some, rows, done, refused)
                else:
                    self.open_some(rows, done, refused)
            except KeyWanted as wanted:
                try:
                    await wanted.fetch()
                except TransformError as error:
                    refused[wanted.key] = error
        return done
