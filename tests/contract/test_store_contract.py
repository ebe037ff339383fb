"""What every engine of the store promises; one suite for all kinds of them.

Revisions are named by their place: `made[3]` is the third that was made, whatever its number is.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.errors import (
    Compacted,
    FutureRevision,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
)
from kubetrio.store.memory import Retention, open_memory
from kubetrio.store.model import (
    Change,
    Event,
    EventType,
    KeyValue,
    Range,
    Revision,
    Rewinding,
    Stamped,
    Store,
    unstampable,
)
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.encrypting import encrypting
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd, packaged
from kubetrio.testing.etcdmodel import etcd_model
from kubetrio.testing.etcdstore import modelled, replica
from kubetrio.testing.lagging import RemoteStore, lagging
from kubetrio.testing.store_model import FollowingStore, MemoryStore

ALL = Range("\x01", "\U0010ffff")
PLENTY = 1 << 20


MODELS: dict[str, Callable[[], MemoryStore]] = {
    "memory": MemoryStore,
    "gaps": lambda: MemoryStore(step=7),
    "stamps-on-read": lambda: MemoryStore(stamps_on_read=True),
    "told": lambda: FollowingStore(MemoryStore(step=3, stamps_on_read=True)),
}


REAL = {"etcd": binary, "etcd-packaged": packaged}
"""Binaries of etcd, the one of the system and the one that a package of Python's brings."""
ENGINES = (*MODELS, "lagging", "in-memory", "sqlite", "journal", "encrypted", "etcd-model", *REAL)
FROM_ZERO = frozenset({
    "test_a_new_store_is_at_revision_zero", "test_compaction_in_steps_is_compaction",
})  # fmt: skip
"""Tests of revisions from zero on, which another test of the same etcd has made."""


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Etcd]]:
    """Real etcds of one member, by engine; tests are skipped where there is none."""
    running: dict[str, Etcd] = {}
    with ExitStack() as stack:

        def cluster(engine: str) -> Etcd:
            program = REAL[engine]()
            if program is None or (engine != "etcd" and program == binary()):
                pytest.skip(f"{engine}: {MISSING}")
            if engine not in running:
                folder = tmp_path_factory.mktemp(engine)
                running[engine] = stack.enter_context(etcd(folder, program=program))
            return running[engine]

        yield cluster


@pytest.fixture(params=ENGINES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every kind of engine, empty."""
    if request.param == "etcd-model":
        if request.node.originalname in FROM_ZERO:
            pytest.skip("revisions of an etcd do not begin with zero")
        async with etcd_model() as model, modelled(model, opened) as following:
            yield following
        return
    if request.param in REAL:
        if "autojump_clock" in request.fixturenames:
            pytest.skip("an etcd keeps real time")
        if request.node.originalname in FROM_ZERO:
            pytest.skip("revisions of an etcd do not begin with zero")
        urls = request.getfixturevalue("clusters")(request.param).urls
        prefix = f"/{request.node.name}/"
        async with replica(tuple(urls), prefix, opened, seeded(1)) as following:
            yield following
        return
    if request.param in MODELS:
        yield MODELS[request.param]()
        return
    if request.param == "lagging":
        async with lagging(RemoteStore()) as behind:
            yield behind
        return
    if request.param == "in-memory":
        async with open_memory(Retention(), opened) as memory:
            yield memory
        return
    journal_bytes = 64 * 1024 if request.param == "journal" else 0
    config = StoreConfig(durability="normal", journal_bytes=journal_bytes)
    async with open_store(tmp_path, config, seeded(1), opened) as sqlite:
        yield encrypting(sqlite, opened, seeded(2)) if request.param == "encrypted" else sqlite


async def passes(store: Store, seconds: float) -> None:
    """Time goes by; the model has no task that looks at the clock."""
    await trio.sleep(seconds)
    if isinstance(store, MemoryStore):
        await store.expire()


def value(text: str = "") -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def opened(complete: bytes) -> Stamped:
    """The hole of what `value` makes, once it is filled; of encrypted bytes none."""
    mark, _, rest = complete.partition(b'{"rev":')
    if mark:
        return unstampable(complete)
    return Stamped(b'{"rev":', rest[rest.index(b",") :])


def read(text: str, revision: int) -> bytes:
    return b'{"rev":%d,"text":"%b"}' % (revision, text.encode())


def several(store: Store) -> Rewinding:
    """Writing of several keys at once, where an engine has it."""
    if store.rewinding is None:
        pytest.skip("an etcd has one revision for what is written together")
    return store.rewinding


def written_by(store: Store, verb: str, key: str, expected: Revision) -> Awaitable[object]:
    """An update or a deletion."""
    if verb == "delete":
        return store.delete(key, expected=expected)
    return store.update(key, value(), expected=expected)


async def alphabet(store: Store) -> list[Revision]:
    """Eight revisions: a to e created, b updated, d deleted, a updated; 0 before them."""
    made = [0]
    for letter in "abcde":
        made.append((await store.create(letter, value(letter))).revision)
    made.append((await store.update("b", value("b2"), expected=made[2])).revision)
    made.append(await store.delete("d", expected=made[4]))
    made.append((await store.update("a", value("a2"), expected=made[1])).revision)
    return made


async def one(store: Store, key: str = "a", text: str = "") -> Revision:
    """Create a key; its revision."""
    return (await store.create(key, value(text))).revision


# ---------------------------------------------------------------------- writes


async def test_a_new_store_is_at_revision_zero(store: Store) -> None:
    """Nothing was written, nothing compacted, and the state at 0 may be read."""
    assert (store.revision, store.compacted) == (0, 0)
    assert (await store.range(ALL, at=0)).items == []


async def test_every_write_takes_a_revision_of_its_own(store: Store) -> None:
    """Create, update and delete each move the counter, to what they answer."""
    created = await store.create("a", value())
    updated = await store.update("a", value(), expected=created.revision)
    deleted = await store.delete("a", expected=updated.revision)
    assert 0 < created.revision < updated.revision < deleted == store.revision


async def test_refused_writes_take_no_revision(store: Store) -> None:
    """A write that fails leaves the counter and the state alone."""
    first = await one(store, "a", "a")
    with pytest.raises(KeyExists):
        await store.create("a", value())
    with pytest.raises(RevisionMismatch):
        await store.update("a", value(), expected=first + 9)
    with pytest.raises(KeyMissing):
        await store.delete("b", expected=first)
    assert store.revision == first
    assert await store.get("a") == KeyValue("a", read("a", first), first, first)


async def test_stored_bytes_carry_their_revision(store: Store) -> None:
    """What a write returns is what a read returns, the revision inside."""
    first = await one(store, "a", "x")
    updated = await store.update("a", value("y"), expected=first)
    then = updated.revision
    assert updated == KeyValue("a", read("y", then), then, first)
    assert await store.get("a") == updated


async def test_create_of_an_existing_key(store: Store) -> None:
    """The error names the key and the revision it is at."""
    first = await one(store)
    with pytest.raises(KeyExists) as caught:
        await store.create("a", value())
    assert (caught.value.key, caught.value.winner) == ("a", first)


@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_write_to_a_missing_key(store: Store, verb: str) -> None:
    """The error names the key, whether it never was or was deleted."""
    first = await one(store, "gone")
    await store.delete("gone", expected=first)
    for key in ("never", "gone"):
        with pytest.raises(KeyMissing) as caught:
            await written_by(store, verb, key, first)
        assert caught.value.key == key
        assert caught.value.winner == store.revision, "which has no such key"


@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_write_at_another_revision(store: Store, verb: str) -> None:
    """The error names the key and the revision it is at."""
    first = await one(store)
    second = (await store.update("a", value(), expected=first)).revision
    for expected in (0, first, second + 1):
        with pytest.raises(RevisionMismatch) as caught:
            await written_by(store, verb, "a", expected)
        assert (caught.value.key, caught.value.winner) == ("a", second)


async def test_a_key_can_be_created_again(store: Store) -> None:
    """A second life has its own create revision."""
    first = await one(store, "a", "first")
    await store.delete("a", expected=first)
    again = await store.create("a", value("second"))
    now = again.revision
    assert again == KeyValue("a", read("second", now), now, now)


async def test_reads_after_the_barrier_see_every_write(store: Store) -> None:
    """The newest revision is that of the last write, and local state comes to it."""
    made = await one(store)
    newest = await store.newest()
    assert newest >= made
    with trio.fail_after(1):
        await store.caught_up(newest)
    found = await store.cached.get("a")
    assert found is not None
    assert found.revision == made
    assert store.revision == newest


async def test_a_revision_to_come_is_waited_for(store: Store) -> None:
    """Waiting may be cancelled, and ends with the commit that brings the revision."""
    newest = await store.newest()
    with trio.move_on_after(0.01) as waited:
        await store.caught_up(newest + 1)
    assert waited.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.caught_up, newest + 1)
        await trio.testing.wait_all_tasks_blocked()
        await one(store)


async def test_deletion_returns_its_revision(store: Store) -> None:
    """A key that is gone has no state."""
    await one(store, "other")
    first = await one(store)
    assert await store.delete("a", expected=first) == store.revision > first
    assert await store.get("a") is None


async def test_updates_that_lead_to_a_deletion_are_updates(store: Store) -> None:
    """Each engine takes them, with the refusals of any update."""
    first = await one(store)
    updated = await store.freeing.update("a", value("marked"), expected=first)
    assert await store.get("a") == updated
    with pytest.raises(RevisionMismatch):
        await store.freeing.update("a", value(), expected=first)
    await store.delete("a", expected=updated.revision)
    with pytest.raises(KeyMissing):
        await store.freeing.update("a", value(), expected=updated.revision)


# ---------------------------------------------------------------------- several at once


async def test_changes_that_are_made_together_are_announced_together(store: Store) -> None:
    """Each at a revision of its own, in the order in which they were given."""
    made = await alphabet(store)
    announced: list[Sequence[Event]] = []
    store.on_commit(announced.append)
    await several(store).write_all(
        [
            Change(EventType.DELETED, "a", None, made[8]),
            Change(EventType.CREATED, "d", value("d2"), 0),
            Change(EventType.UPDATED, "b", value("b3"), made[6]),
        ]
    )
    (events,) = announced
    assert [(event.type, event.key) for event in events] == [
        (EventType.DELETED, "a"),
        (EventType.CREATED, "d"),
        (EventType.UPDATED, "b"),
    ]
    assert made[8] < events[0].revision < events[1].revision < events[2].revision
    now = {item.key: item for item in (await store.range(ALL)).items}
    assert sorted(now) == ["b", "c", "d", "e"]
    assert now["b"].value == read("b3", events[2].revision)
    assert events[0].value == read("a2", events[0].revision)
    assert (await store.events(after=made[8], max_bytes=PLENTY))[0] == list(events)


@pytest.mark.parametrize(
    ("kind", "key", "place", "error"),
    [
        (EventType.CREATED, "a", 0, KeyExists),
        (EventType.UPDATED, "a", 1, RevisionMismatch),
        (EventType.DELETED, "d", 4, KeyMissing),
    ],
)
async def test_of_changes_that_are_made_together_one_refusal_refuses_all(
    store: Store, kind: EventType, key: str, place: int, error: type[Exception]
) -> None:
    """Nothing is stored, and no revision taken; the store goes on."""
    made = await alphabet(store)
    before = await store.range(ALL)
    good = Change(EventType.CREATED, "new", value(), 0)
    written = None if kind is EventType.DELETED else value()
    with pytest.raises(error):
        await several(store).write_all([good, Change(kind, key, written, made[place])])
    assert await store.range(ALL) == before
    assert await one(store, "new") > before.revision


async def test_no_changes_are_no_commit(store: Store) -> None:
    """Nothing is announced."""
    now = await one(store)
    await several(store).write_all([])
    assert store.revision == now


# ---------------------------------------------------------------------- reads


async def test_get_at_each_revision(store: Store) -> None:
    """A key is what it was at every number of its life, also those that no write has."""
    before = await one(store, "x")
    first = await one(store, "a", "one")
    second = (await store.update("a", value("two"), expected=first)).revision
    gone = await store.delete("a", expected=second)
    again = await one(store, "a", "again")
    for at in range(again + 1):
        found = await store.get("a", at=at)
        seen = found and (found.revision, found.create_revision)
        if before <= at < first or at < before or gone <= at < again:
            assert seen is None
        else:
            newest = max(item for item in (first, second, again) if item <= at)
            assert seen == (newest, again if newest == again else first)


async def test_reads_of_the_future_are_refused(store: Store) -> None:
    """Each kind of read names what was asked for and the newest revision."""
    now = await one(store)
    for read_at in (
        store.get("a", at=now + 1),
        store.range(ALL, at=now + 1),
        store.join(ALL, skip=0, separator=b",", at=now + 1, max_bytes=PLENTY),
        store.count(ALL, at=now + 1),
    ):
        with pytest.raises(FutureRevision) as caught:
            await read_at
        assert (caught.value.revision, caught.value.current) == (now + 1, now)


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
    made = await alphabet(store)
    result = await store.range(ALL, at=made[5])
    assert result.revision == made[5]
    assert [(kv.key, kv.revision) for kv in result.items] == list(
        zip("abcde", made[1:6], strict=True)
    )
    now = await store.range(ALL)
    assert now.revision == made[8]
    assert [(kv.key, kv.revision) for kv in now.items] == [
        ("a", made[8]),
        ("b", made[6]),
        ("c", made[3]),
        ("e", made[5]),
    ]


@pytest.mark.parametrize("place", [None, 5])
async def test_limited_ranges_say_whether_more_follows(store: Store, place: int | None) -> None:
    """A page that ends with the last key has nothing behind it."""
    made = await alphabet(store)
    at = None if place is None else made[place]
    everything = (await store.range(ALL, at=at)).items
    for limit in range(1, 7):
        page = await store.range(ALL, at=at, limit=limit)
        assert list(page.items) == list(everything[:limit])
        assert page.more is (limit < len(everything))


@pytest.mark.parametrize("place", [None, 5])
async def test_ranges_end_behind_so_many_bytes(store: Store, place: int | None) -> None:
    """With the value that reaches them, so never empty; a limit of keys holds as well."""
    made = await alphabet(store)
    at = None if place is None else made[place]
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
    made = await alphabet(store)
    for keys in (ALL, Range("b", "d")):
        assert await store.count(keys) == len((await store.range(keys)).items)
        for at in made:
            assert await store.count(keys, at=at) == len((await store.range(keys, at=at)).items)


@pytest.mark.parametrize("place", [None, 5])
async def test_join_is_the_range_in_one_piece(store: Store, place: int | None) -> None:
    """Values without their head, separated, with count and last key."""
    made = await alphabet(store)
    at = None if place is None else made[place]
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


@pytest.mark.parametrize("place", [None, 5])
@pytest.mark.parametrize(("limit", "max_bytes"), [(0, 1), (0, 50), (0, 90), (2, PLENTY), (3, 45)])
async def test_pages_of_a_join_are_the_whole(
    store: Store, place: int | None, limit: int, max_bytes: int
) -> None:
    """Pages go on behind their last key, hold a value at least and the bounds at most."""
    made = await alphabet(store)
    at = None if place is None else made[place]
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
    first = (await store.create("a", Stamped(odd, odd))).revision
    second = (await store.create("b", Stamped(b"\xff\x00", b"\x00"))).revision
    joined = await store.join(ALL, skip=0, separator=b",", max_bytes=PLENTY)
    assert joined.body == b"%b%d%b,\xff\x00%d\x00" % (odd, first, odd, second)


# ---------------------------------------------------------------------- events


async def test_events_tell_the_whole_story(store: Store) -> None:
    """Types, bytes before and after; a deletion carries the last state with its own revision."""
    first = await one(store, "a", "one")
    second = (await store.update("a", value("two"), expected=first)).revision
    third = await store.delete("a", expected=second)
    fourth = await one(store, "a", "again")
    assert await store.events(after=0, max_bytes=PLENTY) == (
        [
            Event(first, "a", EventType.CREATED, read("one", first), None),
            Event(second, "a", EventType.UPDATED, read("two", second), read("one", first)),
            Event(third, "a", EventType.DELETED, read("two", third), read("two", second)),
            Event(fourth, "a", EventType.CREATED, read("again", fourth), None),
        ],
        fourth,
    )


async def test_events_of_some_keys_are_complete_up_to_the_newest(store: Store) -> None:
    """Where nothing matches, the revision still moves on."""
    made = await alphabet(store)
    b = Range.single("b")
    events, upto = await store.events(after=made[2], keys=b, max_bytes=PLENTY)
    assert ([event.revision for event in events], upto) == ([made[6]], made[8])
    assert await store.events(after=made[6], keys=b, max_bytes=PLENTY) == ([], made[8])


async def test_events_stop_at_their_bound(store: Store) -> None:
    """At least one event, complete up to the last of them; following them misses nothing."""
    made = await alphabet(store)
    revisions, upto = [0], 0
    while upto < store.revision:
        events, upto = await store.events(after=upto, max_bytes=1)
        assert len(events) == 1
        assert events[-1].revision == upto
        revisions.append(upto)
    assert revisions == made


async def test_events_begin_behind_a_number_that_no_write_has(store: Store) -> None:
    """The next one is the first of them."""
    made = await alphabet(store)
    # A store that others write to has had many before.
    for after in (0, *range(max(1, made[1] - 2), made[8])):
        events, _ = await store.events(after=after, max_bytes=PLENTY)
        assert [event.revision for event in events] == [item for item in made if item > after]


async def test_there_are_no_events_behind_the_newest(store: Store) -> None:
    """Asked from the newest revision or the future, the answer is complete up to the newest."""
    newest = (await alphabet(store))[8]
    assert await store.events(after=newest, max_bytes=PLENTY) == ([], newest)
    assert await store.events(after=newest + 100, max_bytes=PLENTY) == ([], newest)


async def test_commits_are_announced_before_they_are_answered(store: Store) -> None:
    """A listener has seen each revision, once and in order, when its write returns."""
    announced: list[Event] = []

    def hook(events: Sequence[Event]) -> None:
        announced.extend(events)
        assert store.revision == announced[-1].revision

    store.on_commit(hook)
    made = []
    for number in range(1, 4):
        made.append(await one(store, f"k{number}"))
        assert [event.revision for event in announced] == made
    with pytest.raises(KeyExists):
        await store.create("k1", value())
    logged, _ = await store.events(after=0, max_bytes=PLENTY)
    assert announced == list(logged)


async def test_a_listener_that_fails_costs_nobody_else(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """Writers are answered, other listeners told of each commit; log and statistics say it."""
    heard: list[Revision] = []

    def broken(_: Sequence[Event]) -> None:
        raise ZeroDivisionError

    store.on_commit(broken)
    store.on_commit(lambda events: heard.extend(event.revision for event in events))
    made = [await one(store, f"k{number}") for number in range(3)]
    assert heard == made
    assert store.statistics().failed_listeners == 3
    assert caplog.text.count("a listener of the commit stream failed") == 3


# ---------------------------------------------------------------------- compaction


async def test_compaction_keeps_what_is_newer(store: Store) -> None:
    """States at the floor and above, and events behind it, read as before."""
    made = await alphabet(store)
    states = {at: await store.range(ALL, at=at) for at in made[4:]}
    events = {after: await store.events(after=after, max_bytes=PLENTY) for after in made[4:]}
    await store.compact(made[4])
    assert store.compacted == made[4]
    for at in made[4:]:
        assert await store.range(ALL, at=at) == states[at]
        assert await store.events(after=at, max_bytes=PLENTY) == events[at]


async def test_compaction_refuses_what_is_older(store: Store) -> None:
    """Each kind of question below the floor names what was asked for and the floor."""
    floor = (await alphabet(store))[4]
    await store.compact(floor)
    at = floor - 1
    for question in (
        store.get("a", at=at),
        store.range(ALL, at=at),
        store.join(ALL, skip=0, separator=b",", at=at, max_bytes=PLENTY),
        store.count(ALL, at=at),
        store.events(after=at, max_bytes=PLENTY),
        store.events(after=at, keys=Range.single("a"), max_bytes=PLENTY),
    ):
        with pytest.raises(Compacted) as caught:
            await question
        assert (caught.value.revision, caught.value.floor) == (at, floor)


@pytest.mark.parametrize("place", [2, 4])
async def test_compaction_goes_forward_only(store: Store, place: int) -> None:
    """What is compacted cannot be compacted again."""
    made = await alphabet(store)
    await store.compact(made[4])
    with pytest.raises(Compacted) as caught:
        await store.compact(made[place])
    assert (caught.value.revision, caught.value.floor) == (made[place], made[4])
    assert store.compacted == made[4]


async def test_compaction_of_the_future(store: Store) -> None:
    """A revision that does not exist cannot be compacted."""
    newest = (await alphabet(store))[8]
    with pytest.raises(FutureRevision) as caught:
        await store.compact(newest + 1)
    assert (caught.value.revision, caught.value.current) == (newest + 1, newest)


async def test_compaction_in_steps_is_compaction(store: Store) -> None:
    """One number at a time, nothing that may still be asked for changes."""
    made = await alphabet(store)
    states = {at: await store.range(ALL, at=at) for at in made}
    for floor in range(1, made[8] + 1):
        await store.compact(floor)
        for at in made:
            if at >= floor:
                assert await store.range(ALL, at=at) == states[at]


async def test_writing_goes_on_behind_the_compaction_of_everything(store: Store) -> None:
    """The next revision is a newer one, also where the newest one was a deletion."""
    first = await one(store)
    gone = await store.delete("a", expected=first)
    await store.compact(gone)
    assert await store.events(after=gone, max_bytes=PLENTY) == ([], gone)
    assert await one(store) > gone


async def test_statistics_follow_the_writes(store: Store) -> None:
    """Revision, floor and number of writes are told."""
    made = await alphabet(store)
    await store.compact(made[3])
    numbers = store.statistics()
    assert (numbers.revision, numbers.compacted, numbers.writes) == (made[8], made[3], 8)
    assert (numbers.queued, numbers.refusing) == (0, "")


# ---------------------------------------------------------------------- time to live


async def test_a_value_goes_when_its_time_to_live_is_over(
    store: Store, autojump_clock: MockClock
) -> None:
    """Not before, and at most a moment later; one without a time stays."""
    await store.create("lease", value(), ttl_s=60)
    await one(store, "stays")
    await passes(store, 59)
    assert await store.count(ALL) == 2
    await passes(store, 3)
    assert [item.key for item in (await store.range(ALL)).items] == ["stays"]


async def test_expiry_is_a_deletion_like_any(store: Store, autojump_clock: MockClock) -> None:
    """Announced and logged, with the last state at a revision of its own; the past remembers."""
    announced: list[Event] = []
    store.on_commit(announced.extend)
    made = (await store.create("lease", value("x"), ttl_s=60)).revision
    await one(store, "other")
    await passes(store, 62)
    gone = store.revision
    assert gone > made
    deletion = Event(gone, "lease", EventType.DELETED, read("x", gone), read("x", made))
    assert announced[-1] == deletion
    assert (await store.events(after=made, max_bytes=PLENTY))[0][-1] == deletion
    assert await store.get("lease") is None
    assert await store.get("lease", at=gone - 1) == KeyValue("lease", read("x", made), made, made)


async def test_a_write_renews_the_time_to_live(store: Store, autojump_clock: MockClock) -> None:
    """It counts from the newest write."""
    first = (await store.create("lease", value(), ttl_s=60)).revision
    await passes(store, 50)
    await store.update("lease", value(), expected=first, ttl_s=60)
    await passes(store, 50)
    assert await store.get("lease") is not None
    await passes(store, 12)
    assert await store.get("lease") is None


async def test_a_write_without_a_time_to_live_clears_it(
    store: Store, autojump_clock: MockClock
) -> None:
    """What was left to the value before is void."""
    first = (await store.create("lease", value(), ttl_s=60)).revision
    await store.update("lease", value(), expected=first)
    await passes(store, 100)
    assert await store.get("lease") is not None


async def test_the_time_to_live_goes_with_its_value(
    store: Store, autojump_clock: MockClock
) -> None:
    """A key that was deleted and created again has nothing left of it."""
    first = (await store.create("lease", value(), ttl_s=60)).revision
    await store.delete("lease", expected=first)
    again = await one(store, "lease")
    await passes(store, 100)
    assert store.revision == again


async def test_an_update_may_bring_a_time_to_live(store: Store, autojump_clock: MockClock) -> None:
    """To what had none."""
    first = await one(store)
    await store.update("a", value(), expected=first, ttl_s=1)
    await passes(store, 3)
    assert await store.get("a") is None


async def test_changes_that_are_made_together_may_bring_times_to_live(
    store: Store, autojump_clock: MockClock
) -> None:
    """Each its own."""
    changes = [
        Change(EventType.CREATED, "short", value(), 0, 60),
        Change(EventType.CREATED, "long", value(), 0, 120),
        Change(EventType.CREATED, "stays", value(), 0),
    ]
    await several(store).write_all(changes)
    await passes(store, 62)
    assert [item.key for item in (await store.range(ALL)).items] == ["long", "stays"]
    await passes(store, 60)
    assert [item.key for item in (await store.range(ALL)).items] == ["stays"]


async def test_values_end_in_the_order_of_their_times(
    store: Store, autojump_clock: MockClock
) -> None:
    """Not in that of their writes."""
    announced: list[Event] = []
    for key, ttl_s in (("late", 30), ("soon", 10), ("next", 20)):
        await store.create(key, value(), ttl_s=ttl_s)
    store.on_commit(announced.extend)
    await passes(store, 100)
    assert [event.key for event in announced] == ["soon", "next", "late"]


# ---------------------------------------------------------------------- revisions of others


async def test_commits_of_others_are_announced_and_read() -> None:
    """Nobody here wrote them: several at once, with numbers left out."""
    leader = MemoryStore(step=5)
    store = FollowingStore(leader)
    announced: list[Event] = []
    store.on_commit(announced.extend)
    made = await alphabet(leader)
    assert [event.revision for event in announced] == made[1:]
    for at in made:
        assert await store.range(ALL, at=at) == await leader.range(ALL, at=at)
    assert await store.events(after=0, max_bytes=PLENTY) == await leader.events(
        after=0, max_bytes=PLENTY
    )


async def test_progress_without_events() -> None:
    """What others write elsewhere moves the revision, and nothing is announced as a commit."""
    leader = MemoryStore()
    store = FollowingStore(leader, Range.prefix("mine/"))
    commits: list[Event] = []
    told: list[Revision] = []
    store.on_commit(commits.extend)
    store.on_progress(told.append)
    for key in ("mine/a", "other/a", "other/b", "mine/b"):
        await leader.create(key, value())
    assert [event.key for event in commits] == ["mine/a", "mine/b"]
    assert told == [2, 3]
    assert store.revision == 4
    assert (await store.range(ALL, at=3)).revision == 3
    assert await store.events(after=1, keys=Range.single("x"), max_bytes=PLENTY) == ([], 4)
