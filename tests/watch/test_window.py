"""The ring of recent events: what it gives, what it keeps, what it lets go."""

import gc
import weakref
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.store.model import Event, EventType
from kubetrio.watch.window import EVENT_OVERHEAD, KEPT, Batch, Window, held


class Value:
    """Bytes that can be seen to be freed."""

    def __len__(self) -> int:
        return 10


def event(revision: int, size: int = 10, previous: int | None = None) -> Event:
    before = None if previous is None else b"y" * previous
    return Event(revision, "k", EventType.UPDATED, b"x" * size, before)


def events(first: int, last: int, size: int = 10) -> list[Event]:
    return [event(revision, size) for revision in range(first, last + 1)]


def revisions(found: Sequence[Event] | None) -> list[int] | None:
    return None if found is None else [each.revision for each in found]


def test_an_empty_window_knows_its_floor() -> None:
    """Nothing is after its floor; before it, it does not know."""
    window = Window(7, 1000)
    assert window.after(7, 10) == []
    assert window.after(8, 10) == []
    assert window.after(6, 10) is None


def test_events_after_a_cursor() -> None:
    """Oldest first, as many as asked for; none after the newest or in the future."""
    window = Window(7, 1 << 20)
    window.append(events(8, 12))
    assert revisions(window.after(7, 10)) == [8, 9, 10, 11, 12]
    assert revisions(window.after(9, 2)) == [10, 11]
    assert revisions(window.after(12, 10)) == []
    assert revisions(window.after(99, 10)) == []


def test_the_oldest_go_when_the_bound_is_passed() -> None:
    """The floor follows them, and the rest stays complete."""
    window = Window(0, 3 * (EVENT_OVERHEAD + 10))
    window.append(events(1, 5))
    assert (window.floor, len(window)) == (2, 3)
    assert window.after(1, 10) is None
    assert revisions(window.after(2, 10)) == [3, 4, 5]


def test_an_event_larger_than_the_window_is_not_kept() -> None:
    """The window is empty then, after that event."""
    window = Window(0, 1000)
    window.append([event(1), event(2, 2000)])
    assert (window.floor, len(window), window.bytes) == (2, 0, 0)
    assert window.after(2, 10) == []
    window.append([event(3)])
    assert revisions(window.after(2, 10)) == [3]


def test_both_values_of_an_event_count() -> None:
    """The bytes before a change are held as those after it."""
    assert held(event(1, 10)) == EVENT_OVERHEAD + 10
    assert held(event(1, 10, 20)) == EVENT_OVERHEAD + 30
    assert held(event(1, 10, 0)) == EVENT_OVERHEAD + 10


def test_what_is_dropped_is_freed() -> None:
    """Not later, when the list shrinks: large values would add up."""
    window = Window(0, 10 * (EVENT_OVERHEAD + 10))
    value = Value()
    freed = weakref.ref(value)
    window.append([Event(1, "k", EventType.UPDATED, value, None)])  # type: ignore[arg-type]
    del value
    window.append(events(2, 20))
    gc.collect()
    assert freed() is None


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=40), max_size=100),
    st.integers(0, 20_000),
)
def test_the_window_is_the_end_of_the_log(batches: list[list[int]], bound: int) -> None:
    """Whatever comes, it holds all after its floor, within its bound, and counts its bytes."""
    window = Window(0, bound)
    log: list[Event] = []
    for sizes in batches:
        batch = [event(len(log) + 1 + index, size) for index, size in enumerate(sizes)]
        log += batch
        window.append(batch)
        kept = log[window.floor :]
        assert window.bytes == sum(map(held, kept)) <= bound
        assert len(window) == len(kept)
        assert window.after(window.floor, len(log)) == kept
        assert window.after(window.floor - 1, 1) is None


def test_many_small_events_do_not_pile_up() -> None:
    """The lists shrink with the window, in bounded time and space."""
    window = Window(0, 100 * (EVENT_OVERHEAD + 10))
    for revision in range(1, 10_000):
        window.append([event(revision)])
        assert len(window._events) <= 1024 + 2 * len(window)
    assert revisions(window.after(9990, 100)) == list(range(9991, 10_000))


def test_batches_are_encoded_once_for_equal_watchers() -> None:
    """Once a key; another key is another encoding."""
    batch = Batch(events(1, 3))
    calls: list[int] = []

    def encode(found: Sequence[Event]) -> bytes:
        calls.append(len(found))
        return b"%d" % len(calls)

    assert [batch.encoded(key, encode) for key in "aabba"] == [b"1", b"1", b"2", b"2", b"1"]
    assert calls == [3, 3]


def test_a_batch_keeps_few_encodings() -> None:
    """Whoever stalls holds the batch, but not what it was for each of many others."""
    batch = Batch(events(1, 3))
    calls: list[int] = []

    def encode(found: Sequence[Event]) -> bytes:
        calls.append(len(found))
        return b""

    for key in range(KEPT + 1):
        batch.encoded(key, encode)
    batch.encoded(KEPT, encode)
    assert len(calls) == KEPT + 1
    batch.encoded(0, encode)  # the oldest
    assert len(calls) == KEPT + 2
