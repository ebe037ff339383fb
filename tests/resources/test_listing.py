"""Lists: pages, continue tokens, which revision is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import ObjectEncoder, json_encoder
from kubetrio.kinds.builtin import registry
from kubetrio.machinery import fields, labels
from kubetrio.machinery.status import ApiError
from kubetrio.resources import listing, paging
from kubetrio.resources.continuetokens import encode_token
from kubetrio.resources.listing import (
    Listing,
    ListOptions,
    parse_revision,
    plain_revision,
)
from kubetrio.resources.objects import stamp
from kubetrio.resources.representation import Encoder
from kubetrio.resources.selection import Selection
from kubetrio.schema.fieldselectors import FieldSelectors
from kubetrio.schema.kind import Kind
from kubetrio.store.model import JoinResult, RangeResult
from kubetrio.testing.store_model import MemoryStore
from kubetrio.watch.hub import Hub
from kubetrio.wire.negotiate import Accepted

CONFIGMAPS = registry().resources["", "v1", "configmaps"]
UNCACHED = replace(CONFIGMAPS, cached=False)
PLAIN = json_encoder(CONFIGMAPS)
PREFIX = CONFIGMAPS.prefix("ns")


PLAIN_JSON = Accepted(serializer="json", media_type="application/json")
PROTOBUF = Accepted(serializer="protobuf", media_type="application/vnd.kubernetes.protobuf")
TABLE = Accepted(serializer="json", media_type="application/json", as_kind="Table", as_version="v1")


def other(accepted: Accepted) -> ObjectEncoder:
    """An encoder that looks into objects."""
    return ObjectEncoder(CONFIGMAPS, accepted, "Metadata", lambda: 0.0, ByteCache(0))


class World:
    """A store with a listing on it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.hub = Hub(self.store)
        self.listing = Listing(self.store, self.hub)

    async def put(self, name: str, namespace: str = "ns", **tags: str) -> int:
        """Create or change a ConfigMap; its revision."""
        meta = {"name": name, "namespace": namespace, "labels": tags}
        value = stamp({"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta})
        key = CONFIGMAPS.key(namespace, name)
        found = await self.store.get(key)
        if found is None:
            return (await self.store.create(key, value)).revision
        return (await self.store.update(key, value, expected=found.revision)).revision

    async def raw(
        self,
        encoder: Encoder = PLAIN,
        namespace: str = "ns",
        resource: Kind = CONFIGMAPS,
        **options: Any,
    ) -> bytes:
        """A whole list as bytes."""
        begin, rest = await self.listing.open(resource, namespace, ListOptions(**options), encoder)
        more = rest is not None
        while rest is not None and more:
            body, more = await rest.next()
            begin += body
        return begin

    async def list(self, namespace: str = "ns", **options: Any) -> Any:
        """A list as JSON."""
        return orjson.loads(await self.raw(namespace=namespace, **options))


@pytest.fixture
async def world() -> World:
    """Five ConfigMaps, at revisions 1 to 5."""
    world = World()
    for number in range(1, 6):
        await world.put(f"c{number}", tier="a" if number % 2 else "b")
    return world


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


def by_label(text: str) -> Selection:
    return Selection(labels.parse(text), None, lambda obj: {})


def by_name(text: str) -> Selection:
    return Selection(None, fields.parse(text), FieldSelectors().values)


async def refusal(world: World, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await world.list(**options)
    return caught.value


# ---------------------------------------------------------------- tokens


async def test_a_token_cannot_leave_its_namespace(world: World) -> None:
    """A start beyond the collection finds nothing of others."""
    await world.put("x", "zz")
    start = encode_token(-1, PREFIX + "zzz", PREFIX)
    assert names(await world.list(continue_token=start, limit=5)) == []


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
async def test_pages_are_the_list(world: World, limit: int) -> None:
    """Each page at most so long, all at the first one's revision, none left out or twice."""
    found: list[str] = []
    page = await world.list(limit=limit)
    while True:
        assert page["metadata"]["resourceVersion"] == "5"
        found += names(page)
        rest = page["metadata"].get("remainingItemCount", 0)
        assert len(found) + rest == 5
        if "continue" not in page["metadata"]:
            break
        await world.put(f"new-{len(found)}")  # not seen by this list
        page = await world.list(limit=limit, continue_token=page["metadata"]["continue"])
    assert found == ["c1", "c2", "c3", "c4", "c5"]


async def test_the_rest_may_come_at_once(world: World) -> None:
    """A token needs no limit."""
    page = await world.list(limit=2)
    await world.put("c25")
    rest = await world.list(continue_token=page["metadata"]["continue"])
    assert names(rest) == ["c3", "c4", "c5"]
    assert rest["metadata"] == {"resourceVersion": "5"}


async def test_a_limit_counts_what_a_selector_chooses(world: World) -> None:
    """A page is full of matches; how many are left nobody knows."""
    page = await world.list(limit=2, selection=by_label("tier=a"))
    assert names(page) == ["c1", "c3"]
    assert page["metadata"]["continue"]
    assert "remainingItemCount" not in page["metadata"]
    token_ = page["metadata"]["continue"]
    rest = await world.list(limit=2, selection=by_label("tier=a"), continue_token=token_)
    assert names(rest) == ["c5"]
    assert "continue" not in rest["metadata"]


async def test_pages_through_many_that_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are looked at in steps; a match behind many steps is found."""
    monkeypatch.setattr(paging, "SELECT_KEYS", 3)
    world = World()
    for number in range(20):
        await world.put(f"n{number:02}", tier="a" if number in (2, 17) else "b")
    page = await world.list(limit=2, selection=by_label("tier=a"))
    assert names(page) == ["n02", "n17"]


async def test_a_large_list_is_the_same_in_pieces(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's chunks do not show, whoever encodes and whether a limit is given."""
    for accept in (PLAIN_JSON, PROTOBUF, TABLE):
        monkeypatch.undo()
        wholes = [await world.raw(other(accept), limit=limit) for limit in (0, 3, 9)]
        monkeypatch.setattr(paging, "CHUNK_BYTES", 1)
        pieces = [await world.raw(other(accept), limit=limit) for limit in (0, 3, 9)]
        assert pieces == wholes
    monkeypatch.undo()
    whole = await world.raw()
    monkeypatch.setattr(paging, "CHUNK_BYTES", 1)
    assert await world.raw() == whole == await world.raw(limit=9)


async def test_others_have_their_turn_while_a_list_is_encoded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two objects, if they are large."""
    monkeypatch.setattr(paging, "SLICE_BYTES", 1)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        for accept in (PLAIN_JSON, PROTOBUF, TABLE):
            before = turns
            await world.raw(other(accept))
            assert turns - before >= 3  # which of two tasks begins is nobody's promise
        nursery.cancel_scope.cancel()


async def test_joining_equals_encoding_item_by_item(world: World) -> None:
    """The short way of JSON and the long way of every other encoder say the same bytes."""
    slow = other(PLAIN_JSON)
    assert await world.raw() == await world.raw(slow)
    everything = by_label("tier in (a,b)")
    assert await world.raw() == await world.raw(selection=everything)
    assert await world.raw() == await world.raw(slow, selection=everything)


async def test_an_empty_list(world: World) -> None:
    """Has items, none of them."""
    expected = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},'
    assert await world.raw(namespace="void") == expected + b'"items":[]}\n'


async def test_all_namespaces(world: World) -> None:
    """In key order; a neighbour whose name begins alike is another namespace."""
    await world.put("x", "ns-2")
    await world.put("y", "a")
    assert names(await world.list()) == ["c1", "c2", "c3", "c4", "c5"]
    assert set(names(await world.list(""))) == {"y", "c1", "c2", "c3", "c4", "c5", "x"}


async def test_a_pinned_name_reads_one_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is decoded."""
    seen: list[bytes] = []
    matches = Selection.matches_bytes

    def counting(self: Selection, value: bytes) -> bool:
        seen.append(value)
        return matches(self, value)

    monkeypatch.setattr(Selection, "matches_bytes", counting)
    assert names(await world.list(selection=by_name("metadata.name=c3"))) == ["c3"]
    assert len(seen) == 1


# ---------------------------------------------------------------- revisions


@pytest.mark.parametrize(
    ("options", "expected", "at"),
    [
        ({}, 5, "5"),
        ({"resource_version": "0"}, 5, "5"),
        ({"resource_version": "3"}, 5, "5"),
        ({"resource_version": "3", "match": "NotOlderThan"}, 5, "5"),
        ({"resource_version": "3", "match": "Exact"}, 3, "3"),
        ({"resource_version": "3", "match": "Exact", "limit": 9}, 3, "3"),
        # The legacy rule: with a limit, a version alone is exact.
        ({"resource_version": "3", "limit": 9}, 3, "3"),
        ({"resource_version": "3", "limit": 9, "match": "NotOlderThan"}, 5, "5"),
    ],
)
async def test_which_revision_is_read(
    world: World, options: dict[str, Any], expected: int, at: str
) -> None:
    """The table of docs "API concepts", semantics for get and list."""
    found = await world.list(**options)
    assert len(names(found)) == expected
    assert found["metadata"]["resourceVersion"] == at


async def test_an_exact_read_shows_what_is_gone(world: World) -> None:
    """And the values of that time."""
    await world.put("c1", tier="new")
    key = CONFIGMAPS.key("ns", "c2")
    found = await world.store.get(key)
    assert found is not None
    await world.store.delete(key, expected=found.revision)
    then = await world.list(resource_version="5", match="Exact")
    assert names(then) == ["c1", "c2", "c3", "c4", "c5"]
    assert then["items"][0]["metadata"]["labels"] == {"tier": "a"}
    assert names(await world.list()) == ["c1", "c3", "c4", "c5"]


@pytest.mark.parametrize("match", ["Exact", "NotOlderThan", ""])
async def test_a_revision_that_never_comes(
    world: World, match: str, autojump_clock: trio.testing.MockClock
) -> None:
    """504 after three seconds, with advice to come back."""
    start = trio.current_time()
    error = await refusal(world, resource_version="99", match=match)
    assert trio.current_time() - start == listing.FUTURE_WAIT_S
    assert error.code == 504
    assert error.message == "Timeout: Too large resource version: 99, current: 5"


ONE = by_name("metadata.name=c3")


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"resource_version": "3", "match": "Exact"}, "3"),
        # The legacy rule is one of collections.
        ({"resource_version": "3", "limit": 1}, "6"),
        ({"resource_version": "3", "limit": 1, "match": "NotOlderThan"}, "6"),
    ],
)
async def test_which_revision_of_one_object_is_read(
    world: World, options: dict[str, Any], at: str
) -> None:
    """A list that a selector and its namespace narrow to one key."""
    await world.put("c3", tier="new")
    found = await world.list(selection=ONE, **options)
    assert (names(found), found["metadata"]["resourceVersion"]) == (["c3"], at)
    tier = found["items"][0]["metadata"]["labels"]["tier"]
    assert tier == ("new" if at == "6" else "a")


@pytest.mark.parametrize("options", [{"match": "Exact"}, {"limit": 1}, {}])
async def test_a_revision_of_one_object_that_never_comes(
    world: World, options: dict[str, Any], autojump_clock: trio.testing.MockClock
) -> None:
    """504 at once, without advice, where kube-apiserver asks etcd."""
    start = trio.current_time()
    error = await refusal(world, resource_version="99", selection=ONE, **options)
    waited = trio.current_time() - start
    assert (error.code, waited) == (504, 0 if options else listing.FUTURE_WAIT_S)
    assert error.retry_after == (None if options else 1)


async def test_a_token_and_a_pinned_name(world: World) -> None:
    """The list is one of the collection, so its token has to be good, and it has a limit."""
    assert (await refusal(world, continue_token="x", selection=ONE)).code == 400
    page = await world.list(limit=1)
    rest = page["metadata"]["continue"]
    assert names(await world.list(continue_token=rest, selection=ONE)) == ["c3"]
    other = by_name("metadata.name=c1")
    assert names(await world.list(continue_token=rest, selection=other)) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"limit": 1}, {"match": "Exact"}, {"match": "NotOlderThan"}, {"selection": ONE}],
)
async def test_what_is_not_cached_is_not_waited_for(
    world: World, options: dict[str, Any], autojump_clock: trio.testing.MockClock
) -> None:
    """As etcd does: 504 without advice, for a get too."""
    start = trio.current_time()
    error = await refusal(world, resource=UNCACHED, resource_version="99", **options)
    assert (error.code, error.retry_after) == (504, None)
    assert error.message == "Timeout: Too large resource version: 99, current: 5"
    for name in ("c1", "none"):
        with pytest.raises(ApiError) as caught:
            await world.listing.get(CONFIGMAPS.key("ns", name), "99", cached=False)
        assert (caught.value.code, caught.value.retry_after) == (504, None)
    assert trio.current_time() == start
    found = await world.list(resource=UNCACHED, resource_version="5", **options)
    assert names(found)


async def test_a_malformed_version_of_what_is_not_cached(world: World) -> None:
    """400 for a get too."""
    with pytest.raises(ApiError) as caught:
        await world.listing.get(CONFIGMAPS.key("ns", "c1"), "abc", cached=False)
    assert caught.value.code == 400
    assert caught.value.message == (
        'invalid resource version: resourceVersion: Invalid value: "abc": '
        'strconv.ParseUint: parsing "abc": invalid syntax'
    )


async def test_a_revision_that_comes_is_waited_for(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """Another server may have made it already."""

    async def write() -> None:
        await trio.sleep(1)
        await world.put("c6")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        found = await world.list(resource_version="6")
    assert names(found)[-1] == "c6"


@pytest.mark.parametrize("text", ["abc", "-1", "1.5", "٣", " 1"])
async def test_a_malformed_revision_is_refused(world: World, text: str) -> None:
    """400 in the words of Go's strconv."""
    error = await refusal(world, resource_version=text)
    assert error.code == 400
    assert error.message == (
        f'invalid resource version: resourceVersion: Invalid value: "{text}": '
        f'strconv.ParseUint: parsing "{text}": invalid syntax'
    )


async def test_a_token_and_a_revision_exclude_each_other(world: World) -> None:
    """The token has one; zero means nothing and is let through."""
    page = await world.list(limit=2)
    text = page["metadata"]["continue"]
    error = await refusal(world, continue_token=text, resource_version="5")
    assert error.message == "specifying resource version is not allowed when using continue"
    assert names(await world.list(continue_token=text, resource_version="0")) == ["c3", "c4", "c5"]


# ---------------------------------------------------------------- compaction


async def test_an_exact_read_of_lost_history_is_410(world: World) -> None:
    """The client lists anew."""
    await world.store.compact(4)
    error = await refusal(world, resource_version="3", match="Exact")
    assert (error.code, error.reason) == (410, "Expired")


async def test_an_expired_token_offers_an_inconsistent_one(world: World) -> None:
    """The rest of the list as it is now, behind the same key."""
    page = await world.list(limit=2)
    await world.put("c0")
    await world.put("c25")
    await world.store.compact(7)
    error = await refusal(world, limit=2, continue_token=page["metadata"]["continue"])
    assert (error.code, error.reason) == (410, "Expired")
    assert error.message.startswith("The provided continue parameter is too old to display")
    offered = error.status()["metadata"]["continue"]
    rest = await world.list(continue_token=offered)
    assert names(rest) == ["c25", "c3", "c4", "c5"]
    assert rest["metadata"]["resourceVersion"] == "7"


# ---------------------------------------------------------------- one object


async def test_a_get_not_older_than_now(world: World) -> None:
    """It reads the newest state, whatever older version is named."""
    key = CONFIGMAPS.key("ns", "c1")
    await world.put("c1", tier="new")
    for version in ("", "0", "1", "6"):
        found = await world.listing.get(key, version)
        assert found is not None
        assert found.revision == 6


async def test_a_get_of_a_malformed_version_is_an_error_of_the_server(world: World) -> None:
    """500, as kube-apiserver has it."""
    with pytest.raises(ApiError) as caught:
        await world.listing.get(CONFIGMAPS.key("ns", "c1"), "abc")
    assert caught.value.code == 500


async def test_a_snapshot_in_steps(world: World) -> None:
    """Each step goes on behind the last key at the first one's revision."""
    items, more, at = await world.listing.snapshot(PREFIX, 3, "", None)
    await world.put("c9")
    rest, end, again = await world.listing.snapshot(PREFIX, 3, items[-1].key, at)
    assert (len(items), more, at) == (3, True, 5)
    assert (len(rest), end, again) == (2, False, 5)


async def test_a_snapshot_of_one_key(world: World) -> None:
    """A watch of one object begins with it alone."""
    items, more, _ = await world.listing.snapshot(CONFIGMAPS.key("ns", "c1"), 9, "", None)
    assert ([item.key for item in items], more) == ([CONFIGMAPS.key("ns", "c1")], False)


# ---------------------------------------------------------------- revisions


def test_what_is_no_resource_version() -> None:
    """400 for a list, 500 for a get or watch, in the words of Go's strconv."""
    for text, why in [("x", "invalid syntax"), ("-1", "invalid syntax"), ("9" * 30, RANGE)]:
        words = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
        with pytest.raises(ApiError) as of_list:
            parse_revision(text)
        with pytest.raises(ApiError) as of_get:
            plain_revision(text)
        assert of_list.value.message == f"invalid resource version: {words}{why}"
        assert (of_get.value.code, of_get.value.message) == (500, words + why)


RANGE = "value out of range"


# ---------------------------------------------------------------- lists that begin at once


class Reads(MemoryStore):
    """A store whose reads take a round of the event loop; counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def join(self, *args: Any, **named: Any) -> JoinResult:
        """See `Store.join`."""
        self.reads += 1
        await trio.lowlevel.checkpoint()
        return await super().join(*args, **named)

    async def range(self, *args: Any, **named: Any) -> RangeResult:
        """See `Store.range`."""
        self.reads += 1
        await trio.lowlevel.checkpoint()
        return await super().range(*args, **named)


@pytest.fixture
async def large() -> World:
    """Three ConfigMaps, each of which is a page."""
    world = World()
    world.store = Reads()
    world.hub = Hub(world.store)
    world.listing = Listing(world.store, world.hub, 64 * 1024 * 1024)
    for number in range(3):
        await world.put(f"c{number}", text="t" * 600_000)
    return world


async def sent(listing: Listing, encoder: Encoder, limit: int = 0) -> list[bytes]:
    """The pieces of a list."""
    body, rest = await listing.open(CONFIGMAPS, "ns", ListOptions(limit=limit), encoder)
    pieces, more = [body], rest is not None
    while rest is not None and more:
        body, more = await rest.next()
        pieces.append(body)
    return pieces


@pytest.mark.parametrize("other_form", [False, True])
async def test_lists_that_begin_at_once_read_once(large: World, other_form: bool) -> None:
    """From the first page on; all of them send the same bytes, and nothing is kept behind them."""
    store, lists = large.store, list[list[bytes]]()
    assert isinstance(store, Reads)
    encoder = other(PROTOBUF) if other_form else PLAIN
    expected = b"".join(await sent(large.listing, encoder))
    at_first, store.reads = store.reads, 0

    async def ask() -> None:
        lists.append(await sent(large.listing, encoder))

    large.listing.segments.cache.max_bytes = 0  # from the store
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(ask)
    assert [b"".join(pieces) for pieces in lists] == [expected] * 8
    assert store.reads == at_first
    if not other_form:
        large_ones = {id(piece) for pieces in lists for piece in pieces if len(piece) > 500_000}
        assert len(large_ones) == 3
    assert large.listing.recent.bytes == 0


async def test_a_list_shows_what_was_written_before_it_began(large: World) -> None:
    """Though another one, which began before that, is still reading its first page."""
    bodies: dict[str, bytes] = {}

    async def ask(name: str) -> None:
        bodies[name] = b"".join(await sent(large.listing, PLAIN))

    large.listing.segments.cache.max_bytes = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "before")
        await trio.testing.wait_all_tasks_blocked(0)
        await large.put("c9")
        nursery.start_soon(ask, "after")
    assert b'"c9"' in bodies["after"]
