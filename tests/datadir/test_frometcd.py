"""Objects in etcd copied to a data directory: there and back again, and what is refused."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from etcdworld import OBJECTS, SECRET, Bar, configured, obj, place, read, widget, write
from trio.testing import MockClock

from kubetrio.datadir.frometcd import copy_from_etcd
from kubetrio.datadir.migration import MARKER, MigrationError
from kubetrio.datadir.toetcd import copy_to_etcd
from kubetrio.datadir.verify import Seen, verify
from kubetrio.encryption.note import NOTE
from kubetrio.env import seeded
from kubetrio.resources.objects import restamp
from kubetrio.store.sqlite import loading
from kubetrio.store.sqlite.inspection import FILE_NAME, inspect
from kubetrio.testing.etcdmodel import EtcdModel, etcd_model


def faults(directory: Path) -> list[str]:
    """What `kubetrio verify` says."""
    found = verify(directory / FILE_NAME, Seen(), lambda _done, _of: None, lambda: None)
    return [f"{fault.where}: {fault.what}" for fault in found]


def content(values: dict[str, bytes]) -> dict[str, bytes]:
    """Values without their revisions; members of custom resources in the order that etcd has."""
    plain = {key: b"".join(restamp(value)) for key, value in values.items()}
    for key in plain.keys() & {widget("w", 1).key}:
        plain[key] = orjson.dumps(orjson.loads(plain[key]), option=orjson.OPT_SORT_KEYS)
    return plain


@pytest.mark.parametrize("media_type", ["application/vnd.kubernetes.protobuf", "application/json"])
async def test_there_and_back_again(
    tmp_path: Path, autojump_clock: MockClock, media_type: str
) -> None:
    """Byte for byte; revisions are the same but for the first, and go on above all of them."""
    rows = (*OBJECTS, widget("w", 92))
    write(tmp_path / "one", *rows)
    async with etcd_model() as model:
        where = place(model, media_type=media_type)
        there = await copy_to_etcd(tmp_path / "one", where, None, seeded(1), Bar().to)
        bar = Bar()
        back = await copy_from_etcd(tmp_path / "two", where, None, seeded(1), bar.to)
    first, second = read(tmp_path / "one"), read(tmp_path / "two")
    assert content(first) == content(second)
    assert {key for key in first if first[key] != second[key]} == {OBJECTS[0].key, rows[-1].key}
    assert back == (len(rows), 0, 0, there.revision + 1)
    assert bar.told[-1] == (len(rows), len(rows))
    with inspect(tmp_path / "two" / FILE_NAME) as seen:
        assert seen.revision == seen.compacted == back.revision
    unserved = [f"{rows[-1].key} at revision 92: is of no kind that is served here"]
    assert faults(tmp_path / "one") == faults(tmp_path / "two") == unserved


async def test_encrypted_there_and_back_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What is encrypted on one side is on the other, with a note of which folders are."""
    write(tmp_path / "one", *OBJECTS)
    config = configured(tmp_path / "encryption.yaml")
    async with etcd_model() as model:
        await copy_to_etcd(tmp_path / "one", place(model), config, seeded(1), Bar().to)
        await copy_from_etcd(tmp_path / "two", place(model), config, seeded(1), Bar().to)
    assert read(tmp_path / "two")[SECRET].startswith(b"k8s:enc:aesgcm:v1:a:")
    with inspect(tmp_path / "two" / FILE_NAME) as seen:
        assert seen.value(NOTE) == (
            b'{"folders":["/registry/secrets/"],"revision":%d}' % (seen.revision - 1)
        )
    async with etcd_model() as model:
        await copy_to_etcd(tmp_path / "two", place(model), config, seeded(2), Bar().to)
        plain = configured(tmp_path / "other.yaml", "b")
        with pytest.raises(MigrationError, match=r"secrets/default/s cannot be read: .*matching"):
            await copy_from_etcd(tmp_path / "three", place(model), plain, seeded(1), Bar().to)
        with pytest.raises(MigrationError, match="--encryption-provider-config"):
            await copy_from_etcd(tmp_path / "three", place(model), None, seeded(1), Bar().to)
        await copy_from_etcd(tmp_path / "three", place(model), config, seeded(3), Bar().to)
    assert content(read(tmp_path / "one")).keys() == read(tmp_path / "three").keys()


class Killed(BaseException):
    """A process that ends."""


async def filled(model: EtcdModel, directory: Path) -> None:
    """Put objects into etcd."""
    write(directory, *OBJECTS, *(obj("ConfigMap", f"c{at}", at) for at in range(200, 900)),
          revision=1000)  # fmt: skip
    await copy_to_etcd(directory, place(model), None, seeded(1), Bar().to, renumber=True)


async def interrupted(model: EtcdModel, directory: Path) -> None:
    """Copy, until some objects are written."""

    def end(done: int, total: int) -> None:
        if (directory / loading.PARTIAL).exists() and 200 <= done < total:
            raise Killed

    with pytest.raises(Killed):
        await copy_from_etcd(directory, place(model), None, seeded(1), end)
    assert not (directory / FILE_NAME).exists()


async def test_an_interrupted_copy_is_gone_on_with(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """What it has written is not written again."""
    async with etcd_model() as model:
        await filled(model, tmp_path / "one")
        await interrupted(model, tmp_path / "two")
        done = await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
    assert (done.objects, done.before) == (706, 200)
    assert content(read(tmp_path / "two")) == content(read(tmp_path / "one"))
    names = {path.name for path in (tmp_path / "two").iterdir()}
    assert not any(name.startswith(loading.PARTIAL) for name in names)
    assert faults(tmp_path / "two") == []


async def test_what_has_changed_since_is_copied_anew(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A part that is of no state that etcd has is thrown away."""
    async with etcd_model() as model:
        await filled(model, tmp_path / "one")
        await interrupted(model, tmp_path / "two")
        model.delete(OBJECTS[1].key.encode())
        done = await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
    assert (done.objects, done.before) == (705, 0)
    assert OBJECTS[1].key not in read(tmp_path / "two")
    assert faults(tmp_path / "two") == []


async def test_objects_of_one_revision(tmp_path: Path, autojump_clock: MockClock) -> None:
    """One keeps it; the others get revisions of their own after all others."""
    async with etcd_model() as model:
        write(tmp_path / "one", *OBJECTS)
        await copy_to_etcd(tmp_path / "one", place(model), None, seeded(1), Bar().to)
        values = [model.state()[row.key.encode()].value for row in OBJECTS[:3]]
        model.delete(*(row.key.encode() for row in OBJECTS[:3]))
        model.put_all(
            {row.key.encode(): value for row, value in zip(OBJECTS, values, strict=False)}
        )
        done = await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
    assert (done.objects, done.renumbered) == (len(OBJECTS), 2)
    assert content(read(tmp_path / "one")) == content(read(tmp_path / "two"))
    assert faults(tmp_path / "two") == []


async def test_what_is_no_object_is_left_out(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Ranges, leases of servers, other keys; and a time to live begins anew."""
    async with etcd_model() as model:
        write(tmp_path / "one", obj("Event", "e", 5))
        await copy_to_etcd(tmp_path / "one", place(model), None, seeded(1), Bar().to)
        for name in ("ranges/servicenodeports", "masterleases/10.0.0.1", "health", "kubetrio/x"):
            model.put(f"/registry/{name}".encode(), b"?")
        await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
    assert read(tmp_path / "two").keys() == {"/registry/events/default/e"}


async def test_what_is_refused(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A directory with objects, a value that cannot be read, an etcd with half a copy, no etcd."""
    write(tmp_path / "one", *OBJECTS)
    async with etcd_model() as model:
        with pytest.raises(MigrationError, match=r"has objects: name another --data-dir"):
            await copy_from_etcd(tmp_path / "one", place(model), None, seeded(1), Bar().to)
        model.put(b"/registry/pods/default/p", b"damaged")
        with pytest.raises(MigrationError, match="/registry/pods/default/p cannot be read"):
            await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
        model.delete(b"/registry/pods/default/p")
        model.put(f"/registry{MARKER}".encode(), b"{}")
        with pytest.raises(MigrationError, match="interrupted copy of a data directory"):
            await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
        model.down = True
        with pytest.raises(MigrationError, match=r"etcd: .*refused"):
            await copy_from_etcd(tmp_path / "two", place(model), None, seeded(1), Bar().to)
    assert not (tmp_path / "two" / FILE_NAME).exists()
