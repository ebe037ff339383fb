"""How large the databases of members are, as metrics show it."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.harness.transport import MemoryTransport
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.dialing import Endpoint
from kubetrio.store.etcd.errors import Code, Unavailable
from kubetrio.store.etcd.sizes import UNKNOWN, DatabaseSizes
from kubetrio.testing.etcdmodel import etcd_model

ONE, TWO = "http://one:1", "http://two:2"


async def test_each_member_is_asked_from_time_to_time(autojump_clock: MockClock) -> None:
    """One that does not answer is told apart, and asked again."""
    async with etcd_model() as model:
        gone = {TWO}

        async def dial(endpoint: Endpoint) -> MemoryTransport:
            if endpoint.url in gone:
                raise Unavailable("refused", Code.UNAVAILABLE)
            return await model.dial(endpoint)

        settings = ClientSettings(endpoints=[ONE, TWO], call_timeout_s=1)
        async with (
            open_client(settings, seeded(1), dial=dial) as client,
            trio.open_nursery() as nursery,
        ):
            sizes = DatabaseSizes(client, 30, seeded(1))
            assert sizes.largest == 0
            nursery.start_soon(sizes.run)
            model.put(b"/a", b"x" * 100)
            await trio.sleep(5)
            assert sizes.by_endpoint == {ONE: 100, TWO: UNKNOWN}
            assert sizes.largest == 100
            model.put(b"/a", b"x" * 50)
            gone.clear()
            await trio.sleep(50)
            assert sizes.by_endpoint == {ONE: 150, TWO: 150}
            assert model.calls["Status"] == 3
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("interval_s", [0.0])
async def test_nothing_is_asked(autojump_clock: MockClock, interval_s: float) -> None:
    """With an interval of 0, as there."""
    async with (
        etcd_model() as model,
        open_client(ClientSettings(endpoints=[ONE]), seeded(1), dial=model.dial) as client,
    ):
        sizes = DatabaseSizes(client, interval_s, seeded(1))
        with trio.move_on_after(1000):
            await sizes.run()
        assert not sizes.by_endpoint
        assert model.calls["Status"] == 0
