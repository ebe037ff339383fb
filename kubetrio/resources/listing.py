"""Lists: which revision is read, pages, streams of large lists.

Source: docs "API concepts", resource versions and retrieving large results sets in chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import trio

from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names_validation import path_segment
from kubetrio.machinery.status import ApiError, bad_request, too_large_resource_version
from kubetrio.resources import paging
from kubetrio.resources.continuetokens import (
    Position,
    decode_token,
    encode_token,
    expired_token,
)
from kubetrio.resources.countedlists import (
    ItemMaking,
    RestOfCounted,
    RestOfKept,
    Room,
    counted,
)
from kubetrio.resources.limitedlists import KeptPages, PagesAgain, read_pages
from kubetrio.resources.paging import Page, Pager, Rest, RestOfList
from kubetrio.resources.readcounts import ListReads, ReadCounts
from kubetrio.resources.recentreads import RecentReads
from kubetrio.resources.representation import Encoder, ItemForm, ListMeta
from kubetrio.resources.segments.cache import SegmentCache
from kubetrio.resources.segments.lists import ListRequest, RestOfPieces, SegmentedLists
from kubetrio.resources.segments.making import Beside
from kubetrio.resources.selection import Selection
from kubetrio.resources.shared import Shared
from kubetrio.resources.translate import translate
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import Compacted, StoreError
from kubetrio.store.model import KeyValue, Range, RangeResult, Revision, Store
from kubetrio.watch.hub import Hub
from kubetrio.watch.window import Batch

RECENT_SHARE = 10
"""What lists share that are under way, each of three sorts: one for so many bytes of segments."""
WAITING_BYTES = 32 * 1024 * 1024
FUTURE_WAIT_S = 3.0  # how long a read waits for a revision that does not exist yet


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """A list request, validated.

    Args:
        limit: most items request, 0 for all.
        continue_token: token of the page before, or empty.
        resource_version: as sent.
        match: ``Exact``, ``NotOlderThan`` or empty.
        selection: selectors, None for everything.
    """

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""
    selection: Selection | None = None


def parse_revision(text: str) -> Revision:
    """A resourceVersion of a list.

    Raises:
        ApiError: 400 for anything but a decimal number.
    """
    try:
        return gonumbers.parse_uint(text)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {_of_revision(text, error)}") from None


def plain_revision(text: str) -> Revision:
    """A resourceVersion of a get or a watch.

    Raises:
        ApiError: 500 for anything but a decimal number, as kube-apiserver answers.
    """
    try:
        return gonumbers.parse_uint(text)
    except ValueError as error:
        raise ApiError(500, "", _of_revision(text, error)) from None


def _of_revision(text: str, error: ValueError) -> str:
    return f"resourceVersion: Invalid value: {quote(text)}: {error}"


def _pinned_key(resource: Kind, namespace: str, options: ListOptions) -> str:
    """The key of the only object that a selector leaves; empty when there may be more.

    A list that goes on after a token is about the whole collection.
    """
    selection = options.selection
    if selection is None or selection.fields is None or options.continue_token:
        return ""
    name = selection.fields.exact("metadata.name")
    if not name or path_segment(name) or (resource.namespaced and not namespace):
        return ""
    return resource.key(namespace, name)


def _fresh(resource: Kind, options: ListOptions) -> bool:
    """Whether what is read has to be the newest; a token may be of a revision that is to come."""
    any_version = options.resource_version and not options.continue_token and resource.cached
    return not any_version


class Listing:
    """Lists of one server.

    Args:
        store: where to read; its reads of the newest state are consistent.
        hub: tells when a revision has come.
        segments_bytes: of collections that are kept in memory, 0 for none.
        waiting_bytes: of lists that say in front how large they are, until they are sent.

    Attributes:
        segments: lists that are cut from what is in memory.
        recent: what lists that are read from the store have just read.
        turns: held for a moment's work on the objects of a list, by one list at a time.
        counts: of lists, and of events of watches.
        conversions: of events, under way for watches that are equal in what they see.
    """

    def __init__(
        self, store: Store, hub: Hub, segments_bytes: int = 0, waiting_bytes: int = WAITING_BYTES
    ) -> None:
        self._store = store
        self._cached = store.cached
        self._hub = hub
        self.turns = trio.Lock()
        cache = SegmentCache(store, segments_bytes)
        self.segments = SegmentedLists(store, cache, self.turns)
        self.recent = RecentReads(segments_bytes // RECENT_SHARE)
        self._room = Room(waiting_bytes)
        self.counts = ReadCounts()
        self.conversions: Shared[tuple[Batch, ApiError | None]] = Shared()

    async def wait_for(self, revision: Revision) -> None:
        """Wait, not long, for a revision.

        Raises:
            ApiError: 504 when it does not come.
        """
        if revision <= self._hub.revision:
            return
        with trio.move_on_after(FUTURE_WAIT_S):
            await self._hub.wait_for(revision)
        if revision > self._hub.revision:
            raise too_large_resource_version(revision, self._hub.revision)

    async def newest(self) -> Revision:
        """Newest revision that any writer made, once it has been announced here."""
        newest = await self._store.newest()
        await self._store.caught_up(newest)
        return newest

    async def _check_reached(self, revision: Revision) -> None:
        """What `wait_for` does for reads that kube-apiserver sends to etcd, which does not wait.

        Raises:
            ApiError: 504.
        """
        if revision > self._hub.revision and revision > await self.newest():
            raise too_large_resource_version(revision, self._hub.revision, retry_after=None)

    async def get(self, key: str, resource_version: str, *, cached: bool = True) -> KeyValue | None:
        """One object, not older than a resourceVersion.

        Args:
            key: its key.
            resource_version: as sent.
            cached: see `Kind`.

        Raises:
            ApiError: 500 for a malformed resourceVersion, as kube-apiserver answers, 400 where it
                asks etcd; 504.
        """
        if not resource_version:
            return await self._store.get(key)
        if not cached:
            await self._check_reached(parse_revision(resource_version))
            return await self._store.get(key)
        if resource_version != "0":
            await self.wait_for(plain_revision(resource_version))
        return await self._cached.get(key)

    async def open(
        self,
        resource: Kind,
        namespace: str,
        options: ListOptions,
        encoder: Encoder,
        beside: Beside | None = None,
    ) -> tuple[bytes, Rest | None]:
        """Read the first part of a list.

        Args:
            resource: the kind, in the version asked for.
            namespace: whose objects, or empty for all.
            options: what is asked for.
            encoder: representation of the list.
            beside: where large objects are encoded that are kept in memory.

        Returns:
            The whole encoded list and None, or its beginning and what reads the rest.

        Raises:
            ApiError: 400, 410 or 504, see the module's source; an object cannot be converted.
        """
        prefix = resource.prefix(namespace)
        keys, position = await self._begin(resource, namespace, options)
        pager = self._pager(resource, keys, position, options, encoder)
        try:
            begun = await self._from_memory(pager, resource, prefix, options, encoder, beside)
            if begun is not None:
                return begun
            form = encoder.counted_form()
            if form is not None:
                making = ItemMaking(form, self.turns, beside, self.recent.items)
                return await self._counted(resource, prefix, options, encoder, pager, making)
            # A conversion may fail, and there is no Status once an answer has begun.
            if options.limit or encoder.converts is not None:
                return await self._limited(resource, prefix, options, encoder, pager)
            page = await pager.read(0, paging.CHUNK_BYTES)
        except StoreError as error:
            raise self._told(error, resource, options, position) from error
        writer = encoder.list_writer()
        begin = writer.open(ListMeta(resource_version=str(page.revision)))
        if page.more and len(page.body) > paging.SHARED_BYTES:  # other lists may send the same
            under_way = self.recent.begin()
            return begin, RestOfList(pager, writer, under_way=under_way, first=page)
        begin += await pager.written(page, writer)
        if page.more:
            return begin, RestOfList(pager, writer, under_way=self.recent.begin())
        return begin + writer.close(), None

    async def _counted(
        self,
        resource: Kind,
        prefix: str,
        options: ListOptions,
        encoder: Encoder,
        pager: Pager,
        making: ItemMaking,
    ) -> tuple[bytes, Rest | None]:
        """What `open` returns, of a list that says in front how large it is."""
        keys, limit, under_way = pager.keys, options.limit, self.recent.begin()
        whole = await counted(pager, limit, making, self._room)
        meta = await self._meta(pager, whole.page, prefix, options)
        if not whole.count:
            writer = encoder.list_writer()
            return writer.open(meta) + writer.close(), None
        items = whole.items
        begin, end = making.form.around(meta, whole.count, items.size)
        if not items.whole:
            position = Position(whole.page.revision, "")
            again = self._pager(resource, keys, position, options, encoder, ListReads())
            return begin, RestOfCounted(whole, again, making, end, under_way)
        if items.size > paging.CHUNK_BYTES:
            return begin, RestOfKept(items, end)
        pieces = iter(items.pop, None)
        return b"".join([begin, *pieces, end]), None

    async def _from_memory(
        self,
        pager: Pager,
        resource: Kind,
        prefix: str,
        options: ListOptions,
        encoder: Encoder,
        beside: Beside | None,
    ) -> tuple[bytes, Rest | None] | None:
        """What `open` returns, if the collection is in memory."""
        form = encoder.list_form()
        if form is None or pager.keys == Range.single(pager.keys.start):
            return None
        if pager.at is None and _fresh(resource, options):
            await self.newest()
        if pager.at is None:
            pager.newest = self._store.revision
        request = ListRequest(
            prefix=prefix,
            keys=pager.keys,
            at=pager.at,
            selection=options.selection,
            limit=options.limit,
            beside=beside,
        )
        return await self.segments.open(form, request, pager.reads)

    async def state(
        self,
        form: ItemForm,
        prefix: str,
        selection: Selection | None,
        *,
        cached: bool,
        beside: Beside | None = None,
    ) -> tuple[RestOfPieces, Sequence[int], Revision] | None:
        """The state that a watch begins with, if it is in memory.

        Args:
            form: how an object is written.
            prefix: the prefix.
            selection: selectors, None for everything.
            cached: whether it may be what has been announced here.
            beside: where events of large objects are made.

        Returns:
            What is sent, the size of each event, and the revision.
        """
        if not prefix.endswith("/"):
            return None
        if not cached:
            await self.newest()
        request = ListRequest(
            prefix=prefix,
            keys=Range.prefix(prefix),
            selection=selection,
            beside=beside,
            sizes=True,
        )
        return await self.segments.state(form, request)

    def _pager(
        self,
        resource: Kind,
        keys: Range,
        position: Position,
        options: ListOptions,
        encoder: Encoder,
        reads: ListReads | None = None,
    ) -> Pager:
        if reads is None:
            reads = self.counts.lists(resource.group_resource)
            reads.lists += 1
        store = self._store if _fresh(resource, options) else self._cached
        at, selection = position.revision, options.selection
        return Pager(store, keys, at, encoder, selection, self.turns, reads, self.recent)

    async def _begin(
        self, resource: Kind, namespace: str, options: ListOptions
    ) -> tuple[Range, Position]:
        """The keys to read, and at which revision."""
        pinned = _pinned_key(resource, namespace, options)
        keys = Range.single(pinned) if pinned else Range.prefix(resource.prefix(namespace))
        position = await self._position(options, cached=resource.cached, recursive=not pinned)
        if position.start:
            start = resource.prefix(namespace) + position.start.lstrip("/")
            keys = Range(max(keys.start, start), keys.end)
        return keys, position

    async def collect(
        self, resource: Kind, namespace: str, options: ListOptions, encoder: Encoder
    ) -> tuple[Sequence[KeyValue], ListMeta]:
        """The objects of a list and what it says of itself, for a deletion of all of them.

        Raises:
            ApiError: as `open`.
        """
        keys, position = await self._begin(resource, namespace, options)
        pager = self._pager(resource, keys, position, options, encoder)
        try:
            pages: list[Page] = []
            await read_pages(pager.read_values, options.limit, pages.append)
            meta = await self._meta(pager, pages[-1], resource.prefix(namespace), options)
        except StoreError as error:
            raise self._told(error, resource, options, position) from error
        return [item for page in pages for item in page.values], meta

    async def _position(self, options: ListOptions, *, cached: bool, recursive: bool) -> Position:
        """Where to begin.

        Args:
            options: what is asked for.
            cached: see `Kind`.
            recursive: whether more than one key is read.  Of one key, kube-apiserver keeps no old
                states in memory, and a version that comes with a limit is not exact.
        """
        if options.continue_token:
            position = decode_token(options.continue_token)
            if options.resource_version not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
            return position
        if options.resource_version in ("", "0"):
            return Position(None, "")
        revision = parse_revision(options.resource_version)
        if revision == 0:
            return Position(None, "")
        exact = options.match == "Exact"
        limited = not options.match and options.limit > 0
        if cached and (recursive or not (exact or limited)):
            await self.wait_for(revision)
        else:
            await self._check_reached(revision)
        return Position(revision if exact or (limited and recursive) else None, "")

    async def _limited(
        self,
        resource: Kind,
        prefix: str,
        options: ListOptions,
        encoder: Encoder,
        pager: Pager,
    ) -> tuple[bytes, Rest | None]:
        """What `open` returns, of a list that says in front where the next one begins."""
        keys, pages = pager.keys, KeptPages(None if encoder.converts is not None else self._room)
        under_way = self.recent.begin()
        await read_pages(pager.read, options.limit, pages.add)
        meta = await self._meta(pager, pages.last, prefix, options)
        writer = encoder.list_writer()
        begin = writer.open(meta)
        first = await pages.next()
        if first is not None:
            begin += await pager.written(first, writer)
        if pages.whole:
            if not len(pages):
                return begin + writer.close(), None
            return begin, RestOfList(pager, writer, pages)
        if first is None:
            raise AssertionError("the first page of a list is kept")
        position = Position(pages.last.revision, "")
        left = keys.after(first.last_key)
        again = self._pager(resource, left, position, options, encoder, ListReads())
        rest = PagesAgain(again, pages.count - first.count)
        return begin, RestOfList(again, writer, rest, under_way)

    async def _meta(self, pager: Pager, last: Page, prefix: str, options: ListOptions) -> ListMeta:
        """What a list says that ends with a page."""
        token, remaining = "", None
        if last.more:
            token = encode_token(last.revision, last.last_key, prefix)
            if options.selection is None:
                remaining = await self._store.count(pager.keys, at=last.revision)
        return ListMeta(
            resource_version=str(last.revision), continue_token=token, remaining=remaining
        )

    def _told(
        self, error: StoreError, resource: Kind, options: ListOptions, position: Position
    ) -> ApiError:
        """What a list answers that could not be read."""
        if isinstance(error, Compacted) and options.continue_token:
            return expired_token(position)
        return translate(error, resource.group_resource, "")

    async def snapshot(
        self,
        prefix: str,
        limit: int,
        after: str,
        at: Revision | None,
        *,
        cached: bool = False,
        max_bytes: int = paging.SELECT_BYTES,
    ) -> tuple[Sequence[KeyValue], bool, Revision]:
        """Objects of a prefix (or one key) in steps, for initial watch events and deletions.

        Args:
            prefix: the prefix.
            limit: most objects of a step.
            after: key after which to go on.
            at: revision to read, None for the newest.
            cached: whether the newest may be what has been announced here.
            max_bytes: of these objects, but for the last one.
        """
        keys = Range.prefix(prefix) if prefix.endswith("/") else Range.single(prefix)
        if after:
            keys = keys.after(after)
        store = self._cached if cached else self._store

        async def read() -> RangeResult:
            return await store.range(keys, at=at, limit=limit, max_bytes=max_bytes)

        asked = (keys, at, limit, max_bytes)
        result = await (read() if at is None else self.recent.ranges.get(asked, read))
        return result.items, result.more, result.revision
