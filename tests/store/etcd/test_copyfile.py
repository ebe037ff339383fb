"""The file of a table: what comes back from it, and what is found to be wrong with it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.store.etcd.copyfile import Copy, CopyWriter, Head, UnusableCopy, read_copy
from kubetrio.store.etcd.marks import Mark
from kubetrio.store.etcd.requests import KeyValue as EtcdKeyValue
from kubetrio.store.model import KeyValue, Stale

IDENTITY = {"kubetrio": "1", "cluster": "ab"}
MARK = Mark.of_state(EtcdKeyValue(b"/t/b", b"secret", 7, 3), 9)
STATES = [KeyValue("a", b"1", 5, 5), Stale("b", b"", 7, 3)]
LEFT_OUT = ["c", "dé"]


def write(path: Path, states: list[KeyValue], left_out: list[str], mark: Mark | None) -> None:
    """Write a copy."""
    writer = CopyWriter(path, Head(IDENTITY, 9, len(states) + len(left_out), mark))
    writer.add(states)
    writer.leave_out(left_out)
    writer.finish()


def usual(folder: Path) -> Path:
    """Return the path of a copy."""
    path = folder / "table"
    write(path, STATES, LEFT_OUT, MARK)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Values that are stale stay stale; the file is its owner's, and has no value of the mark."""
    path = usual(tmp_path)
    copy = read_copy(path, IDENTITY)
    assert copy == Copy(Head(IDENTITY, 9, 4, MARK), STATES, LEFT_OUT)
    assert [state.stale for state in copy.states] == [False, True]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"secret" not in path.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_file(tmp_path: Path) -> None:
    """Which is no error."""
    assert read_copy(tmp_path / "table", IDENTITY) is None


def test_without_a_mark(tmp_path: Path) -> None:
    """As of an etcd that was empty."""
    write(tmp_path / "table", [], [], None)
    assert read_copy(tmp_path / "table", IDENTITY) == Copy(Head(IDENTITY, 9, 0, None), [], [])


def test_each_byte_counts(tmp_path: Path) -> None:
    """Whichever is another one, or is the last that is there."""
    path = usual(tmp_path)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :])
        with pytest.raises(UnusableCopy):
            read_copy(path, IDENTITY)
        path.write_bytes(data[:place])
        with pytest.raises(UnusableCopy):
            read_copy(path, IDENTITY)
    path.write_bytes(data + b"\0")
    with pytest.raises(UnusableCopy, match="checksum"):
        read_copy(path, IDENTITY)


@pytest.mark.parametrize("damaged", [b"Infinity", b"1e999", b"[" * 60_000])
def test_numbers_and_depths_that_are_no_head(damaged: bytes) -> None:
    """They are refused as other damage is."""
    line = Head(IDENTITY, 9, 4, None).to_line()
    with pytest.raises(UnusableCopy, match="damaged"):
        Head.from_line(line.replace(b'"keys": 4', b'"keys": ' + damaged), IDENTITY)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_copy(data: bytes) -> None:
    """Are refused, whatever they are."""
    with pytest.raises(UnusableCopy):
        Head.from_line(data, IDENTITY)


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        ({"kubetrio": "2", "cluster": "ab"}, "its kubetrio is '1', not '2'"),
        ({"kubetrio": "1", "cluster": "ac"}, "its cluster is 'ab', not 'ac'"),
        ({"kubetrio": "1", "cluster": "ab", "other": "x"}, "other"),
    ],
)
def test_a_copy_of_something_else(tmp_path: Path, identity: dict[str, str], text: str) -> None:
    """The error says what differs."""
    with pytest.raises(UnusableCopy, match=text):
        read_copy(usual(tmp_path), identity)


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    """As that of a later version."""
    path = usual(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(UnusableCopy, match="format 2, not 1"):
        read_copy(path, IDENTITY)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """Is unusable, too: a directory in its place."""
    with pytest.raises(UnusableCopy, match="cannot be read"):
        read_copy(tmp_path, IDENTITY)


def test_a_copy_that_is_not_finished(tmp_path: Path) -> None:
    """The last one stays, and what a killed server has left is written over."""
    path = usual(tmp_path)
    before = path.read_bytes()
    killed = CopyWriter(path, Head(IDENTITY, 10, 1, None))
    killed.add(STATES)
    assert path.read_bytes() == before
    writer = CopyWriter(path, Head(IDENTITY, 11, 0, None))
    writer.give_up()
    killed.give_up()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
