"""Open a replica on etcd, and close it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.runtime.groups import ungrouped
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.compaction import Compactor
from kubetrio.store.etcd.dialing import Dial
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.errors import EtcdError
from kubetrio.store.etcd.feed import Feed
from kubetrio.store.etcd.keeping import CopySettings, TableKeeper
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.sizes import DatabaseSizes
from kubetrio.store.model import Revision

LOG = Log("kubetrio.store")
KEYS_AGAIN_S = 5.0
"""Between two looks at keys of encryption, and at values that could not be decrypted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSettings:
    """A replica.

    Args:
        client: how etcd is reached.
        lease_reuse_s: seconds for which a lease is given to other values.
        compaction_interval_s: seconds between turns of compaction; 0 to take no part.
        history_window_s: seconds for which old states are kept, here and in etcd.
        size_interval_s: seconds between questions for the sizes of databases; 0 to ask nothing.
        copy: where the table is kept for the next start, None for nowhere.
    """

    client: ClientSettings
    lease_reuse_s: float = 60.0
    compaction_interval_s: float = 300.0
    history_window_s: float = 300.0
    size_interval_s: float = 0.0
    copy: CopySettings | None = None


def trusts_progress(version: str) -> bool:
    """Whether an etcd tells progress only after all changes before it.

    Args:
        version: of etcd.

    Source: etcd-io/etcd#15220; k8s.io/apiserver/pkg/storage/feature (RequestWatchProgress).
    """
    numbers = [int(part) for part in version.partition("-")[0].split(".")[:3] if part.isdigit()]
    if numbers[:2] == [3, 4]:
        return numbers >= [3, 4, 31]
    return numbers >= [3, 5, 13]


@ungrouped
@asynccontextmanager
async def open_store(
    settings: ReplicaSettings, mapping: Mapping, env: Env, *, dial: Dial | None = None
) -> AsyncIterator[EtcdStore]:
    """Read everything that etcd has, and follow it for as long as the block lasts.

    Args:
        settings: of the replica.
        mapping: of keys and values.
        env: randomness.
        dial: opens connections, in place of sockets.

    Raises:
        StoreUnavailable: etcd cannot be read.
    """
    async with (
        open_client(settings.client, env, dial=dial) as client,
        trio.open_nursery() as nursery,
    ):
        store = EtcdStore(client, mapping, settings.lease_reuse_s, env)
        feed = store.feed = Feed(client, mapping.keys.everything, store, env)
        try:
            status = await client.status()
            store.trusts_progress = trusts_progress(status.version)
            keeper = None
            if settings.copy is None:
                await feed.load()
            else:
                keeper = TableKeeper(settings.copy, store, feed, mapping, status.cluster, env)
                await keeper.begin(client)
        except EtcdError as error:
            where = "--etcd-servers says where it is"
            if any(url.startswith(("https:", "unixs:")) for url in client.endpoints):
                where += ", --etcd-cafile and --etcd-certfile who is trusted"
            raise StoreUnavailable(f"etcd: {error}; {where}") from error
        nursery.start_soon(feed.run, name="watch of etcd")
        compactor = Compactor(client, settings.compaction_interval_s, settings.history_window_s)
        nursery.start_soon(compactor.run, name="compaction of etcd")
        store.sizes = DatabaseSizes(client, settings.size_interval_s, env)
        nursery.start_soon(store.sizes.run, name="sizes of etcd")
        nursery.start_soon(_forget, store, settings.history_window_s, name="history")
        nursery.start_soon(_look_at_keys, store, name="keys of encryption")
        if keeper is not None:
            nursery.start_soon(keeper.run, name="copies of the table")
        try:
            yield store
        finally:
            if keeper is not None:
                await keeper.write_last()
        nursery.cancel_scope.cancel()


async def _look_at_keys(store: EtcdStore) -> NoReturn:
    """Follow which keys encrypt values, until cancelled."""
    while True:
        await trio.sleep(KEYS_AGAIN_S)
        try:
            await store.look_at_keys()
        except EtcdError as error:
            LOG.warning("encrypted values cannot be read again yet", reason=str(error))


async def _forget(store: EtcdStore, window_s: float) -> NoReturn:
    """Forget states of the replica that are older than the history window, until cancelled."""
    marks: deque[Revision] = deque()
    while True:
        marks.append(store.revision)
        await trio.sleep(window_s / 5)
        if len(marks) > 5:
            await store.forget(marks.popleft())
