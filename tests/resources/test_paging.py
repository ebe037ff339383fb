"""Pages are written in slices; what reads and writes them is tested with lists."""

import pytest
import trio
import trio.testing

from kubetrio.api.encoding.encoders import json_encoder
from kubetrio.kinds.builtin import registry
from kubetrio.resources import paging
from kubetrio.resources.readcounts import ListReads
from kubetrio.resources.selection import Selection
from kubetrio.store.model import KeyValue, Range, Stamped
from kubetrio.testing.store_model import MemoryStore

CONFIG_MAPS = registry().resources["", "v1", "configmaps"]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_slices_are_the_whole(size: int) -> None:
    """In order, none empty, each as small as it may be."""
    for step in (1, 3, 8, 20):
        values = [KeyValue(str(n), b"x" * step, 1, 1) for n in range(size)]
        found = list(paging.slices(values, 8, 5, lambda value: len(value.value)))
        assert [value for some in found for value in some] == values
        assert all(found)
        assert all((len(some) - 1) * step < 8 and len(some) <= 5 for some in found)


async def test_lists_take_turns(autojump_clock: trio.testing.MockClock) -> None:
    """Of many lists that look into objects one has a slice in each round of the event loop."""
    del autojump_clock
    looks = [0]

    class Counting(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            del timeout
            looks.append(0)

    class Looking(Selection):
        def matches_bytes(self, value: bytes) -> bool:
            looks[-1] += 1
            return value.endswith(b"x")

    looking = Looking(labels=None, fields=None, values=lambda _obj: {})

    store, turns, reads = MemoryStore(), trio.Lock(), ListReads()
    for number in range(350):
        await store.create(f"k/{number:03d}", Stamped(b"", b"x" if number % 2 else b"y"))

    async def one() -> None:
        pager = paging.Pager(
            store, Range.prefix("k/"), None, json_encoder(CONFIG_MAPS), looking, turns, reads
        )
        page = await pager.read(0, 1 << 20)
        assert [item.key for item in page.values] == [f"k/{n:03d}" for n in range(1, 350, 2)]
        assert not page.more

    counting = Counting()
    trio.lowlevel.add_instrument(counting)
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(one)
    trio.lowlevel.remove_instrument(counting)
    assert sum(looks) == 8 * 350
    assert max(looks) == paging.LOOK_KEYS
    assert (reads.fetched, reads.evaluated, reads.returned) == (8 * 350, 8 * 350, 8 * 175)
