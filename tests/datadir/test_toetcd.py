"""Objects of a data directory copied to an empty etcd, an interrupted copy, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from etcdworld import OBJECTS, SECRET, Bar, configured, obj, place, write
from trio.testing import MockClock

from kubetrio.datadir import toetcd
from kubetrio.datadir.migration import MARKER, MigrationError
from kubetrio.datadir.toetcd import copy_to_etcd
from kubetrio.env import seeded
from kubetrio.store.errors import DataDirectoryLocked
from kubetrio.store.etcd.errors import Code
from kubetrio.store.lock import DirectoryLock
from kubetrio.testing.etcdmodel import NO_SPACE, CallError, EtcdModel, etcd_model

MARKED = f"/registry{MARKER}".encode()


def revisions(model: EtcdModel) -> dict[str, int]:
    """The revision of each key that is there."""
    return {key.decode(): kv.revision for key, kv in model.state().items()}


async def test_objects_keep_their_revisions(tmp_path: Path, autojump_clock: MockClock) -> None:
    """But for the first: an empty etcd is beyond it, so it comes last; older ones are forgotten."""
    write(tmp_path, *OBJECTS)
    bar = Bar()
    async with etcd_model() as model:
        done = await copy_to_etcd(tmp_path, place(model), None, seeded(1), bar.to)
        expected = {row.key: row.revision for row in OBJECTS} | {OBJECTS[0].key: 122}
        assert revisions(model) == expected
        assert done == (len(OBJECTS), 0, 1, 123)
        assert (model.revision, model.compacted) == (123, 123)
        assert bar.told[-1] == (121, 121)


@pytest.mark.parametrize("calls", [1, 3, 5, 30, 100, 121])
async def test_an_interrupted_copy_is_gone_on_with(
    tmp_path: Path, autojump_clock: MockClock, calls: int
) -> None:
    """At whatever call it ends; what is there is not written again."""
    write(tmp_path, *OBJECTS)
    refused = CallError(Code.UNAVAILABLE, "etcdserver: request timed out")
    async with etcd_model() as model:
        model.fail_after("Txn", calls, refused)
        with pytest.raises(MigrationError, match="run this again to go on"):
            await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        model.mend()
        before = {key: at for key, at in revisions(model).items() if key != MARKED.decode()}
        done = await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        assert done.objects == len(OBJECTS)
        assert done.before == len(before)
        assert revisions(model).items() >= before.items()
        assert revisions(model).keys() == {row.key for row in OBJECTS}
        assert model.revision > 120
        assert done.renumbered <= 3


async def test_a_prefix_that_is_not_empty(tmp_path: Path, autojump_clock: MockClock) -> None:
    """It is left alone; another prefix is taken."""
    write(tmp_path, *OBJECTS)
    async with etcd_model() as model:
        model.put(b"/registry/health", b"x")
        with pytest.raises(MigrationError, match="etcd has 1 keys under /registry: name another"):
            await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        assert model.calls["Txn"] == 0
        other = place(model, prefix="/mine")
        done = await copy_to_etcd(tmp_path, other, None, seeded(1), Bar().to)
        assert done.objects == len(OBJECTS)
        assert b"/mine/configmaps/default/first" in model.state()


async def test_what_has_changed_since_an_interruption(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A copy of another state, or an etcd that others have written to, is not gone on with."""
    write(tmp_path / "one", *OBJECTS)
    write(tmp_path / "two", *OBJECTS, obj("ConfigMap", "more", 100))
    async with etcd_model() as model:
        model.fail_after("Txn", 5, CallError(Code.UNAVAILABLE, "etcdserver: gone"))
        with pytest.raises(MigrationError):
            await copy_to_etcd(tmp_path / "one", place(model), None, seeded(1), Bar().to)
        model.mend()
        with pytest.raises(MigrationError, match="etcdctl del --prefix /registry/"):
            await copy_to_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
        model.put(b"/registry/pods/default/new", b"x")
        with pytest.raises(MigrationError, match="interrupted copy"):
            await copy_to_etcd(tmp_path / "one", place(model), None, seeded(1), Bar().to)


async def test_very_many_revisions(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are filled when that is not too long, or not at all where that is asked for."""
    write(tmp_path, *OBJECTS)
    monkeypatch.setattr(toetcd, "FILLED_MOST", 100)
    async with etcd_model() as model:
        with pytest.raises(MigrationError, match=r"go up to 121, and etcd is at 1: .* --renumber"):
            await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        assert model.state() == {}
        done = await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to, renumber=True)
        assert (done.objects, done.renumbered) == (len(OBJECTS), len(OBJECTS) - 1)
        assert model.revision == len(OBJECTS) + 3


async def test_encrypted_values(tmp_path: Path, autojump_clock: MockClock) -> None:
    """With the configuration they are encrypted on either side, for the keys of either side."""
    write(tmp_path / "plain", *OBJECTS)
    config = configured(tmp_path / "encryption.yaml")
    async with etcd_model() as model:
        await copy_to_etcd(tmp_path / "plain", place(model), config, seeded(1), Bar().to)
        assert model.state()[SECRET.encode()].value.startswith(b"k8s:enc:aesgcm:v1:a:")
        assert model.state()[OBJECTS[0].key.encode()].value.startswith(b"k8s\0")


async def test_encrypted_values_without_a_key(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nothing that cannot be read is left out."""
    write(tmp_path, OBJECTS[0], OBJECTS[2]._replace(value=b"k8s:enc:aesgcm:v1:b:x", hole=-1))
    async with etcd_model() as model:
        for config in (None, configured(tmp_path / "encryption.yaml")):
            with pytest.raises(MigrationError, match=rf"{SECRET}: .*--encryption-provider-config"):
                await copy_to_etcd(tmp_path, place(model), config, seeded(1), Bar().to)


async def test_events_have_a_time_to_live(tmp_path: Path, autojump_clock: MockClock) -> None:
    """On a lease of etcd; others have none."""
    write(tmp_path, obj("Event", "e", 5), obj("ConfigMap", "c", 6))
    async with etcd_model() as model:
        await copy_to_etcd(tmp_path, place(model, event_ttl_s=60), None, seeded(1), Bar().to)
        assert model.calls["LeaseGrant"] == 1


async def test_what_is_in_the_way(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A server on the data directory, a full etcd, a file that cannot be read."""
    write(tmp_path, *OBJECTS)
    async with etcd_model() as model:
        lock = DirectoryLock(tmp_path)
        with pytest.raises(DataDirectoryLocked):
            await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        lock.release()
        model.fail("Txn", CallError(Code.RESOURCE_EXHAUSTED, NO_SPACE))
        with pytest.raises(MigrationError, match="space exceeded"):
            await copy_to_etcd(tmp_path, place(model), None, seeded(1), Bar().to)
        with pytest.raises(MigrationError, match="--encryption-provider-config"):
            await copy_to_etcd(tmp_path, place(model), tmp_path / "none", seeded(1), Bar().to)
        with pytest.raises(MigrationError, match="--etcd-prefix: it is empty"):
            await copy_to_etcd(tmp_path, place(model, prefix=""), None, seeded(1), Bar().to)
