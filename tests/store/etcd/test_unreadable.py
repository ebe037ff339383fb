"""Keys whose values cannot be read: which reads they refuse."""

from __future__ import annotations

import pytest

from kubetrio.store.errors import Undecodable, Unreadable
from kubetrio.store.etcd.requests import KeyValue
from kubetrio.store.etcd.unreadable import UnreadableKeys, UnreadableState
from kubetrio.store.model import Range

ALL = Range("/a/", "/a0")


def keys(*names: str) -> UnreadableKeys:
    """Keys whose values are of revision 7."""
    made = UnreadableKeys()
    for name in names:
        kv = KeyValue(b"/etcd" + name.encode(), b"?", 7, 7)
        made.note(UnreadableState(name, Unreadable("no key"), kv))
    return made


def test_reads_from_their_revision_on_are_refused() -> None:
    """Older revisions have what was readable; other keys are not concerned."""
    one = keys("/a/1")
    for at in (None, 7, 8):
        with pytest.raises(Unreadable, match=r"^no key$"):
            one.check("/a/1", at)
        with pytest.raises(Unreadable, match=r'^unable to transform key "/etcd/a/1": no key$'):
            one.check_range(ALL, at)
    one.check("/a/1", 6)
    one.check("/a/2", None)
    one.check_range(ALL, 6)
    one.check_range(Range("/b/", "/b0"), None)


def test_the_first_of_a_range_is_named() -> None:
    """In the order of keys, not that of their coming."""
    with pytest.raises(Unreadable, match="/etcd/a/1"):
        keys("/a/2", "/a/1").check_range(ALL, None)


def test_what_is_readable_again_is_forgotten() -> None:
    """One key, or all of them."""
    two = keys("/a/1", "/a/2")
    assert [kv.key for kv in two.sealed] == [b"/etcd/a/1", b"/etcd/a/2"]
    two.forget("/a/1")
    two.forget("/a/3")
    two.check("/a/1", None)
    assert len(two) == 1
    two.clear()
    two.check_range(ALL, None)
    assert len(two) == 0


def test_what_no_key_opens_is_final() -> None:
    """A list says why, as a read of the key does, and no other key is tried."""
    one = keys("/a/1")
    one.note(UnreadableState("/a/2", Undecodable("no kind"), KeyValue(b"/etcd/a/2", b"?", 7, 7)))
    one.forget("/a/1")
    assert one.sealed == []
    for at in (None, 7):
        with pytest.raises(Undecodable, match=r"^no kind$"):
            one.check_range(ALL, at)
    assert list(one) == ["/a/2"]
