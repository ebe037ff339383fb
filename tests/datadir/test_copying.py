"""A copy of a directory's database leaves the directory as it is."""

from __future__ import annotations

from pathlib import Path

from kubetrio.datadir.copying import copy_database, has_database
from kubetrio.env import seeded
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite.inspection import Snapshot
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig


async def test_a_copy_has_what_is_there(tmp_path: Path) -> None:
    """At the same revision; nothing in the directory changes."""
    source, target = tmp_path / "data", tmp_path / "copy"
    source.mkdir()
    target.mkdir()
    assert not has_database(source)
    async with open_store(source, StoreConfig(), seeded(1)) as store:
        made = await store.create("a", Stamped(b"{", b"}"))
    assert has_database(source)
    files = {one.name: one.read_bytes() for one in source.iterdir()}
    assert copy_database(source, target, lambda _done, _of: None) == made.revision
    after = {one.name: one.read_bytes() for one in source.iterdir()}
    assert {name for name in files if name.endswith(".db")} == {
        name for name in after if name.endswith(".db") and after[name] == files[name]
    }
    copy = Snapshot(target / "kubetrio.db")
    found = await copy.get("a")
    assert found is not None
    assert found.value == b"{1}"
    copy.close()
