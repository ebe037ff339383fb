"""`kubetrio.allocation.storedports`: node ports as bits of one stored object."""

from __future__ import annotations

import base64
from collections.abc import Collection

import orjson

from kubetrio.allocation.storedports import KEY, LEAKED_LOOKS, StoredPorts
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.testing.store_model import MemoryStore

FIRST, LAST = 30000, 32767


class World:
    """A store, two servers' views of it, and what they note."""

    def __init__(self) -> None:
        self.store = MemoryStore(step=3)
        self.noted: list[set[int]] = [set(), set()]
        dispatcher = Dispatcher(self.store)
        self.one, self.two = (
            StoredPorts(dispatcher, FIRST, LAST, self._noting(which)) for which in (0, 1)
        )

    def _noting(self, which: int):  # type: ignore[no-untyped-def]
        def note(before: Collection[int], now: Collection[int]) -> None:
            assert self.noted[which] == set(before)
            self.noted[which] = set(now)

        return note

    async def follow(self) -> None:
        await self.one.followed.sync()
        await self.two.followed.sync()


async def test_a_port_is_taken_once() -> None:
    """All of some ports or none; both servers note what is taken."""
    world = World()
    await world.follow()
    assert not await world.one.take([30000, 32767])
    assert set(await world.two.take([30001, 32767])) == {32767}
    assert world.noted == [{30000, 32767}] * 2
    await world.one.release([32767])
    assert not await world.two.take([30001, 32767])
    assert world.noted == [{30000, 30001, 32767}] * 2


async def test_it_is_the_object_that_kube_apiserver_has() -> None:
    """Bits from the lowest port on, as the bytes of a big-endian number."""
    world = World()
    await world.one.take([30000, 30009])
    stored = await world.store.get(KEY)
    assert stored is not None
    obj = orjson.loads(stored.value)
    assert (obj["kind"], obj["range"]) == ("RangeAllocation", "30000-32767")
    assert base64.b64decode(obj["data"]) == bytes([0b10, 0b1])


async def test_what_is_there_already_is_noted() -> None:
    """By a server that starts later."""
    world = World()
    await world.one.take([30005])
    await world.follow()
    assert world.noted[1] == {30005}
    assert set(await world.two.take([30005])) == {30005}


async def test_ports_of_no_service_are_let_go_of() -> None:
    """When that was so at several looks; what Services have is taken."""
    world = World()
    await world.follow()
    await world.one.take([30001, 30002])
    used: list[int] = [30002, 30003]
    for _ in range(LEAKED_LOOKS - 1):
        await world.one.repair(lambda: used)
        assert world.noted[0] == {30001, 30002, 30003}
    await world.one.repair(lambda: used)
    assert world.noted[0] == {30002, 30003}


async def test_ports_of_another_range_have_no_bit() -> None:
    """Services that a server with other flags stored do not keep this one from starting."""
    world = World()
    await world.follow()
    await world.one.repair(lambda: [20000, 30002, 40000])
    assert world.noted[0] == {30002}
