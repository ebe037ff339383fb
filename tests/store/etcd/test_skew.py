"""Values that a newer server has written, and this one cannot read: they are left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.store.consistent import ConsistentStore
from kubetrio.store.errors import KeyExists, LostCompareAndSwap, Unreadable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store
from kubetrio.store.model import Event, EventType, Range, Stamped
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, stored

ALL = Range("\x01", "\U0010ffff")
NEWER = b"newer"
VALUE = Stamped(b"rev=", b";x")


class OlderValues(PlainValues):
    """Values of a version that does not know the newer one's."""

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """See `mapping.Values`."""
        if data == NEWER:
            raise Unreadable(f"{key} cannot be read")
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
    """It is not there for reads, and no write of this server reaches it."""
    async with etcd_model() as model:
        if before_start:
            model.put(b"/t/a", NEWER)
        async with older(model) as (engine, told):
            store = ConsistentStore(engine)
            if not before_start:
                model.put(b"/t/a", NEWER)
            assert await store.get("a") is None
            assert not (await store.range(ALL)).items
            assert await store.count(ALL) == 0
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
            assert [item.key for item in (await store.range(ALL)).items] == ["b"]


async def test_what_becomes_readable_and_unreadable(autojump_clock: MockClock) -> None:
    """Watches see it go and come, so that no cache of a client keeps what is not served."""
    async with etcd_model() as model, older(model) as (engine, told):
        model.put(b"/t/a", stored(VALUE))
        model.put(b"/t/a", NEWER)
        model.put(b"/t/a", stored(VALUE))
        await engine.caught_up(await engine.newest())
        await wait_all_tasks_blocked()
        assert [(event.key, event.type) for event in told] == [
            ("a", EventType.CREATED),
            ("a", EventType.DELETED),
            ("a", EventType.CREATED),
        ]
