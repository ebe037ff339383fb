"""Sizes of the databases of etcd's members, which each is asked for from time to time.

Source: k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.errors import EtcdError

LOG = Log("kubetrio.store")
UNKNOWN = -1
JITTER = 0.5  # of the interval, so that replicas do not ask at once


class DatabaseSizes:
    """What the members said.

    Args:
        client: of etcd.
        interval_s: seconds between two questions, and up to one half more; 0 to ask nothing.
        env: randomness.
    """

    def __init__(self, client: Client, interval_s: float, env: Env) -> None:
        self._client = client
        self._interval_s = interval_s
        self._env = env
        self._sizes: dict[str, int] = {}

    @property
    def by_endpoint(self) -> Mapping[str, int]:
        """Bytes by the URL of the member; `UNKNOWN` where it did not answer when last asked."""
        return self._sizes

    @property
    def largest(self) -> int:
        """Bytes of the largest one; 0 while none is known."""
        return max(0, *self._sizes.values(), 0)

    async def run(self) -> NoReturn:
        """Ask until cancelled."""
        if not self._interval_s:
            await trio.sleep_forever()
        while True:
            async with trio.open_nursery() as nursery:
                for endpoint in self._client.endpoints:
                    nursery.start_soon(self._ask, endpoint)
            await trio.sleep(self._interval_s * (1 + JITTER * self._env.rng.random()))

    async def _ask(self, endpoint: str) -> None:
        try:
            self._sizes[endpoint] = (await self._client.status(endpoint)).db_bytes
        except EtcdError as error:
            self._sizes[endpoint] = UNKNOWN
            LOG.verbose(4, "a member of etcd does not say how large it is", reason=str(error))
