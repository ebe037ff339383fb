"""What every engine of the store promises; one suite for the model and for SQLite."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from kubetrio.env import seeded
from kubetrio.store.errors import (
    Compacted,
    FutureRevision,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
)
from kubetrio.store.model import Event, EventType, KeyValue, Range, Stamped, Store
from kubetrio.store.sqlite.revisions import StoreConfig, open_store
from kubetrio.testing.store_model import MemoryStore

ALL = Range("\x01", "\U0010ffff")
PLENTY = 1 << 20


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every engine, empty."""
    if request.param == "memory":
        yield MemoryStore()
        return
    async with open_store(tmp_path, StoreConfig(durability="normal"), seeded(1)) as sqlite:
        yield sqlite


def value(text: str = "") -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def read(text: str, revision: int) -> bytes:
    return b'{"rev":%d,"text":"%b"}' % (revision, text.encode())


async def alphabet(store: Store) -> None:
    """Revisions 1 to 8: a to e created, b updated, d deleted, a updated."""
    for letter in "abcde":
        await store.create(letter, value(letter))
    await store.update("b", value("b2"), expected=2)
    await store.delete("d", value("gone"), expected=4)
    await store.update("a", value("a2"), expected=1)


# ---------------------------------------------------------------------- writes


async def test_a_new_store_is_at_revision_zero(store: Store) -> None:
    """Nothing was written, nothing compacted, and the state at 0 may be read."""
    assert (store.revision, store.compacted) == (0, 0)
    assert (await store.range(ALL, at=0)).items == []


async def test_every_write_takes_exactly_one_revision(store: Store) -> None:
    """Create, update and delete each move the counter by one."""
    created = await store.create("a", value())
    updated = await store.update("a", value(), expected=1)
    deleted = await store.delete("a", value(), expected=2)
    assert [kv.revision for kv in (created, updated, deleted)] == [1, 2, 3]
    assert store.revision == 3


async def test_refused_writes_take_no_revision(store: Store) -> None:
    """A write that fails leaves the counter and the state alone."""
    await store.create("a", value("a"))
    with pytest.raises(KeyExists):
        await store.create("a", value())
    with pytest.raises(RevisionMismatch):
        await store.update("a", value(), expected=9)
    with pytest.raises(KeyMissing):
        await store.delete("b", value(), expected=1)
    assert store.revision == 1
    assert await store.get("a") == KeyValue("a", read("a", 1), 1, 1)


async def test_stored_bytes_carry_their_revision(store: Store) -> None:
    """What a write returns is what a read returns, the revision inside."""
    await store.create("a", value("x"))
    updated = await store.update("a", value("y"), expected=1)
    assert updated == KeyValue("a", read("y", 2), 2, 1)
    assert await store.get("a") == updated


async def test_create_of_an_existing_key(store: Store) -> None:
    """The error names the key."""
    await store.create("a", value())
    with pytest.raises(KeyExists) as caught:
        await store.create("a", value())
    assert caught.value.key == "a"


@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_write_to_a_missing_key(store: Store, verb: str) -> None:
    """The error names the key, whether it never was or was deleted."""
    await store.create("gone", value())
    await store.delete("gone", value(), expected=1)
    for key in ("never", "gone"):
        with pytest.raises(KeyMissing) as caught:
            await getattr(store, verb)(key, value(), expected=1)
        assert caught.value.key == key


@pytest.mark.parametrize("verb", ["update", "delete"])
@pytest.mark.parametrize("expected", [0, 1, 3])
async def test_write_at_another_revision(store: Store, verb: str, expected: int) -> None:
    """The error names the key and the revision it is at."""
    await store.create("a", value())
    await store.update("a", value(), expected=1)
    with pytest.raises(RevisionMismatch) as caught:
        await getattr(store, verb)("a", value(), expected=expected)
    assert (caught.value.key, caught.value.current) == ("a", 2)


async def test_a_key_can_be_created_again(store: Store) -> None:
    """A second life has its own create revision."""
    await store.create("a", value("first"))
    await store.delete("a", value("last"), expected=1)
    again = await store.create("a", value("second"))
    assert again == KeyValue("a", read("second", 3), 3, 3)


async def test_deletion_returns_the_last_state(store: Store) -> None:
    """Stamped with the deletion's revision, created when the key was."""
    await store.create("other", value())
    await store.create("a", value())
    deleted = await store.delete("a", value("last"), expected=2)
    assert deleted == KeyValue("a", read("last", 3), 3, 2)
    assert await store.get("a") is None


# ---------------------------------------------------------------------- reads


async def test_get_at_each_revision(store: Store) -> None:
    """A key is what it was at every revision of its life."""
    await store.create("x", value())
    await store.create("a", value("one"))
    await store.update("a", value("two"), expected=2)
    await store.delete("a", value("last"), expected=3)
    await store.create("a", value("again"))
    seen = [await store.get("a", at=at) for at in range(6)]
    assert [kv and (kv.revision, kv.create_revision) for kv in seen] == [
        None,
        None,
        (2, 2),
        (3, 2),
        None,
        (5, 5),
    ]


async def test_reads_of_the_future_are_refused(store: Store) -> None:
    """Each kind of read names what was asked for and the newest revision."""
    await store.create("a", value())
    for read_at in (
        store.get("a", at=2),
        store.range(ALL, at=2),
        store.join(ALL, skip=0, separator=b",", at=2, max_bytes=PLENTY),
        store.count(ALL, at=2),
    ):
        with pytest.raises(FutureRevision) as caught:
            await read_at
        assert (caught.value.revision, caught.value.current) == (2, 1)


async def test_ranges_are_in_byte_order(store: Store) -> None:
    """The order is that of UTF-8 bytes, which is that of code points, not of UTF-16 or a locale."""
    keys = ["Z", "a", "a/", "a0", "é", "\uffff", "\U0001f680"]
    for key in reversed(keys):
        await store.create(key, value())
    assert [kv.key for kv in (await store.range(ALL)).items] == keys


async def test_range_bounds(store: Store) -> None:
    """The start belongs to a range, the end does not; a prefix has its keys and no others."""
    for key in ("a", "a/1", "a/2", "a0", "b"):
        await store.create(key, value())

    async def keys(keys: Range) -> list[str]:
        return [kv.key for kv in (await store.range(keys)).items]

    assert await keys(Range("a/1", "a0")) == ["a/1", "a/2"]
    assert await keys(Range.prefix("a/")) == ["a/1", "a/2"]
    assert await keys(Range.single("a")) == ["a"]
    assert await keys(Range.prefix("a/").after("a/1")) == ["a/2"]
    assert await keys(Range("b", "a")) == []


async def test_range_at_a_revision(store: Store) -> None:
    """Old values, deleted keys there, later keys not; the revision is the one that was read."""
    await alphabet(store)
    result = await store.range(ALL, at=5)
    assert result.revision == 5
    assert [(kv.key, kv.revision) for kv in result.items] == [
        ("a", 1),
        ("b", 2),
        ("c", 3),
        ("d", 4),
        ("e", 5),
    ]
    now = await store.range(ALL)
    assert now.revision == 8
    assert [(kv.key, kv.revision) for kv in now.items] == [("a", 8), ("b", 6), ("c", 3), ("e", 5)]


@pytest.mark.parametrize("at", [None, 5])
async def test_limited_ranges_say_whether_more_follows(store: Store, at: int | None) -> None:
    """A page that ends with the last key has nothing behind it."""
    await alphabet(store)
    everything = (await store.range(ALL, at=at)).items
    for limit in range(1, 7):
        page = await store.range(ALL, at=at, limit=limit)
        assert list(page.items) == list(everything[:limit])
        assert page.more is (limit < len(everything))


@pytest.mark.parametrize("at", [None, 5])
async def test_ranges_end_behind_so_many_bytes(store: Store, at: int | None) -> None:
    """With the value that reaches them, so never empty; a limit of keys holds as well."""
    await alphabet(store)
    everything = list((await store.range(ALL, at=at)).items)
    sizes = [len(item.value) for item in everything]
    for limit in (0, 2):
        for most in range(1, sum(sizes) + 2):
            page = await store.range(ALL, at=at, limit=limit, max_bytes=most)
            wanted = next((n for n in range(1, len(sizes)) if sum(sizes[:n]) >= most), len(sizes))
            wanted = min(wanted, limit or wanted)
            assert list(page.items) == everything[:wanted]
            assert page.more is (wanted < len(everything))


async def test_count_is_the_length_of_the_range(store: Store) -> None:
    """Now and at every revision, for all keys and for some."""
    await alphabet(store)
    for keys in (ALL, Range("b", "d")):
        assert await store.count(keys) == len((await store.range(keys)).items)
        for at in range(9):
            assert await store.count(keys, at=at) == len((await store.range(keys, at=at)).items)


@pytest.mark.parametrize("at", [None, 5])
async def test_join_is_the_range_in_one_piece(store: Store, at: int | None) -> None:
    """Values without their head, separated, with count and last key."""
    await alphabet(store)
    result = await store.range(ALL, at=at)
    joined = await store.join(ALL, skip=3, separator=b",", at=at, max_bytes=PLENTY)
    assert joined.body == b",".join(kv.value[3:] for kv in result.items)
    assert (joined.revision, joined.count) == (result.revision, len(result.items))
    assert (joined.last_key, joined.more) == ("e", False)


async def test_join_of_nothing(store: Store) -> None:
    """An empty range is no bytes, no key, nothing more."""
    await store.create("a", value())
    joined = await store.join(Range.prefix("b"), skip=3, separator=b",", max_bytes=PLENTY)
    assert (joined.body, joined.count, joined.last_key, joined.more) == (b"", 0, "", False)


@pytest.mark.parametrize("skip", [1000, 0])
async def test_join_may_skip_whole_values(store: Store, skip: int) -> None:
    """Values shorter than the head leave their separators."""
    for key in "abc":
        await store.create(key, value())
    joined = await store.join(ALL, skip=skip, separator=b"|", max_bytes=PLENTY)
    assert (joined.body.count(b"|"), joined.count) == (2, 3)


@pytest.mark.parametrize("at", [None, 5])
@pytest.mark.parametrize(("limit", "max_bytes"), [(0, 1), (0, 50), (0, 90), (2, PLENTY), (3, 45)])
async def test_pages_of_a_join_are_the_whole(
    store: Store, at: int | None, limit: int, max_bytes: int
) -> None:
    """Pages go on behind their last key, hold a value at least and the bounds at most."""
    await alphabet(store)
    whole = (await store.range(ALL, at=at)).items
    keys, parts, more = ALL, [], True
    while more:
        page = await store.join(
            keys, skip=0, separator=b",", at=at, limit=limit, max_bytes=max_bytes
        )
        assert page.count >= 1
        assert page.count == 1 or len(page.body) - (page.count - 1) <= max_bytes
        assert not limit or page.count <= limit
        parts.append(page.body)
        keys, more = keys.after(page.last_key), page.more
    assert b",".join(parts) == b",".join(kv.value for kv in whole)


async def test_join_keeps_any_bytes(store: Store) -> None:
    """Values are bytes: neither zeros nor broken UTF-8 nor quotes are touched."""
    odd = bytes(range(256))
    await store.create("a", Stamped(odd, odd))
    await store.create("b", Stamped(b"\xff\x00", b"\x00"))
    joined = await store.join(ALL, skip=0, separator=b",", max_bytes=PLENTY)
    assert joined.body == odd + b"1" + odd + b"," + b"\xff\x002\x00"


# ---------------------------------------------------------------------- events


async def test_events_tell_the_whole_story(store: Store) -> None:
    """Types, bytes before and after; a deletion carries the last state with its own revision."""
    await store.create("a", value("one"))
    await store.update("a", value("two"), expected=1)
    await store.delete("a", value("last"), expected=2)
    await store.create("a", value("again"))
    assert await store.events(after=0, max_bytes=PLENTY) == (
        [
            Event(1, "a", EventType.CREATED, read("one", 1), None),
            Event(2, "a", EventType.UPDATED, read("two", 2), read("one", 1)),
            Event(3, "a", EventType.DELETED, read("last", 3), read("two", 2)),
            Event(4, "a", EventType.CREATED, read("again", 4), None),
        ],
        4,
    )


async def test_events_of_some_keys_are_complete_up_to_the_newest(store: Store) -> None:
    """Where nothing matches, the revision still moves on."""
    await alphabet(store)
    events, upto = await store.events(after=2, keys=Range.single("b"), max_bytes=PLENTY)
    assert ([event.revision for event in events], upto) == ([6], 8)
    assert await store.events(after=6, keys=Range.single("b"), max_bytes=PLENTY) == ([], 8)


async def test_events_stop_at_their_bound(store: Store) -> None:
    """At least one event, complete up to the last of them; following them misses nothing."""
    await alphabet(store)
    revisions, upto = [], 0
    while upto < store.revision:
        events, upto = await store.events(after=upto, max_bytes=1)
        assert len(events) == 1
        assert events[-1].revision == upto
        revisions.append(upto)
    assert revisions == list(range(1, 9))


async def test_there_are_no_events_behind_the_newest(store: Store) -> None:
    """Asked from the newest revision or the future, the answer is complete up to the newest."""
    await alphabet(store)
    assert await store.events(after=8, max_bytes=PLENTY) == ([], 8)
    assert await store.events(after=100, max_bytes=PLENTY) == ([], 8)


async def test_commits_are_announced_before_they_are_answered(store: Store) -> None:
    """A listener has seen each revision, once and in order, when its write returns."""
    announced: list[Event] = []

    def hook(events: Sequence[Event]) -> None:
        announced.extend(events)
        assert store.revision == announced[-1].revision

    store.on_commit(hook)
    for revision in range(1, 4):
        await store.create(f"k{revision}", value())
        assert [event.revision for event in announced] == list(range(1, revision + 1))
    with pytest.raises(KeyExists):
        await store.create("k1", value())
    logged, _ = await store.events(after=0, max_bytes=PLENTY)
    assert announced == list(logged)


# ---------------------------------------------------------------------- compaction


async def test_compaction_keeps_what_is_newer(store: Store) -> None:
    """States at the floor and above, and events behind it, read as before."""
    await alphabet(store)
    states = {at: await store.range(ALL, at=at) for at in range(4, 9)}
    events = {after: await store.events(after=after, max_bytes=PLENTY) for after in range(4, 9)}
    await store.compact(4)
    assert store.compacted == 4
    for at in range(4, 9):
        assert await store.range(ALL, at=at) == states[at]
        assert await store.events(after=at, max_bytes=PLENTY) == events[at]


async def test_compaction_refuses_what_is_older(store: Store) -> None:
    """Each kind of question below the floor names what was asked for and the floor."""
    await alphabet(store)
    await store.compact(4)
    for question in (
        store.get("a", at=3),
        store.range(ALL, at=3),
        store.join(ALL, skip=0, separator=b",", at=3, max_bytes=PLENTY),
        store.count(ALL, at=3),
        store.events(after=3, max_bytes=PLENTY),
        store.events(after=3, keys=Range.single("a"), max_bytes=PLENTY),
    ):
        with pytest.raises(Compacted) as caught:
            await question
        assert (caught.value.revision, caught.value.floor) == (3, 4)


@pytest.mark.parametrize("to", [2, 4])
async def test_compaction_goes_forward_only(store: Store, to: int) -> None:
    """What is compacted cannot be compacted again."""
    await alphabet(store)
    await store.compact(4)
    with pytest.raises(Compacted) as caught:
        await store.compact(to)
    assert (caught.value.revision, caught.value.floor) == (to, 4)
    assert store.compacted == 4


async def test_compaction_of_the_future(store: Store) -> None:
    """A revision that does not exist cannot be compacted."""
    await alphabet(store)
    with pytest.raises(FutureRevision) as caught:
        await store.compact(9)
    assert (caught.value.revision, caught.value.current) == (9, 8)


async def test_compaction_in_steps_is_compaction(store: Store) -> None:
    """One revision at a time, nothing that may still be asked for changes."""
    await alphabet(store)
    states = [await store.range(ALL, at=at) for at in range(9)]
    for floor in range(1, 9):
        await store.compact(floor)
        for at in range(floor, 9):
            assert await store.range(ALL, at=at) == states[at]


async def test_writing_goes_on_behind_the_compaction_of_everything(store: Store) -> None:
    """The next revision follows, also where the newest one was a deletion."""
    await store.create("a", value())
    await store.delete("a", value(), expected=1)
    await store.compact(2)
    assert await store.events(after=2, max_bytes=PLENTY) == ([], 2)
    assert (await store.create("a", value())).revision == 3


async def test_statistics_follow_the_writes(store: Store) -> None:
    """Revision, floor and number of writes are told."""
    await alphabet(store)
    await store.compact(3)
    numbers = store.statistics()
    assert (numbers.revision, numbers.compacted, numbers.writes) == (8, 3, 8)
    assert (numbers.queued, numbers.largest_batch) == (0, 1)
    assert 1 <= numbers.commits <= 8
