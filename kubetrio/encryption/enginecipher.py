"""Encryption of an engine that converts values: below the conversion, as kube-apiserver has it.

The plain bytes are those that kube-apiserver stores, and the engine's own key is authenticated with
them.  So a value that one server has written with a configuration is read by another one, of either
kind.

Keys that are of no resource of the API are stored as they are, whatever wildcards match: the range
of node ports, and the leases of servers.

Source: k8s.io/apiserver/pkg/storage/etcd3/store.go (`authenticatedDataString`),
pkg/server/options/etcd.go (`transformerStorageFactory`, which REST storage alone goes through).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from kubetrio.encryption.decrypting import INLINE_BYTES, Decrypter
from kubetrio.encryption.folders import Folders
from kubetrio.encryption.transformers import Providers, TransformError
from kubetrio.env import Env
from kubetrio.machinery.names import GroupResource
from kubetrio.store.cipher import ENCRYPTED, UNREADABLE, Plain, StoredValue
from kubetrio.store.errors import Unreadable

Resolve = Callable[[GroupResource], Providers | None]
VALUES_AT_ONCE: Final = 500
FOLDERS_MAX: Final = 4096


class EngineCipher:
    """Encrypts values of an engine; follows `store.cipher.Cipher`.

    Args:
        folders: which resource a key is of.
        resolve: what stores a resource.
        generation: identifies the configuration and the keys in use.
        env: randomness and threads.
    """

    def __init__(
        self,
        folders: Folders,
        resolve: Resolve,
        generation: Callable[[], Hashable],
        env: Env,
    ) -> None:
        self._folders = folders
        self._resolve = resolve
        self._generation = generation
        self._env = env
        self._known: dict[str, Providers | None] = {}
        self._decrypter = Decrypter(self._providers, env)

    def use(self, resolve: Resolve) -> None:
        """Store by another configuration from now on."""
        self._resolve = resolve
        self._known.clear()

    @property
    def generation(self) -> Hashable:
        """See `Cipher.generation`."""
        return self._generation()

    def _providers(self, key: str) -> Providers | None:
        folder = self._folders.folder_of(key)
        try:
            return self._known[folder]
        except KeyError:
            pass
        resource = self._folders.resource_of(folder)
        providers = self._resolve(resource) if resource is not None else None
        if len(self._known) > FOLDERS_MAX:  # clients can name folders that do not exist
            self._known.clear()
        self._known[folder] = providers
        return providers

    def covers(self, key: str) -> bool:
        """See `Cipher.covers`."""
        return self._providers(key) is not None

    async def encrypt(self, value: StoredValue) -> bytes:
        """See `Cipher.encrypt`.

        Raises:
            TransformError: nothing can be encrypted now.
        """
        providers = self._providers(value.key)
        if providers is None or providers.writes_plain:
            return value.data
        nonce = self._env.rng.randbytes(providers.nonce_bytes)

        def encrypted() -> bytes:
            return providers.seal(value.path, nonce, len(value.data))(value.data)

        if len(value.data) > INLINE_BYTES:
            return await self._env.run_blocking(encrypted)
        return encrypted()

    async def decrypt(self, values: Sequence[StoredValue]) -> Sequence[Plain | Unreadable]:
        """See `Cipher.decrypt`."""
        decrypted: list[Plain | Unreadable] = []
        places: list[int] = []
        for place, value in enumerate(values):
            if self._providers(value.key) is not None:
                places.append(place)
            if value.data.startswith(ENCRYPTED):
                decrypted.append(TransformError(UNREADABLE))
            else:
                decrypted.append(Plain(value.data, stale=False))
        for begin in range(0, len(places), VALUES_AT_ONCE):
            chosen = places[begin : begin + VALUES_AT_ONCE]
            answers = await self._decrypter.open_all([values[place] for place in chosen])
            for place, plain in zip(chosen, answers, strict=True):
                decrypted[place] = plain
        return decrypted
