"""What etcd has, and what of it differs from what a replica has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kubetrio.env import seeded
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.listing import (
    TOGETHER,
    WITNESSES,
    list_all,
    list_changes,
    read_keys,
)
from kubetrio.store.etcd.requests import KeyValue
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model

KEYS = (b"/t/", b"/t0")
SETTINGS = ClientSettings(endpoints=["http://a"])


class Table:
    """What a replica has: a state of etcd."""

    def __init__(self, states: Mapping[bytes, KeyValue]) -> None:
        self._states = states

    def has(self, kv: KeyValue) -> bool:
        """See `Known`."""
        state = self._states.get(kv.key)
        return state is not None and state.revision == kv.revision

    async def agrees(self, kvs: Sequence[KeyValue]) -> bool:
        """See `Known`."""
        return all(self._states.get(kv.key) == kv for kv in kvs)


def fill(model: EtcdModel, number: int) -> None:
    """Write keys in one transaction, which is quick."""
    model.put_all({b"/t/%05d" % place: b"v%d" % place for place in range(number)})


@pytest.mark.parametrize("keys_only", [False, True])
async def test_all_of_it_at_one_revision(*, keys_only: bool) -> None:
    """Values are left out where they are not wanted."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        fill(model, 30)
        listing = await list_all(client, KEYS, keys_only=keys_only)
        wanted = list(model.state().values())
        if keys_only:
            wanted = [kv._replace(value=b"") for kv in wanted]
        assert listing.kvs == wanted
        assert listing.revision == model.revision


async def test_keys_that_are_there_at_a_revision() -> None:
    """Many with one call; others are left out."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        fill(model, TOGETHER + 1)
        at, before = model.revision, model.state()
        model.delete(b"/t/00000")
        kvs = await read_keys(client, [*before, b"/t/none"], at)
        assert kvs == list(before.values())
        assert model.calls["Txn"] == 2


async def test_values_that_have_not_changed_are_not_read() -> None:
    """But for the newest of them, which show that the history is one."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        fill(model, 50)
        table = Table(model.state())
        model.put(b"/t/00003", b"new")
        model.put(b"/t/new", b"new")
        model.delete(b"/t/00004")
        listing = await list_changes(client, KEYS, table)
        assert listing is not None
        assert len(listing.kvs) == 2 + WITNESSES
        whole = {kv.key: kv for kv in listing.kvs}
        whole |= {kv.key: table._states[kv.key] for kv in listing.unchanged}
        assert whole == model.state()
        assert listing.revision == model.revision
        newest = listing.newest
        assert newest is not None
        assert newest.key == b"/t/new"


async def test_a_history_that_is_another_one() -> None:
    """Though all keys have the revisions that are known."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        fill(model, 50)
        snapshot = model.save()
        model.put(b"/t/a", b"1")
        table = Table(model.state())
        model.restore(snapshot)
        model.put(b"/t/a", b"2")
        assert await list_changes(client, KEYS, table) is None
        assert await list_changes(client, KEYS, Table({})) is None
