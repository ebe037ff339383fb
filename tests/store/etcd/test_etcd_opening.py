"""How a replica is opened, what goes on while it is open, and how it is closed."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.errors import Compacted, StoreUnavailable
from kubetrio.store.etcd.client import ClientSettings
from kubetrio.store.etcd.errors import Code
from kubetrio.store.etcd.layout import COMPACT_REVISION
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.opening import ReplicaSettings, open_store, trusts_progress
from kubetrio.store.model import Range, Stamped, unstampable
from kubetrio.testing.etcdmodel import CallError, etcd_model
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, stored

VALUE = Stamped(b"", b";x")
MAPPING = Mapping(keys=PlainKeys(b"/t/"), values=PlainValues(), reopen=unstampable)
CLIENT = ClientSettings(endpoints=["http://a"], call_timeout_s=2.0)


@pytest.mark.parametrize(
    ("version", "trusted"),
    [
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.6.0", True),
        ("3.6.0-rc.1", True),
        ("3.3.27", False),
        ("4.0.0", True),
    ],
)
def test_versions_whose_progress_is_right(version: str, *, trusted: bool) -> None:
    """Those with the mend of etcd-io/etcd#15220."""
    assert trusts_progress(version) is trusted


@pytest.mark.parametrize("version", ["3.4.23", "3.5.21"])
async def test_a_replica_has_what_is_there(autojump_clock: MockClock, version: str) -> None:
    """And follows it until it is closed; an old etcd's word on progress is not believed."""
    async with etcd_model(version) as model:
        model.put(b"/t/a", stored(VALUE))
        settings = ReplicaSettings(client=CLIENT)
        async with open_store(settings, MAPPING, seeded(1), dial=model.dial) as store:
            assert store.trusts_progress is (version == "3.5.21")
            assert await store.count(Range("a", "z")) == 1
            model.put(b"/other", b"")
            model.put(b"/t/b", stored(VALUE))
            newest = await store.newest()
            await store.caught_up(newest)
            assert await store.count(Range("a", "z")) == 2
            assert model.revision == newest
            assert model.calls["Txn"] == (version == "3.4.23")
        calls = model.calls.copy()
        await trio.sleep(1000)
        assert model.calls == calls


async def test_an_etcd_that_is_not_there(autojump_clock: MockClock) -> None:
    """Is told with the flag that says where it should be."""
    async with etcd_model() as model:
        model.down = True
        with pytest.raises(StoreUnavailable, match="--etcd-servers"):
            async with open_store(
                ReplicaSettings(client=CLIENT), MAPPING, seeded(1), dial=model.dial
            ):
                pytest.fail("it is open")


async def test_an_etcd_that_cannot_be_read(autojump_clock: MockClock) -> None:
    """In etcd's words."""
    async with etcd_model() as model:
        model.fail("Range", CallError(Code.PERMISSION_DENIED, "etcdserver: permission denied"))
        with pytest.raises(StoreUnavailable, match="permission denied"):
            async with open_store(
                ReplicaSettings(client=CLIENT), MAPPING, seeded(1), dial=model.dial
            ):
                pytest.fail("it is open")


async def test_history_goes_with_time(autojump_clock: MockClock) -> None:
    """That of the replica, and that of etcd by turns; what is in the window stays."""
    settings = ReplicaSettings(client=CLIENT, compaction_interval_s=60.0, history_window_s=300.0)
    async with (
        etcd_model() as model,
        open_store(settings, MAPPING, seeded(1), dial=model.dial) as store,
    ):
        old = (await store.create("a", VALUE)).revision
        await trio.sleep(30)
        middle = (await store.update("a", VALUE, expected=old)).revision
        await trio.sleep(170)
        young = (await store.update("a", VALUE, expected=middle)).revision
        assert await store.get("a", at=old) is not None
        await trio.sleep(250)
        newest = (await store.update("a", VALUE, expected=young)).revision
        with pytest.raises(Compacted):
            await store.get("a", at=old)
        assert await store.get("a", at=young) is not None
        assert old < model.compacted <= young + 10
        assert model.state()[COMPACT_REVISION].version > 3
        assert store.revision >= newest
