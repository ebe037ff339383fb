"""Files that are whole at any time."""

import stat
from pathlib import Path

import pytest

from kubetrio.files import write_atomic


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
