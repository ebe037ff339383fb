"""The table of a replica whose values are encrypted: what is told, and what reads are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from kubetrio.store.cipher import StoredValue
from kubetrio.store.errors import Compacted, Unreadable
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.requests import Get
from kubetrio.store.model import Event, EventType, Gap, Range, Stamped
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model
from kubetrio.testing.etcdstore import Rot13, modelled, stored

ALL = Range("a", "z")
TRIES = 600
NOT_READABLE = "the letters cannot be turned around"


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    return Stamped(b'{"rev":', complete[complete.index(b",") :])


class Encrypted:
    """A model, a replica of it that encrypts, and what is told.

    Args:
        model: of etcd.
        store: the replica.
        cipher: of the replica.
    """

    def __init__(self, model: EtcdModel, store: EtcdStore, cipher: Rot13) -> None:
        self.model = model
        self.store = store
        self.cipher = cipher
        self.told: list[Event] = []
        self.gaps: list[Gap] = []
        store.on_commit(self.told.extend)
        store.on_gap(self.gaps.append)

    async def put(self, key: str, text: str) -> int:
        """Write a key as another replica does; return the revision."""
        path = b"/t/" + key.encode()
        data = await self.cipher.encrypt(StoredValue(key, path, stored(value(text))))
        return self.model.put(path, data)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(TRIES):
            if holds():
                return
            await trio.sleep(0.1)
        raise AssertionError("it does not come about")

    async def seen(self, revision: int) -> None:
        """Wait until a revision is told."""
        await self.until(lambda: self.store.revision >= revision)


@asynccontextmanager
async def encrypted() -> AsyncIterator[Encrypted]:
    """A model and a replica."""
    cipher = Rot13()
    async with etcd_model() as model, modelled(model, reopen, cipher=cipher) as store:
        yield Encrypted(model, store, cipher)


@pytest.mark.parametrize("known", [False, True])
async def test_a_key_that_becomes_readable_is_as_old_as_it_is(
    autojump_clock: MockClock, *, known: bool
) -> None:
    """Its creation is that of etcd, whether the table had a state of it before or not."""
    async with encrypted() as one:
        if known:
            await one.seen(await one.put("a", "1"))
        created = one.model.put(b"/t/a", b"k8s:enc:?")
        await one.seen(created)
        changed = await one.put("a", "2")
        await one.seen(changed)
        state = await one.store.get("a")
        [there] = one.model.state().values()
        assert state is not None
        assert (state.revision, state.create_revision) == (changed, there.create_revision)
        assert there.create_revision < changed
        [past] = [one for one in await one.store.revisions_of("a") if one.revision == changed]
        assert past.type is EventType.UPDATED


async def test_what_is_stored_is_encrypted_and_what_is_read_is_not(
    autojump_clock: MockClock,
) -> None:
    """Own writes and those of others; events have plain values, before and after."""
    async with encrypted() as one:
        mine = await one.store.create("a", value("secret"))
        [kv] = (await one.store._client.range(Get(key=b"/t/a"))).kvs
        assert kv.value.startswith(b"k8s:enc:rot:/t/a:")
        assert b"secret" not in kv.value
        await one.seen(await one.put("a", "other"))
        read = await one.store.get("a")
        assert read is not None
        assert read.value == value("other").at(read.revision)
        assert not read.stale
        assert [(event.value, event.previous) for event in one.told] == [
            (mine.value, None),
            (read.value, mine.value),
        ]


async def test_reads_of_what_cannot_be_decrypted_fail(autojump_clock: MockClock) -> None:
    """Other keys are read; older revisions are; the deletion is told with what was readable."""
    async with encrypted() as one:
        before = await one.store.create("a", value("x"))
        await one.store.create("b", value("y"))
        bad = one.model.put(b"/t/a", b"k8s:enc:?")
        await one.seen(bad)
        with pytest.raises(Unreadable, match=f"^{NOT_READABLE}$"):
            await one.store.get("a")
        listed = f'unable to transform key "/t/a": {NOT_READABLE}'
        with pytest.raises(Unreadable, match=listed):
            await one.store.range(ALL)
        with pytest.raises(Unreadable, match=listed):
            await one.store.join(ALL, skip=0, separator=b",", max_bytes=1000)
        assert await one.store.get("b") is not None
        assert await one.store.get("a", at=before.revision) == before
        assert one.told[-1].key == "b"
        gone = one.model.delete(b"/t/a")
        await one.seen(gone)
        assert one.told[-1] == Event(
            gone, "a", EventType.DELETED, value("x").at(gone), before.value
        )
        assert [item.key for item in (await one.store.range(ALL)).items] == ["b"]


async def test_what_can_be_decrypted_again_is_told(autojump_clock: MockClock) -> None:
    """As a gap behind everything that was told, so that watches end and lists show the value."""
    async with encrypted() as one:
        await one.store.create("a", value("x"))
        one.cipher.broken = True
        await one.seen(await one.put("a", "newer"))
        await one.seen(await one.put("c", "new"))
        before = one.store.revision
        assert one.gaps == []
        one.cipher.broken = False
        await one.until(lambda: bool(one.gaps))
        [gap] = one.gaps
        assert gap.revision > before
        assert [(event.key, event.type) for event in gap.changes] == [
            ("a", EventType.UPDATED),
            ("c", EventType.CREATED),
        ]
        read = await one.store.get("a")
        assert read is not None
        assert read.value == value("newer").at(read.revision)
        with pytest.raises(Compacted):
            await one.store.events(after=before, max_bytes=1000)


async def test_what_could_not_be_decrypted_at_the_start(autojump_clock: MockClock) -> None:
    """A replica starts all the same, and refuses the key alone."""
    async with etcd_model() as model:
        model.put(b"/t/a", b"k8s:enc:?")
        model.put(b"/t/b", stored(value("plain")))
        async with modelled(model, reopen, cipher=Rot13()) as store:
            plain = await store.get("b")
            assert plain is not None
            assert plain.stale  # it is to be encrypted
            with pytest.raises(Unreadable):
                await store.get("a")


async def test_other_keys_make_values_stale(autojump_clock: MockClock) -> None:
    """So an update that changes nothing is written; what it wrote is not stale."""
    async with encrypted() as one:
        made = await one.store.create("a", value("x"))
        one.cipher.generation = 2
        await trio.sleep(10)
        read = await one.store.get("a")
        assert read is not None
        assert read.stale
        again = await one.store.update("a", value("x"), expected=made.revision)
        newest = await one.store.get("a")
        assert newest == again
        assert not newest.stale
        assert one.gaps == []


async def test_the_past_is_decrypted(autojump_clock: MockClock) -> None:
    """What is older than the table's own history is read from etcd."""
    async with encrypted() as one:
        first = await one.put("a", "x")
        second = await one.put("a", "y")
        await one.seen(second)
        one.cipher.broken = True
        await one.seen(await one.put("b", "?"))
        one.cipher.broken = False
        await one.until(lambda: bool(one.gaps))
        one.store._past.compacted = 0  # it is etcd that says what it has
        read = await one.store.get("a", at=first)
        assert read is not None
        assert read.value == value("x").at(first)
        page = await one.store.range(ALL, at=second)
        assert [item.value for item in page.items] == [value("y").at(second)]
        events, _ = await one.store.events(after=first, max_bytes=10_000)
        assert events[0].previous == value("x").at(first)
        one.cipher.broken = True
        with pytest.raises(Unreadable, match=f"^{NOT_READABLE}$"):
            await one.store.get("a", at=first)
        with pytest.raises(Unreadable, match="unable to transform key"):
            await one.store.events(after=first, max_bytes=10_000)
