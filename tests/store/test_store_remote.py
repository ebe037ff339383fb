"""The note of where objects are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.store.etcd.copyfile import unfinished
from kubetrio.store.remote import FILE_NAME, TABLE_NAME, Remote, forget, leave, left


@pytest.mark.parametrize(
    ("remote", "flags"),
    [
        (Remote(["http://a:1"], "/registry"), "--etcd-servers http://a:1"),
        (Remote(["http://a:1", "http://b:2"], "/x"), ("--etcd-servers http://a:1,http://b:2 "
         "--etcd-prefix /x")),
    ],
)  # fmt: skip
def test_what_is_left_is_found(tmp_path: Path, remote: Remote, flags: str) -> None:
    """And names the flags; leaving it again writes nothing."""
    assert left(tmp_path) is None
    leave(tmp_path, remote)
    for name in (TABLE_NAME, unfinished(tmp_path / TABLE_NAME).name):
        (tmp_path / name).touch()
    written = (tmp_path / FILE_NAME).stat().st_mtime_ns
    leave(tmp_path, remote)
    assert left(tmp_path) == remote
    assert (tmp_path / FILE_NAME).stat().st_mtime_ns == written
    assert remote.flags == flags
    forget(tmp_path)
    forget(tmp_path)
    assert left(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"servers": 1, "prefix": ""}'])
def test_a_note_that_is_damaged(tmp_path: Path, text: str) -> None:
    """It says nothing."""
    (tmp_path / FILE_NAME).write_text(text)
    assert left(tmp_path) is None
