"""The engine that other servers share: etcd, in the layout of kube-apiserver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubetrio.config import Config
from kubetrio.datadir.etcdmapping import kept_table, object_mapping
from kubetrio.env import Env
from kubetrio.store.cipher import Cipher, NoCipher
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import TlsFiles, check_files
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Store
from kubetrio.store.remote import Remote, leave

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
    tls = TlsFiles(ca=storage.etcd_cafile, cert=storage.etcd_certfile, key=storage.etcd_keyfile)
    try:
        await env.run_blocking(check_files, tls)
        mapping = object_mapping(storage.etcd_prefix, storage.media_type, cipher)
        copy = await env.run_blocking(
            kept_table, config.data_dir, storage.etcd_prefix, storage.media_type
        )
        settings = ReplicaSettings(
            client=ClientSettings(endpoints=storage.etcd_servers, tls=tls),
            lease_reuse_s=storage.lease_reuse_s,
            compaction_interval_s=storage.compact_interval_s,
            history_window_s=storage.history_window_s,
            size_interval_s=storage.size_interval_s,
            copy=copy,
        )
    except ValueError as error:
        raise StoreUnavailable(f"etcd: {error}") from error
    lock = DirectoryLock(config.data_dir)
    try:
        leave(config.data_dir, Remote(storage.etcd_servers, storage.etcd_prefix))
        async with open_store(settings, mapping, env) as store:
            yield store
    finally:
        lock.release()
