"""A table that goes on from its copy has what etcd has, whatever came between."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import Env, seeded
from kubetrio.store.cipher import ENCRYPTED, Cipher, Plain, StoredValue
from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd.copyfile import CopyWriter, UnusableCopy, read_copy, unfinished
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.errors import Code
from kubetrio.store.etcd.keeping import FEW, LOOK_S, CopySettings
from kubetrio.store.etcd.requests import Event as Change
from kubetrio.store.model import KeyValue, Range, Stamped
from kubetrio.testing.etcdmodel import NO_SPACE, CallError, EtcdModel, Snapshot, etcd_model
from kubetrio.testing.etcdstore import Rot13, modelled, replica, stored

T = TypeVar("T")
Args = TypeVarTuple("Args")
ALL = Range("a", "z")
NAMES = [f"{kind}{number}" for kind in "cps" for number in range(5)]
IDENTITY = {"kubetrio": "1"}
WHOLE = {**IDENTITY, "cluster": "1"}
PLENTY = 1 << 20


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    return Stamped(b'{"rev":', complete[complete.index(b",") :])


def left_out(key: str) -> bool:
    """Whether a value is not to be on the disk."""
    return key.startswith("s")


class Disk:
    """Runs calls until it fails.

    Attributes:
        calls: how many still succeed; None for all.
        full: whether no file can be begun.
    """

    def __init__(self, calls: int | None = None) -> None:
        self.calls = calls
        self.full = False

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """See `env.RunBlocking`."""
        await trio.lowlevel.checkpoint()
        if self.calls is not None:
            if not self.calls:
                raise OSError("the process is killed")
            self.calls -= 1
        if self.full and getattr(fn, "__name__", "") == CopyWriter.__name__:
            raise OSError("there is no room")
        return fn(*args)


class Kept:
    """A model, and replicas of it that keep their table in one file, one after the other.

    Args:
        model: of etcd.
        folder: of the file.
    """

    def __init__(self, model: EtcdModel, folder: Path, cipher: Cipher | None = None) -> None:
        self.model = model
        self.path = folder / "table"
        self.disk = Disk()
        self._cipher = cipher
        self._lives = 0
        self._written = 0

    def live(
        self, identity: dict[str, str] | None = None
    ) -> AbstractAsyncContextManager[EtcdStore]:
        """A replica."""
        self._lives += 1
        env: Env = dataclasses.replace(seeded(self._lives), run_blocking=self.disk)
        copy = CopySettings(path=self.path, identity=identity or IDENTITY, leaves_out=left_out)
        return replica(
            ("http://etcd",), "/t/", reopen, env,
            dial=self.model.dial, copy=copy, cipher=self._cipher,
        )  # fmt: skip

    def put(self, key: str) -> int:
        """Write a key as another replica does, with a value that no other write has."""
        self._written += 1
        return self.model.put(b"/t/" + key.encode(), stored(value(f"v{self._written}")))

    def delete(self, key: str) -> None:
        """Delete a key as another replica does."""
        self.model.delete(b"/t/" + key.encode())

    def files(self) -> list[Path]:
        """Return what is in the folder."""
        return list(self.path.parent.iterdir())

    def reset_calls(self) -> None:
        """Count calls from now on."""
        self.model.calls.clear()

    async def as_fresh(self, store: EtcdStore) -> None:
        """Compare a replica with one that has read everything."""
        assert store.revision >= self.model.revision
        async with modelled(self.model, reopen, seed=99, cipher=self._cipher) as fresh:
            wanted = (await fresh.range(ALL)).items
            items = (await store.range(ALL)).items
            assert items == wanted
            assert [item.stale for item in items] == [item.stale for item in wanted]
            assert await store.count(ALL) == len(items)
            for item in items:
                assert await store.get(item.key) == item


def changes(model: EtcdModel, after: int) -> list[tuple[int, str]]:
    """What etcd's history has after a revision, of keys of the store."""
    return [
        (change.kv.revision, change.kv.key.decode()[3:])
        for change in model.save().history
        if change.kv.revision > after and change.kv.key.startswith(b"/t/") and _is_told(change)
    ]


def _is_told(change: Change) -> bool:
    return not change.kv.key.endswith(b"barrier")


# ---------------------------------------------------------------------- how a start goes on


@pytest.mark.parametrize("version", ["3.4.23", "3.5.21"])
async def test_a_start_goes_on_from_the_copy(
    autojump_clock: MockClock, tmp_path: Path, version: str
) -> None:
    """Values are not read again but those that are left out, and watches go on without etcd."""
    async with etcd_model(version) as model:
        one = Kept(model, tmp_path)
        for name in NAMES:
            one.put(name)
        async with one.live() as store:
            at = one.put("p1")
            await store.caught_up(at)
        one.put("c1")
        one.delete("c2")
        one.reset_calls()
        async with one.live() as store:
            assert store.compacted == 0
            assert store._compacted >= at
            assert model.calls["Range"] <= 5
            opened = model.calls["Watch"]
            events, upto = await store.events(after=store._compacted, max_bytes=PLENTY)
            assert model.calls["Watch"] == opened
            assert [(e.revision, e.key) for e in events] == changes(model, store._compacted)
            assert upto >= events[-1].revision
            await one.as_fresh(store)


async def test_values_are_taken_from_the_copy_where_history_is_compacted(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """What has changed is read, and the newest of the rest."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        for number in range(40):
            one.put(f"c{number:02d}")
        async with one.live():
            pass
        marked = max(kv.key for kv in model.state().values()).decode()[3:]
        one.put("c01")
        one.delete("c02")
        one.put("new")
        one.put(marked)  # so that the mark cannot be compared
        model.compact(model.revision)
        one.reset_calls()
        async with one.live() as store:
            assert model.calls["Txn"] == 2  # the newest of what is known, and what is not
            await one.as_fresh(store)


async def test_a_snapshot_that_was_restored_between(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Is found, also when etcd is further than before, and compacted: nothing is taken."""
    for compacted in (False, True):
        async with etcd_model() as model:
            one = Kept(model, tmp_path / f"{compacted}")
            one.path.parent.mkdir()
            for name in NAMES:
                one.put(name)
            snapshot = model.save()
            async with one.live() as store:
                for name in NAMES:
                    one.put(name)
                told = model.revision
                await store.caught_up(told)
            model.restore(snapshot)
            for name in NAMES:
                one.put(name)
            assert model.revision == told
            if compacted:
                one.put("c1")
                model.compact(model.revision)
            async with one.live() as store:
                await one.as_fresh(store)
            model.restore(snapshot)
            async with one.live() as store:
                assert store.revision == snapshot.revision
                await one.as_fresh(store)


async def test_a_copy_of_nothing(autojump_clock: MockClock, tmp_path: Path) -> None:
    """It has no change that could show whether etcd's history is the same: everything is read."""
    async with etcd_model("3.5.21") as model:
        one = Kept(model, tmp_path)
        snapshot = model.save()
        model.put(b"/other/a", b"")
        model.put(b"/other/b", b"")
        async with one.live() as store:
            assert await store.count(ALL) == 0
        copy = read_copy(one.path, WHOLE)
        assert copy is not None
        assert (copy.head.mark, copy.head.revision) == (None, model.revision)
        model.restore(snapshot)
        one.put("a")
        model.put(b"/other/c", b"")
        model.put(b"/other/d", b"")
        async with one.live() as store:
            await one.as_fresh(store)


async def test_many_changes_are_not_read_one_by_one(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Where they are more than keys, keys are compared."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        one.put("b")
        async with one.live():
            pass
        model.revision += FEW + 5  # of other prefixes
        one.put("b")
        one.reset_calls()
        async with one.live() as store:
            assert store._compacted == model.revision
            await one.as_fresh(store)


async def test_a_full_etcd(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Which takes no key that would show how far it is, is read all the same."""
    async with etcd_model("3.4.23") as model:
        one = Kept(model, tmp_path)
        one.put("a")
        async with one.live():
            pass
        one.put("b")
        model.full = True
        async with one.live() as store:
            assert store.revision == model.revision
            assert (await store.range(ALL)).items[0].key == "a"
        assert model.calls["Txn"]
        model.fail("Txn", CallError(Code.RESOURCE_EXHAUSTED, NO_SPACE))


async def test_a_watch_that_tells_nothing(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Has a start read the keys after a while."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        async with one.live():
            pass
        one.put("b")
        model.held = True
        async with one.live() as store:
            assert await store.get("b") is not None
            model.release()
            await one.as_fresh(store)


# ---------------------------------------------------------------------- what a copy is good for


async def test_copies_that_are_of_no_use(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Of another version of the server, or damaged: everything is read."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        async with one.live():
            pass
        whole = one.path.read_bytes()
        async with one.live({"kubetrio": "2"}) as store:
            await one.as_fresh(store)
        one.path.write_bytes(whole[:-1])
        async with one.live() as store:
            await one.as_fresh(store)
        one.path.write_bytes(b"{}\n")
        async with one.live() as store:
            await one.as_fresh(store)
        copy = read_copy(one.path, WHOLE)
        assert copy is not None


async def test_values_that_are_left_out(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Are not in the file, and are there after a start."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        model.put(b"/t/s1", stored(value("password")))
        one.put("a")
        model.put(b"/t/s2", stored(value("password")))
        async with one.live():
            pass
        assert b"password" not in one.path.read_bytes()
        copy = read_copy(one.path, WHOLE)
        assert copy is not None
        assert copy.left_out == ["s1", "s2"]
        async with one.live() as store:
            await one.as_fresh(store)
        model.compact(one.put("a"))
        async with one.live() as store:
            await one.as_fresh(store)


class Partial(Rot13):
    """A cipher of some keys.

    Attributes:
        kinds: first letters of the keys.
    """

    def __init__(self, kinds: str) -> None:
        super().__init__()
        self.kinds = kinds

    def covers(self, key: str) -> bool:
        """See `Cipher.covers`."""
        return key[0] in self.kinds

    async def encrypt(self, value: StoredValue) -> bytes:
        """See `Cipher.encrypt`."""
        return await super().encrypt(value) if self.covers(value.key) else value.data

    async def decrypt(self, values: Sequence[StoredValue]) -> Sequence[Plain | Unreadable]:
        """See `Cipher.decrypt`."""
        return [
            self._decrypted(one)
            if self.covers(one.key) or one.data.startswith(ENCRYPTED)
            else Plain(one.data, stale=False)
            for one in values
        ]


async def test_values_that_are_encrypted_since_the_copy(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """The copy with their plain text goes, they are stale, and the next copy has them not."""
    async with etcd_model() as model:
        cipher = Partial("")
        one = Kept(model, tmp_path, cipher)
        one.put("p1")
        model.put(b"/t/c1", stored(value("password")))
        async with one.live():
            pass
        assert b"password" in one.path.read_bytes()
        cipher.kinds = "c"
        async with one.live() as store:
            assert not one.path.exists()
            await one.as_fresh(store)
            state = await store.get("c1")
            assert state is not None
            assert state.stale
        assert b"password" not in one.path.read_bytes()


async def test_a_copy_that_is_of_no_use_is_removed(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """So is one that was not finished: what they have in plain text may be encrypted since."""
    async with etcd_model() as model:
        cipher = Partial("")
        one = Kept(model, tmp_path, cipher)
        model.put(b"/t/c1", stored(value("password")))
        async with one.live():
            pass
        new = unfinished(one.path)
        new.write_bytes(one.path.read_bytes()[:-1])  # of a server that was killed
        cipher.kinds = "c"
        async with one.live({"kubetrio": "2"}) as store:
            assert one.files() == []
            await one.as_fresh(store)
        assert one.files() == [one.path]
        assert b"password" not in one.path.read_bytes()


async def test_a_disk_without_room_when_values_become_encrypted(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """The last copy has their plain text, so it goes, though no other takes its place."""
    async with etcd_model() as model:
        cipher = Partial("")
        one = Kept(model, tmp_path, cipher)
        model.put(b"/t/c1", stored(value("password")))
        async with one.live():
            pass
        async with one.live() as store:
            cipher.kinds, cipher.generation = "c", 2
            one.disk.full = True
            await trio.sleep(LOOK_S + 1)
            assert one.files() == []
            one.disk.full = False
            await trio.sleep(LOOK_S + 1)
            assert b"password" not in one.path.read_bytes()
            await one.as_fresh(store)


async def test_a_copy_that_cannot_be_removed(
    autojump_clock: MockClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a disk that is read-only: the log says so, and the server starts."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        for path in (one.path, unfinished(one.path)):
            (path / "in the way").mkdir(parents=True)
        async with one.live() as store:
            await one.as_fresh(store)
        assert caplog.text.count("cannot be removed") == 2


async def test_values_that_cannot_be_read(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Cannot after a start either, and are read when they can be."""
    async with etcd_model() as model:
        cipher = Partial("c")
        one = Kept(model, tmp_path, cipher)
        one.put("p1")
        sealed = await cipher.encrypt(StoredValue("p2", b"/t/p2", stored(value("x"))))
        assert sealed == stored(value("x"))
        model.put(b"/t/p2", b"k8s:enc:?")
        for _ in range(2):
            async with one.live() as store:
                with pytest.raises(Unreadable):
                    await store.get("p2")
        readable = model.put(b"/t/p2", sealed)
        async with one.live() as store:
            state = await store.get("p2")
            assert state is not None
            assert state.revision == readable


# ---------------------------------------------------------------------- when it is written


async def test_it_is_written_when_enough_has_changed(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """A tenth of the keys, and not when one of them changes a hundred times."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        for number in range(40):
            one.put(f"c{number:02d}")
        async with one.live() as store:
            await trio.sleep(LOOK_S + 1)
            first = one.path.read_bytes()
            for _ in range(100):
                one.put("c01")
            await store.caught_up(model.revision)
            await trio.sleep(LOOK_S)
            assert one.path.read_bytes() == first
            for number in range(5):
                one.put(f"c{number:02d}")
            await store.caught_up(model.revision)
            await trio.sleep(LOOK_S)
            assert one.path.read_bytes() != first


async def test_a_disk_without_room(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Leaves the last copy where it is, at whichever call it fails; the server goes on."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        async with one.live():
            pass
        for calls in range(2, 7):
            before = one.path.read_bytes()
            one.disk.calls = calls
            async with one.live() as store:
                one.put("b")
                await store.caught_up(model.revision)
            one.disk.calls = None
            assert one.path.read_bytes() == before or calls == 6
            assert one.files() == [one.path]
            async with one.live() as store:
                await one.as_fresh(store)


# ---------------------------------------------------------------------- whatever happens


@pytest.mark.parametrize("version", ["3.4.23", "3.5.21"])
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens_a_start_has_what_etcd_has(
    autojump_clock: MockClock, tmp_path: Path, seed: int, version: str
) -> None:
    """Writes, deletions, compactions, restored snapshots, kills at any step, and restarts."""
    rng = seeded(seed).rng
    async with etcd_model(version) as model:
        one = Kept(model, tmp_path)
        snapshots: list[Snapshot] = [model.save()]

        def happen() -> None:
            for _ in range(rng.randrange(8)):
                name = rng.choice(NAMES)
                if rng.random() < 0.25:
                    one.delete(name)
                else:
                    one.put(name)
            if rng.random() < 0.3:
                model.compact(rng.randint(max(1, model.compacted), model.revision))
            if rng.random() < 0.2:
                snapshots.append(model.save())

        told = 0  # what a watcher of the last life has seen
        for _ in range(5):
            happen()
            if rng.random() < 0.15:
                model.restore(rng.choice(snapshots))
                told = 0
                happen()
            one.disk.calls = None
            async with one.live() as store:
                await one.as_fresh(store)
                if told >= max(model.compacted, 1):
                    events, _ = await store.events(after=told, max_bytes=PLENTY)
                    assert [(e.revision, e.key) for e in events] == changes(model, told)
                for _ in range(rng.randrange(3)):
                    happen()
                    if rng.random() < 0.5:
                        await trio.sleep(LOOK_S)
                await store.caught_up(await store.newest())
                await one.as_fresh(store)
                told = store.revision
                if rng.random() < 0.5:
                    one.disk.calls = rng.randrange(6)  # killed at one of the steps of the last copy


async def test_a_copy_is_read_as_it_was_written(autojump_clock: MockClock, tmp_path: Path) -> None:
    """By the function that a start uses, with the identity that the cluster adds."""
    async with etcd_model() as model:
        one = Kept(model, tmp_path)
        one.put("a")
        async with one.live() as store:
            states = (await store.range(ALL)).items
        copy = read_copy(one.path, WHOLE)
        assert copy is not None
        assert isinstance(copy.states[0], KeyValue)
        assert copy.states == states
        with pytest.raises(UnusableCopy, match="cluster"):
            read_copy(one.path, {**IDENTITY, "cluster": "2"})
