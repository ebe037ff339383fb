"""Reads and lost writes over an engine whose local state is behind."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.store.consistent import ConsistentStore, SharedQuestion, consistent
from kubetrio.store.errors import (
    KeyExists,
    KeyMissing,
    LostCompareAndSwap,
    RevisionMismatch,
    StoreBehind,
    StoreUnavailable,
)
from kubetrio.store.model import Range, Stamped, Store
from kubetrio.testing.lagging import LaggingStore, RemoteStore, lagging
from kubetrio.testing.store_model import MemoryStore

ALL = Range("\x01", "\U0010ffff")
VALUE = Stamped(b"", b"x")


def test_an_engine_with_one_writer_is_used_as_it_is() -> None:
    """Nothing stands between it and its callers."""
    store = MemoryStore()
    assert consistent(store) is store


async def held() -> tuple[RemoteStore, LaggingStore, Store]:
    """A key that another writer made, and of which the engine has not heard."""
    remote = RemoteStore()
    engine = LaggingStore(remote)
    engine.held = True
    await remote.create("a", VALUE)
    return remote, engine, consistent(engine)


READS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("a"),
    "range": lambda store: store.range(ALL),
    "join": lambda store: store.join(ALL, skip=0, separator=b",", max_bytes=1000),
    "count": lambda store: store.count(ALL),
    "get at": lambda store: store.get("a", at=3),
    "range at": lambda store: store.range(ALL, at=3),
    "count at": lambda store: store.count(ALL, at=3),
}


@pytest.mark.parametrize("read", READS)
async def test_a_read_waits_for_what_others_wrote(read: str) -> None:
    """A cached one does not."""
    remote, engine, store = await held()
    found = list[object]()

    async def ask() -> None:
        found.append(await READS[read](store))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert not found
        assert await store.cached.get("a") is None
        engine.step()
    assert found == [await READS[read](remote)]


async def test_an_old_revision_is_read_at_once() -> None:
    """It is here."""
    remote, engine, store = await held()
    engine.step()
    await remote.create("b", VALUE)
    assert await store.count(ALL, at=engine.revision) == 1
    assert engine.questions == 0


async def test_tasks_share_a_question() -> None:
    """Those that come while one is asked share the next one, not its answer."""
    asked, answers = 0, trio.Event()

    async def ask() -> int:
        nonlocal asked
        asked += 1
        mine = asked
        await answers.wait()
        return mine

    question, found = SharedQuestion(ask), list[int]()

    async def want() -> None:
        found.append(await question.answer())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(want)
        await wait_all_tasks_blocked()
        for _ in range(5):
            nursery.start_soon(want)
        await wait_all_tasks_blocked()
        answers.set()
    assert found == [1, 2, 2, 2, 2, 2]


async def test_a_question_that_fails_is_asked_again() -> None:
    """Nobody gets an answer from before it came."""
    answers: Iterator[int | StoreUnavailable] = iter([1, StoreUnavailable("no"), 3])
    ready = trio.Event()

    async def ask() -> int:
        await ready.wait()
        answer = next(answers)
        if isinstance(answer, StoreUnavailable):
            raise answer
        return answer

    question, found = SharedQuestion(ask), list[int]()

    async def want() -> None:
        try:
            found.append(await question.answer())
        except StoreUnavailable:
            found.append(0)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(want)
            await wait_all_tasks_blocked()
        ready.set()
    assert sorted(found) == [0, 1, 3]


@pytest.mark.parametrize("gone", [0, 1, 2])
async def test_a_reader_that_goes_leaves_the_question_to_another(gone: int) -> None:
    """Whether it asked, was to ask next, or waited with others."""
    asked, ready = 0, trio.Event()

    async def ask() -> int:
        nonlocal asked
        asked += 1
        answer = asked
        await ready.wait()
        return answer

    question, found = SharedQuestion(ask), dict[int, int]()
    scopes = [trio.CancelScope() for _ in range(4)]

    async def want(place: int) -> None:
        with scopes[place]:
            found[place] = await question.answer()

    async with trio.open_nursery() as nursery:
        for place in range(4):
            nursery.start_soon(want, place)
            await wait_all_tasks_blocked()
        scopes[gone].cancel()
        await wait_all_tasks_blocked()
        ready.set()
    assert set(found) == {0, 1, 2, 3} - {gone}
    assert asked == 2
    assert all(found[place] == 2 for place in found if place)


async def test_readers_go_on_in_one_turn() -> None:
    """All that share an answer; with a lock between them each took a turn of the event loop."""
    answers, turns = trio.Event(), 0

    async def ask() -> int:
        await answers.wait()
        return 1

    class Turns(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            nonlocal turns
            turns += 1

    question = SharedQuestion(ask)
    async with trio.open_nursery() as nursery:
        for _ in range(16):
            nursery.start_soon(question.answer)
        await wait_all_tasks_blocked()
        trio.lowlevel.add_instrument(Turns())
        answers.set()
    assert turns < 10


async def test_local_state_that_does_not_come_is_an_error(autojump_clock: MockClock) -> None:
    """The stream of an engine may be broken."""
    _, engine, _ = await held()
    store = ConsistentStore(engine, behind_max_s=5.0)
    with pytest.raises(StoreBehind, match="has not come to 3") as behind:
        await store.get("a")
    assert (behind.value.revision, behind.value.current) == (3, engine.revision)
    assert autojump_clock.current_time() >= 5.0


LOST: dict[str, tuple[type[LostCompareAndSwap], Callable[[Store], Awaitable[object]]]] = {
    "create": (KeyExists, lambda store: store.create("a", VALUE)),
    "update": (RevisionMismatch, lambda store: store.update("a", VALUE, expected=1)),
    "delete": (RevisionMismatch, lambda store: store.delete("a", expected=1)),
    "update missing": (KeyMissing, lambda store: store.update("b", VALUE, expected=1)),
    "delete missing": (KeyMissing, lambda store: store.delete("b", expected=1)),
}


@pytest.mark.parametrize("write", LOST)
async def test_a_lost_write_is_answered_with_what_won(write: str) -> None:
    """Its caller decides on that, and does not lose to it again."""
    _, engine, store = await held()
    expected, make = LOST[write]

    async def lose() -> None:
        with pytest.raises(expected) as caught:
            await make(store)
        assert store.revision >= caught.value.winner
        assert await store.cached.get("a") is not None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lose)
        await wait_all_tasks_blocked()
        assert engine.revision == 0
        engine.step()


async def test_a_write_is_answered_when_it_is_here(autojump_clock: MockClock) -> None:
    """As the contract says of every engine."""
    remote = RemoteStore()
    async with lagging(remote, lambda: 3.0) as engine:
        store = consistent(engine)
        made = await store.create("a", VALUE)
        assert autojump_clock.current_time() >= 3.0
        assert await store.cached.get("a") == made
