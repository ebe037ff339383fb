"""Fields of etcd's messages and its methods, made by ``python -m facts etcd``.

Source: etcd's api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

# Number, name and type of a field, and whether it is repeated.
MESSAGES: Final[Mapping[str, Sequence[tuple[int, str, str, bool]]]] = {
    "etcdserverpb.AlarmMember": (
        (1, "memberID", "uint64", False),
        (2, "alarm", "int32", False),
    ),
    "etcdserverpb.AlarmRequest": (
        (1, "action", "int32", False),
        (2, "memberID", "uint64", False),
        (3, "alarm", "int32", False),
    ),
    "etcdserverpb.AlarmResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "alarms", "etcdserverpb.AlarmMember", True),
    ),
    "etcdserverpb.CompactionRequest": (
        (1, "revision", "int64", False),
        (2, "physical", "bool", False),
    ),
    "etcdserverpb.CompactionResponse": ((1, "header", "etcdserverpb.ResponseHeader", False),),
    "etcdserverpb.Compare": (
        (1, "result", "int32", False),
        (2, "target", "int32", False),
        (3, "key", "bytes", False),
        (4, "version", "int64", False),
        (5, "create_revision", "int64", False),
        (6, "mod_revision", "int64", False),
        (7, "value", "bytes", False),
        (8, "lease", "int64", False),
        (64, "range_end", "bytes", False),
    ),
    "etcdserverpb.DeleteRangeRequest": (
        (1, "key", "bytes", False),
        (2, "range_end", "bytes", False),
        (3, "prev_kv", "bool", False),
    ),
    "etcdserverpb.DeleteRangeResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "deleted", "int64", False),
        (3, "prev_kvs", "mvccpb.KeyValue", True),
    ),
    "etcdserverpb.DowngradeInfo": (
        (1, "enabled", "bool", False),
        (2, "targetVersion", "string", False),
    ),
    "etcdserverpb.LeaseGrantRequest": (
        (1, "TTL", "int64", False),
        (2, "ID", "int64", False),
    ),
    "etcdserverpb.LeaseGrantResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "ID", "int64", False),
        (3, "TTL", "int64", False),
        (4, "error", "string", False),
    ),
    "etcdserverpb.LeaseKeepAliveRequest": ((1, "ID", "int64", False),),
    "etcdserverpb.LeaseKeepAliveResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "ID", "int64", False),
        (3, "TTL", "int64", False),
    ),
    "etcdserverpb.LeaseRevokeRequest": ((1, "ID", "int64", False),),
    "etcdserverpb.LeaseRevokeResponse": ((1, "header", "etcdserverpb.ResponseHeader", False),),
    "etcdserverpb.LeaseTimeToLiveRequest": (
        (1, "ID", "int64", False),
        (2, "keys", "bool", False),
    ),
    "etcdserverpb.LeaseTimeToLiveResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "ID", "int64", False),
        (3, "TTL", "int64", False),
        (4, "grantedTTL", "int64", False),
        (5, "keys", "bytes", True),
    ),
    "etcdserverpb.PutRequest": (
        (1, "key", "bytes", False),
        (2, "value", "bytes", False),
        (3, "lease", "int64", False),
        (4, "prev_kv", "bool", False),
        (5, "ignore_value", "bool", False),
        (6, "ignore_lease", "bool", False),
    ),
    "etcdserverpb.PutResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "prev_kv", "mvccpb.KeyValue", False),
    ),
    "etcdserverpb.RangeRequest": (
        (1, "key", "bytes", False),
        (2, "range_end", "bytes", False),
        (3, "limit", "int64", False),
        (4, "revision", "int64", False),
        (5, "sort_order", "int32", False),
        (6, "sort_target", "int32", False),
        (7, "serializable", "bool", False),
        (8, "keys_only", "bool", False),
        (9, "count_only", "bool", False),
        (10, "min_mod_revision", "int64", False),
        (11, "max_mod_revision", "int64", False),
        (12, "min_create_revision", "int64", False),
        (13, "max_create_revision", "int64", False),
    ),
    "etcdserverpb.RangeResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "kvs", "mvccpb.KeyValue", True),
        (3, "more", "bool", False),
        (4, "count", "int64", False),
    ),
    "etcdserverpb.RequestOp": (
        (1, "request_range", "etcdserverpb.RangeRequest", False),
        (2, "request_put", "etcdserverpb.PutRequest", False),
        (3, "request_delete_range", "etcdserverpb.DeleteRangeRequest", False),
        (4, "request_txn", "etcdserverpb.TxnRequest", False),
    ),
    "etcdserverpb.ResponseHeader": (
        (1, "cluster_id", "uint64", False),
        (2, "member_id", "uint64", False),
        (3, "revision", "int64", False),
        (4, "raft_term", "uint64", False),
    ),
    "etcdserverpb.ResponseOp": (
        (1, "response_range", "etcdserverpb.RangeResponse", False),
        (2, "response_put", "etcdserverpb.PutResponse", False),
        (3, "response_delete_range", "etcdserverpb.DeleteRangeResponse", False),
        (4, "response_txn", "etcdserverpb.TxnResponse", False),
    ),
    "etcdserverpb.StatusRequest": (),
    "etcdserverpb.StatusResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "version", "string", False),
        (3, "dbSize", "int64", False),
        (4, "leader", "uint64", False),
        (5, "raftIndex", "uint64", False),
        (6, "raftTerm", "uint64", False),
        (7, "raftAppliedIndex", "uint64", False),
        (8, "errors", "string", True),
        (9, "dbSizeInUse", "int64", False),
        (10, "isLearner", "bool", False),
        (11, "storageVersion", "string", False),
        (12, "dbSizeQuota", "int64", False),
        (13, "downgradeInfo", "etcdserverpb.DowngradeInfo", False),
    ),
    "etcdserverpb.TxnRequest": (
        (1, "compare", "etcdserverpb.Compare", True),
        (2, "success", "etcdserverpb.RequestOp", True),
        (3, "failure", "etcdserverpb.RequestOp", True),
    ),
    "etcdserverpb.TxnResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "succeeded", "bool", False),
        (3, "responses", "etcdserverpb.ResponseOp", True),
    ),
    "etcdserverpb.WatchCancelRequest": ((1, "watch_id", "int64", False),),
    "etcdserverpb.WatchCreateRequest": (
        (1, "key", "bytes", False),
        (2, "range_end", "bytes", False),
        (3, "start_revision", "int64", False),
        (4, "progress_notify", "bool", False),
        (5, "filters", "int32", True),
        (6, "prev_kv", "bool", False),
        (7, "watch_id", "int64", False),
        (8, "fragment", "bool", False),
    ),
    "etcdserverpb.WatchProgressRequest": (),
    "etcdserverpb.WatchRequest": (
        (1, "create_request", "etcdserverpb.WatchCreateRequest", False),
        (2, "cancel_request", "etcdserverpb.WatchCancelRequest", False),
        (3, "progress_request", "etcdserverpb.WatchProgressRequest", False),
    ),
    "etcdserverpb.WatchResponse": (
        (1, "header", "etcdserverpb.ResponseHeader", False),
        (2, "watch_id", "int64", False),
        (3, "created", "bool", False),
        (4, "canceled", "bool", False),
        (5, "compact_revision", "int64", False),
        (6, "cancel_reason", "string", False),
        (7, "fragment", "bool", False),
        (11, "events", "mvccpb.Event", True),
    ),
    "mvccpb.Event": (
        (1, "type", "int32", False),
        (2, "kv", "mvccpb.KeyValue", False),
        (3, "prev_kv", "mvccpb.KeyValue", False),
    ),
    "mvccpb.KeyValue": (
        (1, "key", "bytes", False),
        (2, "create_revision", "int64", False),
        (3, "mod_revision", "int64", False),
        (4, "version", "int64", False),
        (5, "value", "bytes", False),
        (6, "lease", "int64", False),
    ),
}

# Path, request and response.
METHODS: Final[Mapping[str, tuple[str, str, str]]] = {
    "Range": (
        "/etcdserverpb.KV/Range",
        "etcdserverpb.RangeRequest",
        "etcdserverpb.RangeResponse",
    ),
    "Txn": (
        "/etcdserverpb.KV/Txn",
        "etcdserverpb.TxnRequest",
        "etcdserverpb.TxnResponse",
    ),
    "Compact": (
        "/etcdserverpb.KV/Compact",
        "etcdserverpb.CompactionRequest",
        "etcdserverpb.CompactionResponse",
    ),
    "Watch": (
        "/etcdserverpb.Watch/Watch",
        "etcdserverpb.WatchRequest",
        "etcdserverpb.WatchResponse",
    ),
    "LeaseGrant": (
        "/etcdserverpb.Lease/LeaseGrant",
        "etcdserverpb.LeaseGrantRequest",
        "etcdserverpb.LeaseGrantResponse",
    ),
    "LeaseRevoke": (
        "/etcdserverpb.Lease/LeaseRevoke",
        "etcdserverpb.LeaseRevokeRequest",
        "etcdserverpb.LeaseRevokeResponse",
    ),
    "LeaseKeepAlive": (
        "/etcdserverpb.Lease/LeaseKeepAlive",
        "etcdserverpb.LeaseKeepAliveRequest",
        "etcdserverpb.LeaseKeepAliveResponse",
    ),
    "LeaseTimeToLive": (
        "/etcdserverpb.Lease/LeaseTimeToLive",
        "etcdserverpb.LeaseTimeToLiveRequest",
        "etcdserverpb.LeaseTimeToLiveResponse",
    ),
    "Alarm": (
        "/etcdserverpb.Maintenance/Alarm",
        "etcdserverpb.AlarmRequest",
        "etcdserverpb.AlarmResponse",
    ),
    "Status": (
        "/etcdserverpb.Maintenance/Status",
        "etcdserverpb.StatusRequest",
        "etcdserverpb.StatusResponse",
    ),
}

ENUMS: Final[Mapping[str, Mapping[str, int]]] = {
    "etcdserverpb.AlarmRequest.AlarmAction": {"GET": 0, "ACTIVATE": 1, "DEACTIVATE": 2},
    "etcdserverpb.AlarmType": {"NONE": 0, "NOSPACE": 1, "CORRUPT": 2},
    "etcdserverpb.Compare.CompareResult": {"EQUAL": 0, "GREATER": 1, "LESS": 2, "NOT_EQUAL": 3},
    "etcdserverpb.Compare.CompareTarget": {
        "VERSION": 0,
        "CREATE": 1,
        "MOD": 2,
        "VALUE": 3,
        "LEASE": 4,
    },
    "etcdserverpb.RangeRequest.SortOrder": {"NONE": 0, "ASCEND": 1, "DESCEND": 2},
    "etcdserverpb.RangeRequest.SortTarget": {
        "KEY": 0,
        "VERSION": 1,
        "CREATE": 2,
        "MOD": 3,
        "VALUE": 4,
    },
    "etcdserverpb.WatchCreateRequest.FilterType": {"NOPUT": 0, "NODELETE": 1},
    "mvccpb.Event.EventType": {"PUT": 0, "DELETE": 1},
}
