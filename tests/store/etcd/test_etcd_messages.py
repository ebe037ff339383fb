"""Classes of etcd's messages."""

from kubetrio.store.etcd.fields import MESSAGES
from kubetrio.store.etcd.messages import message_class


def test_every_message_has_a_class() -> None:
    """And each of its fields can be set and read."""
    for name, rows in MESSAGES.items():
        fields = message_class(name).DESCRIPTOR.fields_by_name
        assert {(field, one.number) for field, one in fields.items()} == {
            (field, number) for number, field, _, _ in rows
        }


def test_bytes_are_those_of_the_protocol() -> None:
    """A range by hand: key is field 1, range_end 2, revision 4, limit 3."""
    made = message_class("etcdserverpb.RangeRequest")(key=b"a", range_end=b"b", limit=5)
    assert made.SerializeToString() == b"\x0a\x01a\x12\x01b\x18\x05"


def test_a_zero_in_a_comparison_is_written() -> None:
    """It is what says that a key must not be there."""
    made = message_class("etcdserverpb.Compare")(key=b"a", create_revision=0)
    assert made.SerializeToString() == b"\x1a\x01a\x28\x00"
