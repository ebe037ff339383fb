"""Values of requests and answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.store.etcd.messages import message_class
from kubetrio.store.etcd.requests import (
    Compare,
    Delete,
    Deleted,
    Done,
    Get,
    KeyValue,
    Operation,
    Put,
    Ranged,
    Result,
    Target,
    at_revision,
    decode,
    outcome,
    prefix_end,
    range_request,
    txn_request,
)


@given(st.binary(min_size=1, max_size=4), st.binary(max_size=4), st.binary(max_size=6))
def test_the_end_of_a_prefix(prefix: bytes, more: bytes, other: bytes) -> None:
    """Keys with the prefix are before it, and all others are not between."""
    end = prefix_end(prefix)
    assert end == b"\0" or prefix + more < end
    if end != b"\0" and not other.startswith(prefix):
        assert not prefix <= other < end


def test_ends_of_prefixes() -> None:
    """The last byte that can grow does; none can: to the last key."""
    assert prefix_end(b"/registry/") == b"/registry0"
    assert prefix_end(b"a\xff\xff") == b"b"
    assert prefix_end(b"\xff") == b"\0"


def test_reads() -> None:
    """Only what is asked for is said."""
    assert range_request(Get(key=b"a")).SerializeToString() == b"\x0a\x01a"
    full = Get(
        key=b"a",
        end=b"b",
        limit=3,
        revision=4,
        serializable=True,
        keys_only=True,
        count_only=True,
    )
    assert range_request(full).SerializeToString() == (
        b"\x0a\x01a\x12\x01b\x18\x03\x20\x04\x38\x01\x40\x01\x48\x01"
    )


@pytest.mark.parametrize(
    ("compare", "data"),
    [
        (at_revision(b"a", 0), b"\x10\x02\x1a\x01a\x30\x00"),
        (Compare(b"a", Target.VERSION, 7), b"\x1a\x01a\x20\x07"),
        (Compare(b"a", Target.CREATE, 7, Result.GREATER), b"\x08\x01\x10\x01\x1a\x01a\x28\x07"),
        (Compare(b"a", Target.VALUE, b"v"), b"\x10\x03\x1a\x01a\x3a\x01v"),
        (Compare(b"a", Target.LEASE, 1, Result.NOT_EQUAL), b"\x08\x03\x10\x04\x1a\x01a\x40\x01"),
        (Compare(b"a", Target.VERSION, 0, Result.LESS), b"\x08\x02\x1a\x01a\x20\x00"),
    ],
)
def test_conditions(compare: Compare, data: bytes) -> None:
    """By hand: result, target, key, and the value, also if that is zero."""
    assert txn_request([compare], [], []) == b"\x0a" + bytes((len(data),)) + data


def test_operations() -> None:
    """In their branches, in order."""
    success: list[Operation] = [Put(b"a", b"v", 5), Delete(b"b", b"c", previous=True)]
    made = decode("TxnRequest", txn_request([], success, [Get(key=b"a"), Put(b"d", b"")]))
    put, delete = made.success
    assert (put.request_put.key, put.request_put.value, put.request_put.lease) == (b"a", b"v", 5)
    deleted = delete.request_delete_range
    assert (deleted.key, deleted.range_end, deleted.prev_kv) == (b"b", b"c", True)
    get, empty = made.failure
    assert get.request_range.key == b"a"
    assert empty.HasField("request_put")


def test_outcomes() -> None:
    """One answer for each operation."""
    made = message_class("etcdserverpb.TxnResponse")(succeeded=True)
    made.header.revision = 9
    made.responses.add().response_put.SetInParent()
    ranged = made.responses.add().response_range
    ranged.count, ranged.more = 4, True
    kv = ranged.kvs.add()
    kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version = b"a", b"v", 8, 2, 3
    deleted = made.responses.add().response_delete_range
    deleted.deleted = 1
    deleted.prev_kvs.add().key = b"b"
    found = outcome(made)
    assert (found.succeeded, found.revision) == (True, 9)
    assert found.answers == [
        Done(9),
        Ranged(9, [KeyValue(b"a", b"v", 8, 2, 3)], more=True, total=4),
        Deleted(9, 1, [KeyValue(b"b", b"", 0, 0, 0)]),
    ]
