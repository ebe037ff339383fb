"""An archive that somebody else made takes no more room than it has bytes, nor other places."""

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from kubetrio.datadir.archive import FORMAT, MANIFEST, ArchiveError, opened
from kubetrio.store.sqlite.database import FILE_NAME

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
