"""Archives depend on nothing but what is in them."""

import io
import tarfile

from release.archives import Entry, gzipped, tar, with_parents


def test_entries_are_sorted_behind_their_directories() -> None:
    entries = with_parents([Entry(path="b/c/d", content=b""), Entry(path="a", content=b"")])
    assert [entry.path for entry in entries] == ["a", "b", "b/c", "b/c/d"]


def test_an_archive_says_owner_mode_and_time() -> None:
    file = Entry(path="f", content=b"text", mode=0o640, owner=7)
    data = tar([file, Entry(path="l", link="f")], 1000)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        one, other = archive.getmembers()
        assert (one.uid, one.gid, one.mode, one.mtime, one.size) == (7, 7, 0o640, 1000, 4)
        assert (other.issym(), other.linkname) == (True, "f")
    assert gzipped(data)[4:8] == bytes(4)  # RFC 1952: the time
