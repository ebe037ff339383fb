"""Values that come back as they were written are not converted."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import stamp
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.storagevalues.written import KEPT, LARGEST, WrittenValues
from kubetrio.store.model import Stamped
from kubetrio.testing.etcdstore import PlainValues


class Counting(PlainValues):
    """Counts conversions from etcd."""

    def __init__(self) -> None:
        self.count = 0

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """See `mapping.Values`."""
        self.count += 1
        return super().from_etcd(key, data)


@pytest.fixture
def plain() -> Counting:
    return Counting()


def test_a_value_comes_back_once(plain: Counting) -> None:
    """And is the one that was written; after that it is converted."""
    values, value = WrittenValues(plain), Stamped(b"a", b"b")
    data = values.to_etcd("k", value)
    assert values.from_etcd("k", data) is value
    assert (plain.count, values.kept) == (0, 0)
    assert values.from_etcd("k", data) == value
    assert plain.count == 1


def test_what_another_server_wrote_is_converted(plain: Counting) -> None:
    """Though this one has written the key, and its value is still to come."""
    values = WrittenValues(plain)
    ours, theirs = Stamped(b"a", b"b"), Stamped(b"a", b"c")
    data = values.to_etcd("k", ours)
    assert values.from_etcd("k", plain.to_etcd("k", theirs)) == theirs
    assert plain.count == 1
    assert values.from_etcd("k", data) is ours


def test_what_never_comes_back_does_not_stay(plain: Counting) -> None:
    """Of writes that failed; nor do large values."""
    values = WrittenValues(plain)
    for number in range(KEPT + 10):
        values.to_etcd(f"k{number}", Stamped(b"", b""))
    assert values.kept == KEPT
    values.to_etcd(f"k{KEPT}", Stamped(b"x" * LARGEST, b""))
    assert values.kept == KEPT - 1


def test_the_value_is_what_conversion_would_make() -> None:
    """So that replicas have the same bytes."""
    kinds = registry()
    values = EtcdValues(folders(kinds.resources.values()), lambda: kinds, MediaType.PROTOBUF)
    obj = {
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "c", "namespace": "default", "labels": {"a": "b"}},
        "data": {"x": "é\u2028<>"},
    }  # fmt: skip
    key, value = "/registry/configmaps/default/c", stamp(obj)
    written = WrittenValues(values)
    back = written.from_etcd(key, written.to_etcd(key, value))
    assert back is value
    assert values.from_etcd(key, values.to_etcd(key, value)).at(7) == back.at(7)
    assert orjson.loads(back.at(7))["data"] == obj["data"]
