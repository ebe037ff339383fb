"""Leases of etcd for values with a time to live, shared by those that end about together.

A lease costs etcd more than a key: an Event an hour and a minute from now hangs on the lease of
another that ends then, too.  So a value lasts somewhat longer than it says, by at most
``--lease-reuse-duration-seconds`` or a twentieth of its time.

Source: k8s.io/apiserver/pkg/storage/etcd3/lease_manager.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil, floor

import trio

from kubetrio.store.etcd.requests import Lease

MOST_KEYS = 1000
"""Keys of one lease: etcd deletes them in one transaction when it ends."""
REUSED_PART = 0.05


@dataclass(slots=True)
class _Shared:
    """A lease that values share.

    Args:
        id: its number.
        ends: when it ends, by Trio's clock.
        keys: values that hang on it.
    """

    id: int
    ends: float
    keys: int


class LeaseManager:
    """Gives leases to values.

    Args:
        grant: makes a lease of so many seconds.
        reuse_s: seconds for which a lease is given to other values, at most.
    """

    def __init__(self, grant: Callable[[int], Awaitable[Lease]], reuse_s: float) -> None:
        self._grant = grant
        self._reuse_s = reuse_s
        self._shared: _Shared | None = None
        self._turn = trio.Lock()

    async def lease_for(self, ttl_s: float) -> int:
        """Return a lease that lasts at least so many seconds; 0 for a value that stays.

        Args:
            ttl_s: time to live, seconds; 0 for ever.

        Raises:
            EtcdError: none can be made.
        """
        if ttl_s <= 0:
            return 0
        async with self._turn:
            reuse_s = min(self._reuse_s, floor(ttl_s * REUSED_PART))
            now, shared = trio.current_time(), self._shared
            if shared is not None and shared.keys < MOST_KEYS:
                lasts = now + ttl_s <= shared.ends
                too_long = now + ttl_s + reuse_s < shared.ends
                if lasts and not too_long:
                    shared.keys += 1
                    return shared.id
            lease = await self._grant(ceil(ttl_s + reuse_s))
            self._shared = _Shared(lease.id, now + lease.ttl_s, 1)
            return lease.id

    def forget(self) -> None:
        """Give the lease to no other value: it is not there any more."""
        self._shared = None
