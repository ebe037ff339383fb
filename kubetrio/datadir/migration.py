"""What copies between SQLite and etcd have in common: the places, and which keys are copied.

Objects are copied with all they have, uids and times included.  Left out is what servers make anew
or share by the engine: their own notes, the range of node ports, and the leases of servers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from kubetrio.datadir.etcdmapping import object_mapping
from kubetrio.encryption.configuration import EncryptionConfigError
from kubetrio.encryption.control import Encryption, folders
from kubetrio.encryption.providers import read
from kubetrio.env import Env
from kubetrio.runtime.groups import ungrouped
from kubetrio.store.cipher import Cipher, NoCipher
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import Dial, TlsFiles, check_files
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.model import Revision

OBJECTS: Final = "/registry/"
LEFT_OUT: Final = ("/registry/ranges/", "/registry/masterleases/")
EVENTS: Final = "/registry/events/"
MARKER: Final = "/kubetrio/migration"
"""Key of etcd that is there while a copy into it is not complete."""
BATCH: Final = 200

Tell = Callable[[int, int], None]
"""Told how much is done, and of how much."""


class MigrationError(Exception):
    """A store cannot be copied; one line that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdPlace:
    """Where etcd is, and how it is written.

    Args:
        servers: URLs of etcd.
        prefix: of keys.
        media_type: how built-in kinds are written.
        ca: authorities of etcd's certificates, for TLS.
        cert: certificate that etcd is shown.
        key: its key.
        event_ttl_s: seconds that Events stay from their copy on, 0 for good.
        dial: opens connections, None for sockets.
    """

    servers: tuple[str, ...]
    prefix: str = "/registry"
    media_type: str = "application/vnd.kubernetes.protobuf"
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    event_ttl_s: float = 3600.0
    dial: Dial | None = None

    @property
    def client(self) -> ClientSettings:
        """Settings of a client.

        Raises:
            MigrationError: a URL is none, or a file for TLS cannot be used.
        """
        tls = TlsFiles(ca=self.ca, cert=self.cert, key=self.key)
        try:
            check_files(tls)
        except ValueError as error:
            raise MigrationError(str(error)) from error
        try:
            return ClientSettings(endpoints=self.servers, tls=tls)
        except ValueError as error:
            raise MigrationError(f"--etcd-servers: {error}") from error

    def mapping(self, cipher: Cipher) -> Mapping:
        """Return the mapping of keys and values.

        Raises:
            MigrationError: a setting cannot be used.
        """
        try:
            return object_mapping(self.prefix, self.media_type, cipher)
        except ValueError as error:
            raise MigrationError(str(error)) from error

    def ttl_s(self, key: str) -> float:
        """Return the time to live of a key, 0 for good."""
        return self.event_ttl_s if key.startswith(EVENTS) else 0.0


class Migrated(NamedTuple):
    """What a copy has done.

    Args:
        objects: how many there are.
        before: how many of them an interrupted copy had written.
        renumbered: objects whose resourceVersion is another one.
        revision: newest revision of the copy.
    """

    objects: int
    before: int
    renumbered: int
    revision: Revision


def is_copied(key: str) -> bool:
    """Whether a key of the store is one of an object that is copied."""
    return key.startswith(OBJECTS) and not key.startswith(LEFT_OUT)


def folder_of(key: str) -> str:
    """Return the folder of a key, as notes on encryption name it."""
    return folders().folder_of(key)


@ungrouped
@asynccontextmanager
async def open_cipher(path: Path | None, env: Env) -> AsyncIterator[Cipher]:
    """Encrypt and decrypt by a configuration, as long as the block lasts.

    Args:
        path: the file of ``--encryption-provider-config``, None for none.
        env: randomness and threads.

    Raises:
        MigrationError: the file cannot be used.
    """
    if path is None:
        yield NoCipher()
        return
    try:
        encryption = Encryption(path, read(path, reload=False), env, reload=False)
    except EncryptionConfigError as error:
        raise MigrationError(f"--encryption-provider-config: {error}") from error
    async with encryption.cipher() as cipher:
        yield cipher
