"""Files that are whole at any time."""

import stat
from pathlib import Path

import pytest

from kubetrio.runtime.files import exposed, write_atomic


def test_write_atomic_replaces_and_leaves_no_rest(tmp_path: Path) -> None:
    """The target is replaced with mode 0600, and a failure leaves no temporary file."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "d" / "x").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_atomic(tmp_path / "d", b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "f"]


@pytest.mark.parametrize(
    ("mode", "found"),
    [(0o600, False), (0o640, False), (0o644, True), (0o604, True), (0o602, True), (0o620, True)],
)
def test_exposed_files(tmp_path: Path, mode: int, found: bool) -> None:
    """A group may read, for that is how secrets are mounted; others nothing."""
    path = tmp_path / "a b"
    path.touch()
    path.chmod(mode)
    assert exposed(path) == (f"chmod 600 '{path}'" if found else None)


def test_exposed_directories(tmp_path: Path) -> None:
    """Names are secrets too."""
    tmp_path.chmod(0o700)
    assert exposed(tmp_path) is None
    tmp_path.chmod(0o711)
    assert exposed(tmp_path) == f"chmod 700 {tmp_path}"
    assert exposed(tmp_path / "missing") is None
