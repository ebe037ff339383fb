"""Objects read lately: bounded, and never older than what was announced."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.store.model import Event, EventType, KeyValue
from kubetrio.store.sqlite.recent import NOTED, OVERHEAD_BYTES, Recent

LARGE = 64 * 1024


def state(key: str, revision: int = 1, size: int = 1) -> KeyValue:
    return KeyValue(key, b"x" * size, revision, 1)


def event(key: str, revision: int, kind: EventType = EventType.UPDATED, size: int = 1) -> Event:
    return Event(revision, key, kind, b"x" * size, b"")


def read_twice(recent: Recent, found: KeyValue) -> None:
    """Once is not enough."""
    recent.keep(found)
    recent.keep(found)


def test_what_was_read_is_kept() -> None:
    """Until somebody deletes it."""
    recent = Recent(LARGE)
    read_twice(recent, state("a"))
    assert recent.get("a") == state("a")
    recent.announced([event("b", 2), event("a", 3, EventType.DELETED)])
    assert recent.get("a") is None
    assert recent.bytes == 0


def test_what_is_kept_follows_its_writes() -> None:
    """With the revision that created it; who writes an object again reads it first."""
    recent = Recent(LARGE)
    read_twice(recent, state("a"))
    recent.announced([event("a", 2), event("b", 3), event("a", 4, size=20)])
    assert recent.get("a") == state("a", 4, 20)
    assert recent.get("b") is None
    assert recent.bytes == 20 + OVERHEAD_BYTES


def test_what_grows_too_large_is_dropped() -> None:
    """And nothing else is."""
    recent = Recent(LARGE)
    read_twice(recent, state("a"))
    read_twice(recent, state("b"))
    recent.announced([event("a", 2, size=LARGE // 8)])
    assert (recent.get("a"), recent.get("b")) == (None, state("b"))
    assert recent.bytes == 1 + OVERHEAD_BYTES


def test_a_newer_read_replaces() -> None:
    """And is counted once."""
    recent = Recent(LARGE)
    read_twice(recent, state("a", 1, 100))
    recent.keep(state("a", 2, 10))
    assert recent.get("a") == state("a", 2, 10)
    assert recent.bytes == 10 + OVERHEAD_BYTES


def test_what_is_read_once_is_not_kept() -> None:
    """However much of it there is, it does not drive out what is."""
    recent = Recent(LARGE)
    read_twice(recent, state("a"))
    for number in range(2 * NOTED):
        recent.keep(state(f"k{number}"))
    assert recent.get("a") == state("a")
    assert recent.bytes == 1 + OVERHEAD_BYTES


def test_the_first_read_is_forgotten_in_time() -> None:
    """A note of each object that was ever read would be too much."""
    recent = Recent(LARGE)
    recent.keep(state("a"))
    for number in range(NOTED):
        recent.keep(state(f"k{number}"))
    recent.keep(state("a"))
    assert recent.get("a") is None
    recent.keep(state("a"))
    assert recent.get("a") == state("a")


def test_nothing_is_kept_without_room() -> None:
    """A bound of zero turns it off."""
    recent = Recent(0)
    read_twice(recent, state("a"))
    assert recent.get("a") is None


def test_one_large_object_does_not_drive_out_the_rest() -> None:
    """More than an eighth of the room is not worth it."""
    recent = Recent(LARGE)
    read_twice(recent, state("a"))
    read_twice(recent, state("b", size=LARGE // 8))
    assert (recent.get("a"), recent.get("b")) == (state("a"), None)


def test_the_oldest_goes_first() -> None:
    """By when it was kept."""
    room = 10 * (OVERHEAD_BYTES + 1)
    recent = Recent(room)
    for number in range(12):
        read_twice(recent, state(f"k{number}"))
    kept = [number for number in range(12) if recent.get(f"k{number}") is not None]
    assert kept == list(range(2, 12))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "read", "forget"]),
        st.sampled_from("abcdefghijkl"),
        st.integers(0, 400),
    ),
    max_size=60,
)


@settings(max_examples=80)
@given(steps=STEPS, room=st.integers(0, 6000))
def test_it_is_never_stale_and_never_too_large(
    steps: list[tuple[str, str, int]], room: int
) -> None:
    """Beside a dict that forgets nothing: the newest state, or nothing."""
    recent, truth = Recent(room), {key: state(key) for key in "abcdefghijkl"}
    for revision, (step, key, size) in enumerate(steps, start=2):
        if step == "write":
            truth[key] = truth[key]._replace(value=b"x" * size, revision=revision)
            recent.announced([event(key, revision, size=size)])
        elif step == "delete":  # and made anew at once
            truth[key] = KeyValue(key, b"x" * size, revision, revision)
            made = event(key, revision, EventType.CREATED, size)
            recent.announced([event(key, revision, EventType.DELETED), made])
        elif step == "read":
            recent.keep(truth[key])
        else:
            recent.forget(key)
        assert all(recent.get(each) in (None, truth[each]) for each in truth)
        kept = [found for each in truth if (found := recent.get(each)) is not None]
        assert recent.bytes == sum(len(found.value) + OVERHEAD_BYTES for found in kept) <= room
