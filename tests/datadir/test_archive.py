"""Archives: those of others take no more room than their bytes; what is damaged is told of."""

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.datadir.archive import FORMAT, MANIFEST, ArchiveError, opened
from kubetrio.env import seeded
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig

LARGE = 1 << 32


def sparse(path: Path) -> None:
    """Write a tar file with a member of zeros that takes a few bytes."""
    said = {
        "format": FORMAT, "kubetrio": "0", "made": "", "revision": 1, "compacted": 0,
        "encrypted": [], "files": {FILE_NAME: sha256().hexdigest()},
    }  # fmt: skip
    text = json.dumps(said).encode()
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(text)
        tar.addfile(first, io.BytesIO(text))
        member = tarfile.TarInfo(FILE_NAME)
        member.pax_headers = {
            "GNU.sparse.major": "0",
            "GNU.sparse.minor": "1",
            "GNU.sparse.map": f"{LARGE},0",
            "GNU.sparse.size": str(LARGE),
        }
        tar.addfile(member)


def test_a_sparse_member_is_refused(tmp_path: Path) -> None:
    """Before gigabytes of zeros are written."""
    path = tmp_path / "b.tar"
    sparse(path)
    assert path.stat().st_size < 1 << 16
    with tarfile.open(path) as tar:
        assert any(member.issparse() for member in tar)
    with pytest.raises(ArchiveError, match="is no file"), opened(path, tmp_path, lambda *_: None):
        pass


def odd(path: Path, manifest: bytes, name: str = FILE_NAME) -> None:
    """Write a tar file with a manifest and an empty member."""
    with tarfile.open(path, "w") as tar:
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(manifest)
        tar.addfile(first, io.BytesIO(manifest))
        tar.addfile(tarfile.TarInfo(name))


def test_a_manifest_that_is_nested_deeply_is_none(tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    odd(path, b'{"a":' * 100_000)
    with pytest.raises(ArchiveError, match="is damaged"), opened(path, tmp_path, lambda *_: None):
        pass


@pytest.mark.parametrize(
    "name", ["kubetrio.db-wal", "kubetrio.stopped", "kubeconfig", "/kubetrio.db", "../kubetrio.db"]
)
def test_nothing_but_the_database_and_keys_is_taken(tmp_path: Path, name: str) -> None:
    said = {
        "format": FORMAT, "kubetrio": "0", "made": "", "revision": 1, "compacted": 0,
        "encrypted": [], "files": {name: sha256().hexdigest()},
    }  # fmt: skip
    path = tmp_path / "b.tar"
    odd(path, json.dumps(said).encode(), name)
    with pytest.raises(ArchiveError, match="not expected"), opened(path, tmp_path, lambda *_: None):
        pass


@pytest.mark.parametrize("damaged", [False, True])
async def test_what_is_damaged_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, damaged: bool
) -> None:
    """A backup keeps it, for the rest of it is whole; who makes or restores one is told."""
    data, file, again = tmp_path / "data", tmp_path / "backup.tar", tmp_path / "again"
    config = StoreConfig(compact_interval_s=0, reserve_bytes=0)
    async with open_store(data, config, seeded(1)) as store:
        for name in "ab":
            await store.create(f"/maps/{name}", Stamped(b"{" + name.encode() * 40, b"}"), ttl_s=0.0)
    database = data / FILE_NAME
    if damaged:
        database.write_bytes(database.read_bytes().replace(b"{bbbb", b"{bcbb"))
    assert main(["backup", str(file), "--data-dir", str(data)]) == 0
    assert main(["restore", str(file), "--data-dir", str(again)]) == 0
    told = capsys.readouterr().err
    assert told.count("values: 1, first /maps/b at revision 2") == 2 * damaged
    assert told.count(f"kubetrio verify --backup {file}") == 2 * damaged
