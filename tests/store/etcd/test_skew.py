"""Values that a newer server has written, and this one cannot read: they are left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.store.consistent import ConsistentStore
from kubetrio.store.errors import KeyExists, LostCompareAndSwap, Undecodable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.model import Event, EventType, Range, Stamped
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, stored

ALL = Range("\x01", "\U0010ffff")
NEWER = b"newer"
NOT_KNOWN = 'no kind "Gadget" is registered'
VALUE = Stamped(b"rev=", b";x")


class OlderValues(PlainValues):
    """Values of a version that does not know the newer one's."""

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """See `mapping.Values`."""
        if data == NEWER:
            raise Undecodable(NOT_KNOWN)
        return super().from_etcd(key, data)


def reopen(complete: bytes) -> Stamped:
    before, _, rest = complete.partition(b"=")
    return Stamped(before + b"=", rest[rest.index(b";") :])


@asynccontextmanager
async def older(model: EtcdModel) -> AsyncIterator[tuple[EtcdStore, list[Event]]]:
    """A replica of the older version, and what it tells."""
    mapping = Mapping(keys=PlainKeys(b"/t/"), values=OlderValues(), reopen=reopen)
    settings = ReplicaSettings(
        client=ClientSettings(endpoints=["http://etcd"]), compaction_interval_s=0
    )
    async with open_store(settings, mapping, seeded(1), dial=model.dial) as store:
        told: list[Event] = []

        def note(events: Sequence[Event]) -> None:
            told.extend(events)

        store.on_commit(note)
        yield store, told


@pytest.mark.parametrize("before_start", [True, False])
async def test_a_value_of_a_newer_server_stays(
    autojump_clock: MockClock, before_start: bool
) -> None:
    """Reads of it fail, and no write of this server reaches it."""
    async with etcd_model() as model:
        if before_start:
            model.put(b"/t/a", NEWER)
        async with older(model) as (engine, told):
            store = ConsistentStore(engine)
            if not before_start:
                model.put(b"/t/a", NEWER)
            with pytest.raises(Undecodable, match=f"^{NOT_KNOWN}$"):
                await store.get("a")
            with pytest.raises(Undecodable, match=f"^{NOT_KNOWN}$"):
                await store.range(ALL)
            with pytest.raises(Undecodable, match=f"^{NOT_KNOWN}$"):
                await store.join(ALL, skip=0, separator=b",", max_bytes=1000)
            revision = model.state()[b"/t/a"].revision
            with pytest.raises(KeyExists):
                await store.create("a", VALUE)
            for expected in (0, 1):
                with pytest.raises(LostCompareAndSwap):
                    await store.update("a", VALUE, expected=expected)
                with pytest.raises(LostCompareAndSwap):
                    await store.delete("a", expected=expected)
            kv = model.state()[b"/t/a"]
            assert (kv.value, kv.revision) == (NEWER, revision)
            assert told == []
            await store.create("b", VALUE)
            assert await store.get("b") is not None
            assert [gauge.value for gauge in store.statistics().own if "unr" in gauge.name] == [1]
            model.delete(b"/t/a")
            assert [item.key for item in (await store.range(ALL)).items] == ["b"]
            assert [gauge.value for gauge in store.statistics().own if "unr" in gauge.name] == [0]


async def test_what_becomes_readable_and_unreadable(autojump_clock: MockClock) -> None:
    """Watches hear nothing of it: were its deletion told, its dependents would be collected."""
    async with etcd_model() as model, older(model) as (engine, told):
        first = model.put(b"/t/a", stored(VALUE))
        model.put(b"/t/a", NEWER)
        await engine.caught_up(await engine.newest())
        with pytest.raises(Undecodable):
            await engine.get("a")
        before = await engine.get("a", at=first)
        assert before is not None
        assert before.value == VALUE.at(first)
        last = model.put(b"/t/a", stored(VALUE))
        await engine.caught_up(await engine.newest())
        await wait_all_tasks_blocked()
        assert [(event.key, event.type, event.previous) for event in told] == [
            ("a", EventType.CREATED, None),
            ("a", EventType.UPDATED, VALUE.at(first)),
        ]
        assert (await engine.range(ALL)).items[0].value == VALUE.at(last)
        model.put(b"/t/a", NEWER)
        gone = model.delete(b"/t/a")
        await engine.caught_up(await engine.newest())
        assert told[-1] == Event(gone, "a", EventType.DELETED, VALUE.at(gone), VALUE.at(last))


async def test_no_key_is_waited_for(autojump_clock: MockClock) -> None:
    """Values that no key opens are not read again, as those are that cannot be decrypted."""
    async with etcd_model() as model, older(model) as (engine, _):
        model.put(b"/t/a", NEWER)
        await engine.caught_up(await engine.newest())
        newest = await engine.newest()
        for _ in range(3):
            await engine.look_at_keys()
        assert await engine.newest() == newest
