"""Quotas as they are stored: what is expected of a namespace, and whose turn it is."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.kinds.builtin import registry
from kubetrio.quota.stored import EXPECTED_S, StoredQuotas
from kubetrio.schema.registry import LiveRegistry
from kubetrio.testing.store_model import MemoryStore

KEY = "/registry/pods/ns/p"


@pytest.fixture
def quotas() -> StoredQuotas:
    """Of a server without any."""
    return StoredQuotas(MemoryStore(), LiveRegistry(registry()), seeded(1))


async def test_what_is_charged_is_expected_until_it_is_stored(quotas: StoredQuotas) -> None:
    """In its namespace only; other objects are none of it."""
    assert not quotas.stored(KEY)
    quotas.expect("ns", KEY)
    assert quotas.expecting("ns")
    assert not quotas.expecting("other")
    assert not quotas.stored(KEY + "2")
    assert quotas.stored(KEY)
    assert not quotas.expecting("ns")


async def test_what_never_comes_is_forgotten(
    quotas: StoredQuotas, autojump_clock: MockClock
) -> None:
    """After a while; what is refused, at once."""
    quotas.expect("ns", KEY)
    await trio.sleep(EXPECTED_S)
    assert not quotas.expecting("ns")
    quotas.expect("ns", KEY)
    quotas.forget("ns", KEY)
    assert not quotas.expecting("ns")


async def test_one_task_at_a_time_has_its_turn(
    quotas: StoredQuotas, autojump_clock: MockClock
) -> None:
    """In a namespace; another namespace has turns of its own."""
    order: list[str] = []

    async def work(namespace: str, name: str) -> None:
        async with quotas.turn(namespace):
            order.append(name)
            await trio.sleep(1)
            order.append(f"{name} done")

    async with trio.open_nursery() as nursery:
        for namespace, name in (("ns", "a"), ("ns", "b"), ("other", "c")):
            nursery.start_soon(work, namespace, name)
            await wait_all_tasks_blocked()
    assert order.index("a done") < order.index("b")
    assert order.index("c") < order.index("a done")
