"""What a client asks of etcd and what it is answered, as values; and their messages.

Source: etcd's api/etcdserverpb/rpc.proto.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kubetrio.store.etcd.fields import ENUMS
from kubetrio.store.etcd.messages import message_class

_TARGETS: Final = ENUMS["etcdserverpb.Compare.CompareTarget"]
_RESULTS: Final = ENUMS["etcdserverpb.Compare.CompareResult"]


def prefix_end(prefix: bytes) -> bytes:
    """Return the end of the range of all keys that begin with a non-empty prefix."""
    for place in range(len(prefix) - 1, -1, -1):
        if prefix[place] < 0xFF:
            return prefix[:place] + bytes((prefix[place] + 1,))
    return b"\0"  # to the last key


class KeyValue(NamedTuple):
    """One key at one revision.

    Args:
        key: the key.
        value: its value; empty where keys alone were asked for.
        revision: revision that wrote the value (``mod_revision``).
        create_revision: revision that created the key.
        version: number of writes since then.
        lease: lease that it hangs on, 0 for none.
    """

    key: bytes
    value: bytes
    revision: int
    create_revision: int
    version: int = 1
    lease: int = 0


class Event(NamedTuple):
    """A change of a key.

    Args:
        kv: the key after it; of a deletion, key and revision of the deletion alone.
        deleted: whether the key was deleted.
        previous: the key before it; None for a creation, without ``prev_kv``, or where the state
            before is compacted.
    """

    kv: KeyValue
    deleted: bool
    previous: KeyValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """A read of a key or of a range.

    Args:
        key: the key, or the first of a range.
        end: end of the range, exclusive; empty for one key (`prefix_end`).
        limit: most keys, 0 for all.
        revision: revision to read at, 0 for the newest.
        serializable: whether the member may answer from what it has, which may be old.
        keys_only: whether values are left out.
        count_only: whether keys are counted only.
    """

    key: bytes
    end: bytes = b""
    limit: int = 0
    revision: int = 0
    serializable: bool = False
    keys_only: bool = False
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """A write of a key.

    Args:
        key: the key.
        value: its value.
        lease: lease that it hangs on, 0 for none.
    """

    key: bytes
    value: bytes
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Delete:
    """A deletion of a key or of a range.

    Args:
        key: the key, or the first of a range.
        end: end of the range, exclusive; empty for one key.
        previous: whether the answer has what was deleted.
    """

    key: bytes
    end: bytes = b""
    previous: bool = False


Operation = Get | Put | Delete


class Target(enum.Enum):
    """What of a key is compared."""

    VERSION = "version"
    CREATE = "create_revision"
    MOD = "mod_revision"
    VALUE = "value"
    LEASE = "lease"


class Result(enum.Enum):
    """How it has to compare."""

    EQUAL = "EQUAL"
    GREATER = "GREATER"
    LESS = "LESS"
    NOT_EQUAL = "NOT_EQUAL"


@dataclass(frozen=True, slots=True)
class Compare:
    """A condition of a transaction.

    Args:
        key: the key; one that is not there has version and revisions 0.
        target: what of it is compared.
        value: with what.
        result: how it has to compare.
    """

    key: bytes
    target: Target
    value: int | bytes
    result: Result = Result.EQUAL


def at_revision(key: bytes, revision: int) -> Compare:
    """Return the condition that a key was written last by a revision; 0: it is not there."""
    return Compare(key, Target.MOD, revision)


class Ranged(NamedTuple):
    """The answer to `Get`.

    Args:
        revision: newest revision of the store when it was read, also for older states.
        kvs: in key order.
        more: whether the limit left some out.
        total: number of keys in the range, whatever the limit.
    """

    revision: int
    kvs: Sequence[KeyValue]
    more: bool
    total: int


class Done(NamedTuple):
    """The answer to `Put`.

    Args:
        revision: of the write.
    """

    revision: int


class Deleted(NamedTuple):
    """The answer to `Delete`.

    Args:
        revision: of the deletion; the newest, if nothing was deleted.
        total: number of keys that were deleted.
        previous: what they were, if that was asked for.
    """

    revision: int
    total: int
    previous: Sequence[KeyValue]


Answer = Ranged | Done | Deleted


class Outcome(NamedTuple):
    """The answer to a transaction.

    Args:
        succeeded: whether all conditions held.
        revision: of the store after it.
        answers: of the operations that were carried out, in order.
    """

    succeeded: bool
    revision: int
    answers: Sequence[Answer]


class Lease(NamedTuple):
    """A lease.

    Args:
        id: its number.
        ttl_s: seconds that it lasts, as etcd granted them.
    """

    id: int
    ttl_s: int


class Alarm(NamedTuple):
    """An alarm that is raised.

    Args:
        member: number of the member.
        kind: ``NOSPACE`` or ``CORRUPT``.
    """

    member: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a member is.

    Args:
        version: of etcd, ``3.6.5``.
        cluster: number of the cluster.
        member: number of the member.
        leader: number of the member that leads, 0 for none.
        revision: newest revision that the member has.
        db_bytes: size of its database file.
        db_used_bytes: of it in use.
        raft_term: term of the leader.
        raft_index: newest index of the log.
        learner: whether it does not vote.
        errors: what it says is wrong with it.
    """

    version: str
    cluster: int
    member: int
    leader: int
    revision: int
    db_bytes: int
    db_used_bytes: int
    raft_term: int
    raft_index: int
    learner: bool
    errors: Sequence[str]


# ---------------------------------------------------------------------- messages


def message(name: str, **members: Any) -> Any:
    """A message; members that are empty are left out."""
    return message_class(f"etcdserverpb.{name}")(
        **{member: value for member, value in members.items() if value}
    )


def encode(name: str, **members: Any) -> bytes:
    """The bytes of a message; members that are empty are left out."""
    data: bytes = message(name, **members).SerializeToString()
    return data


def decode(name: str, data: bytes) -> Any:
    """A message from its bytes; raises what the protobuf runtime raises (`client` catches it)."""
    return message_class(f"etcdserverpb.{name}").FromString(data)


def range_request(get: Get) -> Any:
    """The message of a read."""
    return message(
        "RangeRequest",
        key=get.key,
        range_end=get.end,
        limit=get.limit,
        revision=get.revision,
        serializable=get.serializable,
        keys_only=get.keys_only,
        count_only=get.count_only,
    )


def txn_request(
    compares: Iterable[Compare], success: Iterable[Operation], failure: Iterable[Operation]
) -> bytes:
    """The bytes of a transaction."""
    made = message("TxnRequest")
    for compare in compares:
        added = made.compare.add()
        added.key = compare.key
        if compare.result is not Result.EQUAL:
            added.result = _RESULTS[compare.result.name]
        if compare.target is not Target.VERSION:
            added.target = _TARGETS[compare.target.name]
        setattr(added, compare.target.value, compare.value)
    for branch, operations in ((made.success, success), (made.failure, failure)):
        for operation in operations:
            _operation(branch.add(), operation)
    data: bytes = made.SerializeToString()
    return data


def _operation(added: Any, operation: Operation) -> None:
    match operation:
        case Put():
            put = added.request_put
            put.key = operation.key
            put.value = operation.value
            if operation.lease:
                put.lease = operation.lease
        case Get():
            added.request_range.CopyFrom(range_request(operation))
        case Delete():
            delete = added.request_delete_range
            delete.key = operation.key
            if operation.end:
                delete.range_end = operation.end
            if operation.previous:
                delete.prev_kv = True


def key_value(kv: Any) -> KeyValue:
    """A key of a message."""
    return KeyValue(kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version, kv.lease)


def ranged(response: Any, revision: int) -> Ranged:
    """The answer to a read."""
    return Ranged(revision, [key_value(kv) for kv in response.kvs], response.more, response.count)


def outcome(response: Any) -> Outcome:
    """The answer to a transaction."""
    revision = response.header.revision
    return Outcome(
        response.succeeded, revision, [_answer(each, revision) for each in response.responses]
    )


def _answer(response: Any, revision: int) -> Answer:
    if response.HasField("response_range"):
        return ranged(response.response_range, revision)
    if response.HasField("response_delete_range"):
        deleted = response.response_delete_range
        return Deleted(revision, deleted.deleted, [key_value(kv) for kv in deleted.prev_kvs])
    return Done(revision)


def events(response: Any) -> list[Event]:
    """The changes of a watch's message."""
    return [
        Event(
            key_value(event.kv),
            bool(event.type),
            key_value(event.prev_kv) if event.HasField("prev_kv") else None,
        )
        for event in response.events
    ]
