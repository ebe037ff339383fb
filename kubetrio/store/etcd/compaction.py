"""Compaction of an etcd that several servers share: one of them does it in each interval.

The servers take turns by the key ``compact_rev_key``, whose version counts the turns, and whose
value is the revision that was compacted last.  Who writes it first has etcd forget what was old as
long ago as history is kept; the others learn the new count.  So the server that took a turn takes
the next one, too, until it ends or another one has a shorter interval; a server that takes over
does so at its second attempt.

kube-apiservers of the same etcd take part.  They forget what was there at their last attempt, an
interval ago (5 minutes by default).  Where another server keeps less history than this one, the key
goes on naming what that has compacted.

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
        self._compacted = 0  # value of that version
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
        oldest = max(self._old, self._compacted)
        outcome = await self._client.txn(
            [Compare(COMPACT_REVISION, Target.VERSION, self._turn)],
            [Put(COMPACT_REVISION, b"%d" % oldest)],
            [Get(key=COMPACT_REVISION)],
        )
        self._seen.append((now, outcome.revision))
        if not outcome.succeeded:
            kvs = [kv for each in outcome.answers if isinstance(each, Ranged) for kv in each.kvs]
            self._turn = kvs[0].version if kvs else 0
            value = kvs[0].value if kvs else b""
            self._compacted = int(value) if value.isdigit() else 0
            return False
        self._turn += 1
        if oldest > self._compacted:  # else nothing more is known to be old
            self._compacted = oldest
            try:
                await self._client.compact(oldest)
            except Compacted:
                return True  # by hand
            LOG.info("etcd is compacted", revision=oldest)
        return True
