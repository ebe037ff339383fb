"""What a data directory holds as objects, at one moment: their kinds, states and former states."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from kubetrio.crd.serving import served
from kubetrio.encryption.configuration import EncryptionConfigError
from kubetrio.encryption.control import Encryption
from kubetrio.encryption.providers import read
from kubetrio.env import Env
from kubetrio.kinds.builtin import registry as builtin_registry
from kubetrio.runtime.groups import ungrouped
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import Registry
from kubetrio.store.errors import Compacted, StoreError, Unreadable
from kubetrio.store.model import Event, EventType, Range, Store
from kubetrio.store.past import Past
from kubetrio.store.sqlite.copies import settled
from kubetrio.store.sqlite.inspection import Snapshot, existing

Object = dict[str, Any]
ENCRYPTED = b"k8s:enc:"
DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
PAGE = 500
PAGE_BYTES = 4 << 20


class UnknownKind(Exception):
    """No kind has such a name; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in the store.

    Args:
        key: where.
        kind: in the version in which it is stored; None for what no kind is known of.
        value: the object, None where it is encrypted and cannot be read here.
    """

    key: str
    kind: Kind | None
    value: Object | None


def decoded(value: bytes) -> Object | None:
    """Stored bytes as an object; None where they are encrypted.

    Raises:
        ValueError: they are no JSON object.
    """
    if value.startswith(ENCRYPTED):
        return None
    obj = orjson.loads(value)
    if not isinstance(obj, dict):
        raise ValueError("no JSON object")
    return obj


class Kinds:
    """The kinds of a store, by key and by name.

    Args:
        definitions: its CustomResourceDefinitions, as they are stored.
    """

    def __init__(self, definitions: Iterable[Object]) -> None:
        kinds: list[Kind] = []
        for definition in definitions:
            names = (definition.get("status") or {}).get("acceptedNames") or {}
            if names.get("plural"):
                custom = served(definition)
                kinds += {id(kind): kind for kind in (*custom.kinds, custom.stored)}.values()
        self.registry: Registry = builtin_registry().with_resources(kinds)

    def of(self, key: str) -> Kind | None:
        """The kind of what is under a key, in the version in which it is stored."""
        return self.registry.kind_of_key(key)

    @cached_property
    def all(self) -> list[Kind]:
        """Each resource that is stored, once, in the order of discovery."""
        kinds = (kind.stored for kind in self.registry.preferred() if not kind.serves)
        return list({id(kind): kind for kind in kinds}.values())

    def named(self, name: str) -> Kind:
        """A resource by what kubectl takes for it, such as ``deploy``, ``Pod`` or ``jobs.batch``.

        Raises:
            UnknownKind: there is none.
        """
        word, _, group = name.lower().partition(".")
        for kind in self.all:
            if group and kind.group != group and not kind.group.startswith(f"{group}."):
                continue
            if word in (kind.resource, kind.singular, kind.kind.lower(), *kind.short_names):
                return kind
        raise UnknownKind(
            f"there is no kind {name} here: name it as kubectl does, such as deployments.apps"
        )


class Moment:
    """A store as it is at one moment, and what it remembers; made by `open_moment`.

    Args:
        snapshot: the store as it is kept.
        plain: the same, decrypted where that can be done.
        kinds: what is in it.
    """

    def __init__(self, snapshot: Snapshot, plain: Store, kinds: Kinds) -> None:
        self._snapshot = snapshot
        self._plain = plain
        self.kinds = kinds
        self.revision = snapshot.revision
        self.compacted = snapshot.compacted

    async def revisions_of(self, key: str) -> Sequence[Past]:
        """The retained revisions of a key, oldest first."""
        return await self._snapshot.revisions_of(key)

    async def at(self, key: str, revision: int) -> Found | None:
        """An object as it was at a revision.

        Raises:
            Compacted: that is not kept any more.
            FutureRevision: it does not exist yet.
        """
        try:
            item = await self._plain.get(key, at=revision)
        except Unreadable:
            return Found(key, self.kinds.of(key), None)
        return None if item is None else Found(key, self.kinds.of(key), decoded(item.value))

    async def state(self, key: str, past: Past) -> Object | None:
        """What a revision of a key brought, of a deletion the last state; None if encrypted."""
        if past.type is not EventType.DELETED:
            # What is older than the floor is there as long as nothing newer is compacted.
            item = await self.at(key, max(past.revision, self.compacted))
            return None if item is None else item.value
        keys, after = Range.single(key), past.revision - 1
        try:
            events, _ = await self._plain.events(after=after, keys=keys, max_bytes=1)
        except Unreadable:
            return None
        except Compacted:  # the newest revision of all stays, though what it did is not told
            return {}
        return decoded(events[0].value)

    async def objects(self, prefix: str) -> AsyncIterator[Found]:
        """All live objects under a prefix, in the order of their keys."""
        keys, more = Range.prefix(prefix), True
        while more:
            page = await self._snapshot.range(keys, limit=PAGE, max_bytes=PAGE_BYTES)
            for item in page.items:
                value = decoded(item.value)
                if value is None:
                    stored = await self.at(item.key, self.revision)
                    value = None if stored is None else stored.value
                yield Found(item.key, self.kinds.of(item.key), value)
                keys = keys.after(item.key)
            more = page.more

    async def changed(self, after: int, upto: int) -> dict[str, Event]:
        """The last event of each key between two revisions.

        Raises:
            Compacted: the first is not kept any more.
        """
        latest: dict[str, Event] = {}
        while after < upto:
            events, after = await self._snapshot.events(after=after, max_bytes=PAGE_BYTES)
            latest |= {event.key: event for event in events if event.revision <= upto}
        return latest


@ungrouped
@asynccontextmanager
async def open_moment(
    directory: Path, env: Env, encryption: Path | None = None
) -> AsyncIterator[Moment]:
    """What is in a data directory now, whether a server uses it or not.

    Args:
        directory: data directory.
        env: threads.
        encryption: the file of ``--encryption-provider-config``; without it, what is encrypted
            stays so.

    Raises:
        StoreError: the database cannot be read.
    """
    with ExitStack() as stack:
        snapshot = Snapshot(stack.enter_context(settled(existing(directory))))
        stack.callback(snapshot.close)
        kinds = Kinds([one async for one in _definitions(snapshot)])
        if encryption is None:
            yield Moment(snapshot, snapshot, kinds)
            return
        try:
            decrypting = Encryption(encryption, read(encryption, reload=False), env, reload=False)
        except EncryptionConfigError as error:
            raise StoreError(f"--encryption-provider-config: {error}") from error
        async with decrypting.over(snapshot) as plain:
            yield Moment(snapshot, plain, kinds)


async def _definitions(snapshot: Snapshot) -> AsyncIterator[Object]:
    for item in (await snapshot.range(Range.prefix(DEFINITIONS))).items:
        value = decoded(item.value)
        if value is not None:
            yield value
