"""Lists: which revision is read, pages and continue tokens, streams of large lists.

Source: docs "API concepts", resource versions and retrieving large results sets in chunks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import trio

from kubetrio.machinery.status import (
    ApiError,
    bad_request,
    expired,
    too_large_resource_version,
)
from kubetrio.resources.representation import Encoder, ListMeta, ListWriter
from kubetrio.resources.selection import Selection
from kubetrio.resources.translate import translate
from kubetrio.schema.registry import ResourceType
from kubetrio.store.errors import Compacted, StoreError
from kubetrio.store.model import KeyValue, Range, Revision, Store
from kubetrio.watch.hub import Hub

FUTURE_WAIT_S = 3.0  # how long a read waits for a revision that does not exist yet
CHUNK_BYTES = 512 * 1024
SELECT_KEYS = 250  # objects decoded between two checkpoints
TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105  (not a secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """A list request, validated.

    Args:
        limit: most items wanted, 0 for all.
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


@dataclass(frozen=True, slots=True)
class Position:
    """Where a list goes on.

    Args:
        revision: snapshot to read, None for the newest.
        start: key behind which to begin, relative to the collection's prefix.
    """

    revision: Revision | None
    start: str


def encode_token(revision: Revision, key: str, prefix: str) -> str:
    """A continue token: base64url of ``{v, rv, start}``."""
    start = key.removeprefix(prefix) + "\0"
    text = orjson.dumps({"v": TOKEN_VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode_token(token: str) -> Position:
    """Read a continue token.

    Raises:
        ApiError: 400, in kube-apiserver's words.
    """
    try:
        padded = token + "=" * (-len(token) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad_token("illegal base64 data at input byte 0") from None
    from kubetrio.wire import gojson

    try:
        data = gojson.parse(raw).value
    except gojson.GoJsonError as error:
        raise _bad_token(str(error)) from None
    if not isinstance(data, dict):
        raise _bad_token("json: cannot unmarshal into Go value of type storage.continueToken")
    if data.get("v") != TOKEN_VERSION:
        raise bad_request(
            "invalid continue token: continue key is not valid: "
            f"server does not recognize this encoded version {data.get('v', '')!s}"
        )
    revision, start = data.get("rv", 0), data.get("start", "")
    if not isinstance(revision, int) or revision == 0:
        raise _bad_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _bad_token("encoded start key empty (version meta.k8s.io/v1)")
    if ".." in start.strip("\0").split("/"):
        raise _bad_token(f"encoded start key {start!r} attempts to escape the collection")
    return Position(None if revision < 0 else revision, start)


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def parse_revision(text: str) -> Revision:
    """A resourceVersion of a list.

    Raises:
        ApiError: 400 for anything but a decimal number.
    """
    if not text.isascii() or not text.isdigit():
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


@dataclass(slots=True)
class Page:
    """Part of a list: joined bytes or values.

    Args:
        revision: revision that was read.
        body: stored objects joined by the store, or empty.
        values: stored objects one by one, or none.
        count: how many, in either form.
        last_key: key of the last object looked at.
        more: whether keys follow.
    """

    revision: Revision
    body: bytes
    values: Sequence[KeyValue]
    count: int
    last_key: str
    more: bool

    def written(self, writer: ListWriter) -> bytes:
        """The page as a writer puts it."""
        return writer.items(self.values) if self.values else writer.joined(self.body)


class Pager:
    """Reads one collection at one revision, page after page.

    Args:
        store: where to read.
        keys: keys not read yet.
        at: revision, None to take the newest on the first read.
        encoder: representation of items.
        selection: selectors, None for everything.
    """

    def __init__(
        self,
        store: Store,
        keys: Range,
        at: Revision | None,
        encoder: Encoder,
        selection: Selection | None,
    ) -> None:
        self._store = store
        self.keys = keys
        self.at = at
        self._encoder = encoder
        self._selection = selection

    async def read(self, limit: int, max_bytes: int) -> Page:
        """The next items: at most `limit` (0: any number) and about `max_bytes`."""
        if self._encoder.stored and self._selection is None:
            page = await self._joined(limit, max_bytes)
        else:
            page = await self._selected(limit, max_bytes)
        self.at = page.revision
        if page.last_key:
            self.keys = self.keys.after(page.last_key)
        return page

    async def _joined(self, limit: int, max_bytes: int) -> Page:
        result = await self._store.join(
            self.keys,
            skip=self._encoder.skip,
            separator=self._encoder.separator,
            at=self.at,
            limit=limit,
            max_bytes=max_bytes,
        )
        return Page(result.revision, result.body, (), result.count, result.last_key, result.more)

    async def _selected(self, limit: int, max_bytes: int) -> Page:
        found: list[KeyValue] = []
        size = 0
        keys, at = self.keys, self.at
        while True:
            want = SELECT_KEYS
            if limit and self._selection is None:
                want = min(limit - len(found), SELECT_KEYS)
            result = await self._store.range(keys, at=at, limit=want)
            at = result.revision
            last, more = "", result.more
            for item in result.items:
                last = item.key
                if self._selection is None or self._selection.matches_bytes(item.value):
                    found.append(item)
                    size += len(item.value)
                    if len(found) == limit:
                        more = more or item is not result.items[-1]
                        break
            if last:
                keys = keys.after(last)
            if not more or (limit and len(found) >= limit) or size >= max_bytes:
                return Page(at, b"", found, len(found), last, more)
            await trio.lowlevel.checkpoint()


def _keys(resource: ResourceType, namespace: str, selection: Selection | None) -> Range:
    """Keys of a collection; a selector that pins the name leaves one."""
    if selection is not None and selection.fields is not None:
        name = selection.fields.exact("metadata.name")
        if name and (namespace or not resource.namespaced):
            return Range.single(resource.key(namespace, name))
    return Range.prefix(resource.prefix(namespace))


class RestOfList:
    """The part of a large list behind its first page.

    Args:
        pager: reads on.
        writer: has written the beginning.
    """

    def __init__(self, pager: Pager, writer: ListWriter) -> None:
        self._pager = pager
        self._writer = writer

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, perhaps none, and whether more follow."""
        page = await self._pager.read(0, CHUNK_BYTES)
        body = page.written(self._writer)
        return (body, True) if page.more else (body + self._writer.close(), False)


class Listing:
    """Lists of one server.

    Args:
        store: where to read.
        hub: tells when a revision has come.
    """

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub

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

    async def get(self, key: str, resource_version: str) -> KeyValue | None:
        """One object, not older than a resourceVersion.

        Raises:
            ApiError: 500 for a malformed resourceVersion, as kube-apiserver answers; 504.
        """
        if resource_version and resource_version != "0":
            if not resource_version.isascii() or not resource_version.isdigit():
                raise ApiError(
                    500,
                    "",
                    f'resourceVersion: Invalid value: "{resource_version}": '
                    f'strconv.ParseUint: parsing "{resource_version}": invalid syntax',
                )
            await self.wait_for(int(resource_version))
        return await self._store.get(key)

    async def open(
        self, resource: ResourceType, namespace: str, options: ListOptions, encoder: Encoder
    ) -> tuple[bytes, RestOfList | None]:
        """Read the first part of a list.

        Returns:
            The whole encoded list and None, or its beginning and what reads the rest.

        Raises:
            ApiError: 400, 410 or 504, see the module's source.
        """
        prefix = resource.prefix(namespace)
        keys = _keys(resource, namespace, options.selection)
        position = await self._position(options)
        if position.start:
            keys = Range(max(keys.start, prefix + position.start.lstrip("/")), keys.end)
        pager = Pager(self._store, keys, position.revision, encoder, options.selection)
        try:
            if options.limit:
                return await self._limited(pager, prefix, options, encoder), None
            page = await pager.read(0, CHUNK_BYTES)
        except Compacted as error:
            if options.continue_token:
                raise self._expired_token(position) from error
            raise translate(error, resource.group_resource, "") from None
        except StoreError as error:
            raise translate(error, resource.group_resource, "") from error
        writer = encoder.list_writer()
        begin = writer.open(ListMeta(resource_version=str(page.revision))) + page.written(writer)
        if page.more:
            return begin, RestOfList(pager, writer)
        return begin + writer.close(), None

    async def _position(self, options: ListOptions) -> Position:
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
        await self.wait_for(revision)
        exact = options.match == "Exact" or (not options.match and options.limit > 0)
        return Position(revision if exact else None, "")

    async def _limited(
        self, pager: Pager, prefix: str, options: ListOptions, encoder: Encoder
    ) -> bytes:
        pages: list[Page] = []
        count = 0
        while True:
            page = await pager.read(options.limit - count, CHUNK_BYTES)
            pages.append(page)
            count += page.count
            if not page.more or count >= options.limit:
                break
        token, remaining = "", None
        if page.more:
            token = encode_token(page.revision, page.last_key, prefix)
            if options.selection is None:
                remaining = await self._store.count(pager.keys, at=page.revision)
        writer = encoder.list_writer()
        meta = ListMeta(
            resource_version=str(page.revision), continue_token=token, remaining=remaining
        )
        parts = [writer.open(meta), *(page.written(writer) for page in pages), writer.close()]
        return b"".join(parts)

    @staticmethod
    def _expired_token(position: Position) -> ApiError:
        """410 with a token that goes on at the newest revision, inconsistently."""
        text = orjson.dumps({"v": TOKEN_VERSION, "rv": -1, "start": position.start})
        token = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
        error = expired(
            "The provided continue parameter is too old to display a consistent list result. You "
            "can start a new list without the continue parameter, or use the continue token in "
            "this response to retrieve the remainder of the results. Continuing with the provided "
            "token results in an inconsistent list - objects that were created, modified, or "
            "deleted between the time the first chunk was returned and now may show up in the list."
        )
        error.continue_token = token
        return error

    async def snapshot(
        self, prefix: str, limit: int, after: str, at: Revision | None
    ) -> tuple[Sequence[KeyValue], bool, Revision]:
        """Objects of a prefix (or one key) in steps, for initial watch events and deletions."""
        keys = Range.prefix(prefix) if prefix.endswith("/") else Range.single(prefix)
        if after:
            keys = keys.after(after)
        result = await self._store.range(keys, at=at, limit=limit)
        return result.items, result.more, result.revision
