"""The engine that other servers share: etcd, in the layout of kube-apiserver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import restamp
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.dialing import TlsFiles
from kubetrio.store.etcd.layout import Layout
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Store


@asynccontextmanager
async def opened(config: Config, env: Env) -> AsyncIterator[Store]:
    """Open a replica of what etcd has; the data directory is for keys and certificates.

    Raises:
        StoreUnavailable: etcd cannot be read, or a flag of etcd cannot be used.
        DataDirectoryLocked: another server has the data directory.
    """
    storage = config.storage
    if config.encryption.provider_config is not None:
        raise StoreUnavailable("--encryption-provider-config cannot be used with --etcd-servers")
    kinds = registry()
    try:
        mapping = Mapping(
            keys=Layout(storage.etcd_prefix),
            values=EtcdValues(
                folders(kinds.resources.values()), lambda: kinds, MediaType(storage.media_type)
            ),
            reopen=restamp,
        )
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
