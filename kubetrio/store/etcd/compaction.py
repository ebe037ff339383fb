"""Compaction of an etcd that several servers share: one of them does it in each interval.

The servers take turns by the key ``compact_rev_key``, whose version counts the turns.  Who writes
it first has etcd forget what was old as long ago as history is kept; the others learn the new
count.  kube-apiservers of the same etcd take part; they keep one interval, 5 minutes.

Source: k8s.io/apiserver/pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

from collections import deque
from typing import NoReturn

import trio

from kubetrio.observe.logs import Log
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.errors import Compacted, EtcdError
from kubetrio.store.etcd.layout import COMPACT_REVISION
from kubetrio.store.etcd.requests import Compare, Get, Put, Ranged, Target

LOG = Log("kubetrio.store")


class Compactor:
    """This server's part in it.

    Args:
        client: of etcd.
        interval_s: seconds between turns; 0 to take no part.
        history_s: seconds for which history is kept, at least.
    """

    def __init__(self, client: Client, interval_s: float, history_s: float) -> None:
        self._client = client
        self._interval_s = interval_s
        self._history_s = history_s
        self._turn = 0  # version of the key, as it was seen last
        self._seen: deque[tuple[float, int]] = deque()  # when, and the newest revision then
        self._old = 0  # the newest of them that is as old as history is kept

    async def run(self) -> NoReturn:
        """Take part until cancelled."""
        if not self._interval_s:
            await trio.sleep_forever()
        while True:
            await trio.sleep(self._interval_s)
            try:
                await self.take_turn()
            except EtcdError as error:
                LOG.warning("etcd is not compacted", reason=str(error))

    async def take_turn(self) -> bool:
        """Compact, unless another server has taken this turn; return whether this one did.

        Raises:
            EtcdError: etcd fails.
        """
        now = trio.current_time()
        while self._seen and self._seen[0][0] <= now - self._history_s:
            self._old = self._seen.popleft()[1]
        oldest = self._old
        outcome = await self._client.txn(
            [Compare(COMPACT_REVISION, Target.VERSION, self._turn)],
            [Put(COMPACT_REVISION, str(oldest).encode())],
            [Get(key=COMPACT_REVISION)],
        )
        self._seen.append((now, outcome.revision))
        if not outcome.succeeded:
            kvs = [kv for each in outcome.answers if isinstance(each, Ranged) for kv in each.kvs]
            self._turn = kvs[0].version if kvs else 0
            return False
        self._turn += 1
        if oldest:  # else nothing is known to be old
            try:
                await self._client.compact(oldest)
            except Compacted:
                return True  # by hand, or by another server in its own interval
            LOG.info("etcd is compacted", revision=oldest)
        return True
