"""An encrypting store for tests that know keys and bytes only."""

from __future__ import annotations

from kubetrio.encryption.aes import Gcm
from kubetrio.encryption.folders import Folders
from kubetrio.encryption.sealed import EncryptingStore
from kubetrio.encryption.transformers import Identity, Prefixed, Providers
from kubetrio.env import Env
from kubetrio.machinery.names import GroupResource
from kubetrio.store.model import Reopen, Store

FOLDER = "/everything/"


class OneFolder(Folders):
    """All keys are of one collection."""

    def __init__(self) -> None:
        super().__init__({FOLDER: GroupResource("", "things")})

    def folder_of(self, key: str) -> str:
        """See `Folders.folder_of`."""
        del key
        return FOLDER


def encrypting(store: Store, reopen: Reopen, env: Env) -> EncryptingStore:
    """A store that encrypts all it is given.

    Args:
        store: where values are kept.
        reopen: opens the hole of complete bytes.
        env: randomness and threads.
    """
    providers = Providers(
        [Prefixed(b"k8s:enc:aesgcm:v1:a:", Gcm(b"k" * 32)), Prefixed(b"", Identity())]
    )
    return EncryptingStore(
        store, OneFolder(), lambda _: providers, reopen, env, frozenset({FOLDER})
    )
