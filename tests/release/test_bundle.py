"""What a single file holds is read without running it."""

import sys
from pathlib import Path

import pytest
from release_samples import bundle

from release.bundle import NoSingleFile, lay, read

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "singlefile"))
import build as singlefile  # noqa: E402  (a script beside the package)

sys.path.pop(0)


def test_what_was_packed_is_read(tmp_path: Path) -> None:
    """Content, modes and links, in the order of the index."""
    folder = tmp_path / "folder"
    lay(bundle(), folder, 1000)
    assert (folder / "kubetrio").stat().st_mode & 0o777 == 0o755
    assert (folder / "_internal/a.so").stat().st_mode & 0o777 == 0o644
    assert (folder / "kubetrio").stat().st_mtime == 1000
    singlefile.write(tmp_path / "one", b"launcher", folder)
    found = read(tmp_path / "one")
    packed = {member.path: (member.content, member.link) for member in found.members}
    assert packed == {member.path: (member.content, member.link) for member in bundle().members}
    assert found.inventory()[0]["name"] == "kubetrio"


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" * 1000)
    with pytest.raises(NoSingleFile, match="no single file"):
        read(other)
