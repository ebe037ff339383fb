"""What a replica tells of the time before it began, read from a real etcd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubetrio.store.model import EventType, Range, Stamped
from kubetrio.testing.environment import seeded
from kubetrio.testing.etcd import MISSING, Etcd, binary, etcd
from kubetrio.testing.etcdstore import replica

PLENTY = 1 << 20


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd of one member."""
    if binary() is None:
        pytest.skip(MISSING)
    with etcd(tmp_path / "etcd") as running:
        yield running


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    return Stamped(b'{"rev":', complete[complete.index(b",") :])


@pytest.mark.parametrize("keys", [None, Range.prefix("a/")])
@pytest.mark.parametrize("trusts_progress", [True, False])
async def test_a_new_replica_tells_the_history_before_it(
    cluster: Etcd, keys: Range | None, trusts_progress: bool
) -> None:
    """As the replica does that was there; the key that fresh reads may write is never told."""
    urls = tuple(cluster.urls)
    async with replica(urls, "/t/", reopen, seeded(1)) as first:
        first.trusts_progress = trusts_progress and first.trusts_progress
        begun = first.revision
        made = (await first.create("a/1", value("one"))).revision
        await first.newest()
        await first.create("b/1", value("other"))
        changed = (await first.update("a/1", value("two"), expected=made)).revision
        await first.delete("a/1", expected=changed)
        await first.newest()
        whole, _ = await first.events(after=begun, keys=keys, max_bytes=PLENTY)
        async with replica(urls, "/t/", reopen, seeded(2)) as second:
            second.trusts_progress = first.trusts_progress
            told, upto = await second.events(after=begun, keys=keys, max_bytes=PLENTY)
            one, _ = await second.events(after=begun, keys=keys, max_bytes=1)
            rest, _ = await second.events(after=made, keys=keys, max_bytes=PLENTY)
    assert list(told) == list(whole)
    assert upto >= whole[-1].revision
    assert list(one) == list(whole[:1])
    assert list(rest) == list(whole[1:])
    assert whole[-1].type is EventType.DELETED
