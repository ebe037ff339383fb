"""A replica of a real etcd whose data directory is put back to an older state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trio

from kubetrio.env import seeded
from kubetrio.store.consistent import ConsistentStore
from kubetrio.store.model import Gap, Stamped
from kubetrio.testing.etcd import MISSING, Member, binary, etcd
from kubetrio.testing.etcdstore import replica

LATER = 5  # writes


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    return Stamped(b'{"rev":', complete[complete.index(b",") :])


def save(member: Member, folder: Path) -> None:
    """Copy the data of a member that is stopped."""
    shutil.copytree(member.data_dir, folder)


def restore(member: Member, folder: Path) -> None:
    """Give a member that is stopped the data of a copy."""
    shutil.rmtree(member.data_dir)
    shutil.copytree(folder, member.data_dir)


@pytest.mark.parametrize("grows", [False, True])
async def test_an_etcd_that_is_put_back(tmp_path: Path, *, grows: bool) -> None:
    """Is found out, also where it has grown past what was told; reads are of what is there."""
    if binary() is None:
        pytest.skip(MISSING)
    with etcd(tmp_path / "etcd") as running:
        [member] = running.members
        urls = tuple(running.urls)
        async with replica(urls, "/t/", reopen, seeded(1)) as one:
            await one.create("a", value("kept"))
        member.stop()
        save(member, tmp_path / "copy")
        running.restart(member)
        async with replica(urls, "/t/", reopen, seeded(2)) as one:
            consistent, gaps = ConsistentStore(one), list[Gap]()
            one.on_gap(gaps.append)
            await one.create("b", value("lost"))
            told = one.revision
            member.kill()
            restore(member, tmp_path / "copy")
            running.restart(member)
            if grows:
                async with replica(urls, "/t/", reopen, seeded(3)) as other:
                    for number in range(LATER):
                        await other.create(f"c{number}", value("new"))
                    assert other.revision > told
            with trio.fail_after(60):
                found = await consistent.get("a")
                assert found is not None
                assert b"kept" in found.value
                assert await consistent.get("b") is None
            assert [gap.rewound for gap in gaps] == [True]
            assert [event.key for event in gaps[0].changes if event.value.endswith(b'"lost"}')] == [
                "b"
            ]
