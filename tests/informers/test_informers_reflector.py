"""Collections in which some values cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.informer import PASSED_OVER, SharedInformerFactory
from kubetrio.informers.reflector import Reflector
from kubetrio.store.errors import Unreadable
from kubetrio.store.model import Event, Range, RangeResult, Stamped
from kubetrio.testing.store_model import MemoryStore

FOLDER = "/registry/x/"
VALUE = Stamped(b'{"metadata":{"resourceVersion":"', b'"}}')


class Sealed(MemoryStore):
    """A store that cannot read some keys, and says of a range which is the first of them."""

    def __init__(self, *sealed: str) -> None:
        super().__init__()
        self.sealed = sorted(sealed)

    async def range(self, keys: Range, **how: Any) -> RangeResult:
        """See `Store`."""
        for key in self.sealed:
            if key in keys:
                error = Unreadable("no key")
                error.key = key
                raise error
        return await super().range(keys, **how)


@pytest.mark.parametrize("sealed", ["bd", "a", "f", "abcdef", "b"])
async def test_values_that_cannot_be_read_are_passed_over(sealed: str) -> None:
    """Those before, between and behind them are told, each once and in order."""
    store = Sealed(*(FOLDER + name for name in sealed))
    for name in "abcdef":
        await store.create(FOLDER + name, VALUE)
    told = list[Event]()
    one = Reflector(Dispatcher(store), FOLDER, told.append, around=True)
    await one.sync()
    left = [name for name in "abcdef" if name not in sealed]
    assert [event.key.rpartition("/")[2] for event in told] == left
    await store.create(FOLDER + "g", VALUE)
    assert told[-1].key == FOLDER + "g"


async def test_other_collections_are_not_told_in_part() -> None:
    """Who fills them, or cleans up after them, would do harm."""
    store = Sealed(FOLDER + "b")
    await store.create(FOLDER + "a", VALUE)
    told = list[Event]()
    one = Reflector(Dispatcher(store), FOLDER, told.append)
    for _ in range(2):
        with pytest.raises(Unreadable):
            await one.sync()
    assert (told, one.synced) == ([], False)
    store.sealed = []
    await one.sync()
    assert [event.key for event in told] == [FOLDER + "a"]


async def test_a_reason_without_a_key_is_raised() -> None:
    """There is nothing to pass over."""

    class Broken(MemoryStore):
        async def range(self, keys: Range, **how: Any) -> RangeResult:
            """See `Store`."""
            raise Unreadable("broken")

    with pytest.raises(Unreadable, match="broken"):
        await Reflector(Dispatcher(Broken()), FOLDER, print, around=True).sync()


async def test_what_a_server_needs_to_serve_is_followed_in_part() -> None:
    """Roles, definitions and namespaces, and no others."""
    for prefix in sorted(PASSED_OVER):
        store = Sealed(prefix + "newer")
        await store.create(prefix + "known", VALUE)
        informer = SharedInformerFactory(store).informer(prefix)
        await informer.sync()
        assert [item.key for item in informer.indexer.list()] == [prefix + "known"]
    store = Sealed("/registry/pods/default/newer")
    with pytest.raises(Unreadable):
        await SharedInformerFactory(store).informer("/registry/pods/").sync()
