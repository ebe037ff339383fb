"""Facts of etcd's messages."""

from pathlib import Path

import pytest

from facts import etcd
from facts.etcd import Method, Protocol

KV = """\
syntax = "proto3";
package mvccpb;
option (gogoproto.all) = true;
message KeyValue {
  bytes key = 1; // {
  int64 mod_revision = 3 [(versionpb.field)="3.1"];
}
"""
RPC = """\
syntax = "proto3";
package etcdserverpb;
import "api/mvccpb/kv.proto";
option (openapi) = { a: { b: "}" } };
service KV {
  // Range.
  rpc Range(RangeRequest) returns (RangeResponse) { option (http) = { post: "/v3" body: "*" }; }
  rpc Txn(TxnRequest) returns (TxnResponse) {}
  rpc Compact(TxnRequest) returns (TxnResponse) {}
}
service Watch { rpc Watch(stream TxnRequest) returns (stream TxnResponse) {} }
service Lease {
  rpc LeaseGrant(TxnRequest) returns (TxnResponse) {}
  rpc LeaseRevoke(TxnRequest) returns (TxnResponse) {}
  rpc LeaseKeepAlive(TxnRequest) returns (TxnResponse) {}
  rpc LeaseTimeToLive(TxnRequest) returns (TxnResponse) {}
}
service Maintenance {
  rpc Alarm(TxnRequest) returns (TxnResponse) {}
  rpc Status(TxnRequest) returns (TxnResponse);
}
enum Alarm { option (gogo) = "3"; NONE = 0; NOSPACE = 1 [(a) = "b"]; }
enum Unused { NOT = 0; }
message RangeRequest {
  option (versionpb.message) = "3.0";
  enum Order { UP = 0; DOWN = 1; }
  bytes key = 1;
  Order order = 2;
  reserved 7;
}
message RangeResponse { repeated mvccpb.KeyValue kvs = 2; bool more = 3; }
message TxnRequest { oneof union { int64 version = 4; Alarm alarm = 1; } ; repeated string a = 9; }
message TxnResponse {}
message Left { string out = 1; }
"""


def both() -> Protocol:
    """What the two files say together."""
    first, second = etcd.read(KV), etcd.read(RPC)
    return Protocol(first.messages | second.messages, first.enums | second.enums, second.methods)


def test_fields_with_the_full_names_of_their_types() -> None:
    """Members of a oneof are fields; an enum is a number; what no method needs is left out."""
    assert etcd.needed(both()).messages == {
        "etcdserverpb.RangeRequest": [(1, "key", "bytes", False), (2, "order", "int32", False)],
        "etcdserverpb.RangeResponse": [
            (2, "kvs", "mvccpb.KeyValue", True),
            (3, "more", "bool", False),
        ],
        "etcdserverpb.TxnRequest": [
            (1, "alarm", "int32", False),
            (4, "version", "int64", False),
            (9, "a", "string", True),
        ],
        "etcdserverpb.TxnResponse": [],
        "mvccpb.KeyValue": [(1, "key", "bytes", False), (3, "mod_revision", "int64", False)],
    }


def test_methods_and_enums() -> None:
    """Paths as gRPC has them; streams are methods as others."""
    found = etcd.needed(both())
    assert found.methods["Watch"] == Method(
        "/etcdserverpb.Watch/Watch", "etcdserverpb.TxnRequest", "etcdserverpb.TxnResponse"
    )
    assert found.enums == {
        "etcdserverpb.Alarm": {"NONE": 0, "NOSPACE": 1},
        "etcdserverpb.RangeRequest.Order": {"UP": 0, "DOWN": 1},
        "etcdserverpb.Unused": {"NOT": 0},
    }


def test_the_module_says_it(tmp_path: Path) -> None:
    """It is Python, and the facts are in it."""
    for name, text in zip(etcd.FILES, (KV, RPC), strict=True):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(etcd.make(tmp_path, tmp_path / "fields.py")) == ["fields.py"]
    names: dict[str, object] = {}
    exec((tmp_path / "fields.py").read_text(), names)
    found = etcd.needed(both())
    assert names["ENUMS"] == found.enums
    assert names["METHODS"] == found.methods
    assert names["MESSAGES"] == {name: tuple(rows) for name, rows in found.messages.items()}


def test_what_is_missing_is_said() -> None:
    """A method, a type, a package."""
    with pytest.raises(ValueError, match=r"no methods KV\.Range, KV\.Txn"):
        etcd.needed(etcd.read(KV))
    known = both()
    del known.messages["mvccpb.KeyValue"]
    with pytest.raises(ValueError, match=r"unknown type mvccpb\.KeyValue"):
        etcd.needed(known)
    with pytest.raises(ValueError, match="without a package"):
        etcd.read("message A {}")
