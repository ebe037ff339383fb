"""The engine that other servers share: etcd, in the layout of kube-apiserver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import restamp
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.store.cipher import Cipher, NoCipher
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import TlsFiles
from kubetrio.store.etcd.layout import Layout
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Store

if TYPE_CHECKING:
    from kubetrio.encryption.control import Encryption


@asynccontextmanager
async def opened(config: Config, env: Env) -> AsyncIterator[Store]:
    """Open a replica of what etcd has; the data directory is for keys and certificates.

    Values that are encrypted cannot be read, as by a kube-apiserver without a configuration.

    Raises:
        StoreUnavailable: etcd cannot be read, or a flag of etcd cannot be used.
        DataDirectoryLocked: another server has the data directory.
    """
    async with _opened(config, env, NoCipher()) as store:
        yield store


@asynccontextmanager
async def opened_encrypted(
    config: Config, env: Env, encryption: Encryption
) -> AsyncIterator[Store]:
    """Open a replica of what etcd has, whose values are encrypted as kube-apiserver does it.

    Raises:
        StoreUnavailable: etcd cannot be read, or a flag of etcd cannot be used.
        DataDirectoryLocked: another server has the data directory.
    """
    async with encryption.cipher() as cipher, _opened(config, env, cipher) as store:
        yield store


@asynccontextmanager
async def _opened(config: Config, env: Env, cipher: Cipher) -> AsyncIterator[Store]:
    storage = config.storage
    try:
        mapping = mapping_of(config, cipher)
        settings = ReplicaSettings(
            client=ClientSettings(
                endpoints=storage.etcd_servers,
                tls=TlsFiles(
                    ca=storage.etcd_cafile, cert=storage.etcd_certfile, key=storage.etcd_keyfile
                ),
            ),
            lease_reuse_s=storage.lease_reuse_s,
            compaction_interval_s=storage.compact_interval_s,
            history_window_s=storage.history_window_s,
        )
    except ValueError as error:
        raise StoreUnavailable(str(error)) from error
    lock = DirectoryLock(config.data_dir)
    try:
        async with open_store(settings, mapping, env) as store:
            yield store
    finally:
        lock.release()


def mapping_of(config: Config, cipher: Cipher) -> Mapping:
    """Return what stands between the store and etcd.

    Args:
        config: its prefix and its media type.
        cipher: encrypts what etcd has.

    Raises:
        ValueError: a flag of etcd cannot be used.
    """
    storage, kinds = config.storage, registry()
    held = folders(kinds.resources.values())
    return Mapping(
        keys=Layout(storage.etcd_prefix),
        values=EtcdValues(held, lambda: kinds, MediaType(storage.media_type)),
        reopen=restamp,
        cipher=cipher,
    )
