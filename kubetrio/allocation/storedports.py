"""Node ports that several servers share: bits of one stored object, set by compare and swap.

Where one server writes, who holds a port follows from the Services in memory.  Where others write
too, two of them could give the same port to two Services in the same moment; so a port is taken in
the RangeAllocation ``/registry/ranges/servicenodeports``, as kube-apiserver does, before the
Service is stored.  What was taken for a Service that was never stored is found by comparing the
object with the Services, and is let go of when it was so three times.

Source: k8s.io/kubernetes/pkg/registry/core/service/allocator/storage, …/portallocator/controller.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn

import orjson
import trio

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reflector import Reflector
from kubetrio.observe.logs import Log
from kubetrio.resources.objects import stamp
from kubetrio.resources.storing import insert, replace
from kubetrio.store.errors import LostCompareAndSwap, StoreError
from kubetrio.store.model import Event, EventType, KeyValue

Object = dict[str, Any]

log = Log("kubetrio.services")
RANGES = "/registry/ranges/"
KEY = f"{RANGES}servicenodeports"
REPAIR_S = 180.0
"""Between two looks at the Services, as kube-apiserver's."""
LEAKED_LOOKS = 3


class StoredPorts:
    """The ports that are taken, as the store has them.

    Args:
        dispatcher: the commit stream.
        first: lowest port of the range.
        last: highest port of the range.
        note: told of the ports that are taken, whenever that changes: those before, those now.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        first: int,
        last: int,
        note: Callable[[Collection[int], Collection[int]], None],
    ) -> None:
        self._store = dispatcher.store
        self._first = first
        self._last = last
        self._range = f"{first}-{last}"
        self._note = note
        self._taken: frozenset[int] = frozenset()
        self._suspects: dict[int, int] = {}  # looks at which no Service had the port
        self.followed = Reflector(dispatcher, RANGES, self._changed)

    def _changed(self, event: Event) -> None:
        if event.key != KEY:
            return
        now = frozenset() if event.type is EventType.DELETED else self._ports(event.value)
        self._note(self._taken, now)
        self._taken = now

    def _ports(self, value: bytes) -> frozenset[int]:
        bits = int.from_bytes(base64.b64decode(orjson.loads(value).get("data") or ""), "big")
        return frozenset(
            self._first + offset for offset in range(bits.bit_length()) if bits >> offset & 1
        )

    def _object(self, ports: Iterable[int]) -> Object:
        bits = sum(1 << (port - self._first) for port in set(ports))
        data = bits.to_bytes((bits.bit_length() + 7) // 8, "big")
        return {
            "kind": "RangeAllocation",
            "apiVersion": "v1",
            "metadata": {},
            "range": self._range,
            "data": base64.b64encode(data).decode(),
        }

    async def take(self, ports: Collection[int]) -> Collection[int]:
        """Take all of some ports, or none.

        Returns:
            Those that are taken already; empty when all of them are had now.

        Raises:
            StoreError: the store takes no writes.
        """

        def add(taken: frozenset[int]) -> frozenset[int] | None:
            return None if taken.intersection(ports) else taken.union(ports)

        taken = await self._change(add)
        return taken.intersection(ports)

    async def release(self, ports: Collection[int]) -> None:
        """Let go of ports.

        Raises:
            StoreError: the store takes no writes.
        """
        if ports:
            await self._change(lambda taken: taken.difference(ports))

    async def _change(
        self, change: Callable[[frozenset[int]], frozenset[int] | None]
    ) -> frozenset[int]:
        """Store what a function makes of the ports that are taken; None for no change.

        Returns:
            The ports that were taken where the function changes nothing of them; else none.
        """
        while True:
            stored = await self._store.get(KEY)
            taken = frozenset() if stored is None else self._ports(stored.value)
            ports = change(taken)
            if ports is None:
                return taken
            if ports == taken and stored is not None:
                return frozenset()
            try:
                await self._put(stored, ports)
            except LostCompareAndSwap:
                await trio.lowlevel.checkpoint()
                continue
            return frozenset()

    async def _put(self, stored: KeyValue | None, ports: Iterable[int]) -> None:
        value = stamp(self._object(ports))
        if stored is None:
            await insert(self._store, KEY, value)
        else:
            await replace(self._store, KEY, value, stored.revision)

    # ------------------------------------------------------------------ repair

    async def repair(self, used: Callable[[], Collection[int]]) -> None:
        """Set what Services have, and let go of what none had at several looks.

        Args:
            used: ports of the Services that are stored.

        Raises:
            StoreError: the store takes no writes.
        """

        def repaired(taken: frozenset[int]) -> frozenset[int]:
            # Services that were stored under another range keep ports that have no bit.
            having = frozenset(port for port in used() if self._first <= port <= self._last)
            looks = {port: self._suspects.get(port, 0) + 1 for port in taken - having}
            leaked = {port for port, count in looks.items() if count >= LEAKED_LOOKS}
            self._suspects = {port: count for port, count in looks.items() if port not in leaked}
            if leaked:
                log.warning("node ports of no Service are let go of", ports=sorted(leaked))
            return (taken | having) - leaked

        await self._change(repaired)

    async def keep(self, used: Callable[[], Collection[int]]) -> NoReturn:
        """Repair at intervals until cancelled.

        Args:
            used: as of `repair`.
        """
        while True:
            await trio.sleep(REPAIR_S)
            try:
                await self.repair(used)
            except StoreError as error:
                log.warning("node ports are not compared with Services", reason=str(error))
