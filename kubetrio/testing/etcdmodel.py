"""A model of etcd in memory: one history, and what goes wrong when a test says so.

It answers a real client over memory streams (`grpcserver`), so that everything over it is what
runs in a server, and Trio's mock clock drives all of it.  State is worked out from the whole
history each time, which is slow and plainly right.

Source: etcd's api/etcdserverpb/rpc.proto; server/storage/mvcc (compaction, watches).
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import trio
from h2.exceptions import ProtocolError

from kubetrio.harness.transport import MemoryTransport
from kubetrio.store.etcd.dialing import Endpoint
from kubetrio.store.etcd.errors import Code, Unavailable
from kubetrio.store.etcd.fields import ENUMS
from kubetrio.store.etcd.messages import message_class
from kubetrio.store.etcd.requests import Event, KeyValue, decode, encode
from kubetrio.testing.grpcserver import GrpcServer, Handler, ServedCall

TARGETS = {number: name for name, number in ENUMS["etcdserverpb.Compare.CompareTarget"].items()}
COMPACTED = "etcdserver: mvcc: required revision has been compacted"
FUTURE = "etcdserver: mvcc: required revision is a future revision"
NO_SPACE = "etcdserver: mvcc: database space exceeded"
NO_LEASE = "etcdserver: requested lease not found"


class CallError(Exception):
    """A status other than OK: its code and its text."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class _Failure(NamedTuple):
    """How the next call of a method fails.

    Args:
        refused: status; None for no answer at all.
        done: whether it is carried out before.
    """

    refused: CallError | None
    done: bool


class Snapshot(NamedTuple):
    """What `etcdctl snapshot save` has."""

    history: tuple[Event, ...]
    revision: int
    compacted: int


class EtcdModel:
    """A cluster; made by `etcd_model`.

    Args:
        nursery: in which it serves.
        version: that it says it is.

    Attributes:
        revision: newest one.
        compacted: revision before which nothing can be read.
        full: whether its database has reached its quota.
        down: whether no member can be reached.
        held: whether watches are told nothing.
        behind: by how many revisions the member lags that opens watches.
        calls: number of calls, by method.
    """

    def __init__(self, nursery: trio.Nursery, version: str = "3.5.21") -> None:
        self.revision = 1
        self.compacted = 0
        self.version = version
        self.full = self.down = self.held = False
        self.behind = 0
        self.calls: Counter[str] = Counter()
        self._history: list[Event] = []
        self._nursery = nursery
        self._leases: set[int] = set()
        self._lease_numbers = itertools.count(100)
        self._failures: dict[str, deque[_Failure]] = {}
        self._limits: dict[str, tuple[int, CallError]] = {}
        self._changed = trio.Event()
        answers: dict[str, Callable[[Any], bytes]] = {
            "Range": lambda data: self._range(decode("RangeRequest", data)).SerializeToString(),
            "Txn": self._txn,
            "Compact": self._compact,
            "LeaseGrant": self._lease_grant,
            "Status": self._status,
        }
        handlers = {method: self._handler(method, answer) for method, answer in answers.items()}
        self.server = GrpcServer(nursery, Watch=_until_gone(self._watch), **handlers)

    # ------------------------------------------------------------------ what tests do

    async def dial(self, endpoint: Endpoint) -> MemoryTransport:
        """Open a connection; see `dialing.Dial`."""
        await trio.lowlevel.checkpoint()
        if self.down:
            raise Unavailable(f"dial {endpoint.url}: connection refused", Code.UNAVAILABLE)
        return self.server.connect()

    def put(self, key: bytes, value: bytes) -> int:
        """Write a key as another client does; return the revision."""
        self.revision += 1
        self._write(key, value, 0)
        self._wake()
        return self.revision

    def put_all(self, values: Mapping[bytes, bytes]) -> int:
        """Write keys in one transaction, as another client does; return the revision."""
        self.revision += 1
        for key, value in values.items():
            self._write(key, value, 0)
        self._wake()
        return self.revision

    def delete(self, *keys: bytes) -> int:
        """Delete keys in one transaction, as another client does; return the revision."""
        self.revision += 1
        for key in keys:
            self._write(key, None, 0)
        self._wake()
        return self.revision

    def compact(self, to: int) -> None:
        """Forget what is older than a revision."""
        self.compacted = to

    def fail(self, method: str, refused: CallError | None, *, done: bool = False) -> None:
        """Have the next call of a method fail.

        Args:
            method: its name.
            refused: with which status; None has it wait until the client gives up.
            done: whether it is carried out all the same.
        """
        self._failures.setdefault(method, deque()).append(_Failure(refused, done))

    def fail_after(self, method: str, calls: int, refused: CallError) -> None:
        """Have all calls of a method fail after some.

        Args:
            method: its name.
            calls: how many still succeed.
            refused: with which status the others fail.
        """
        self._limits[method] = (self.calls[method] + calls, refused)

    def mend(self) -> None:
        """Have no further call fail."""
        self._failures.clear()
        self._limits.clear()

    def cut(self) -> None:
        """Break all connections."""
        for connection in self.server.connections:
            connection.drop()
        self.server.connections.clear()

    def release(self) -> None:
        """Tell watches what was held back."""
        self.held = False
        self._wake()

    def save(self) -> Snapshot:
        """Take a snapshot."""
        return Snapshot(tuple(self._history), self.revision, self.compacted)

    def restore(self, snapshot: Snapshot) -> None:
        """Be what a snapshot has; connections break."""
        self._history = list(snapshot.history)
        self.revision, self.compacted = snapshot.revision, snapshot.compacted
        self.cut()
        self._wake()

    def state(self, at: int = 0) -> dict[bytes, KeyValue]:
        """Return all keys at a revision, in order; 0 for the newest."""
        states: dict[bytes, KeyValue] = {}
        for event in self._history:
            if at and event.kv.revision > at:
                break
            if event.deleted:
                states.pop(event.kv.key, None)
            else:
                states[event.kv.key] = event.kv
        return dict(sorted(states.items()))

    # ------------------------------------------------------------------ calls

    def _handler(self, method: str, answer: Callable[[bytes], bytes]) -> Handler:
        async def handle(call: ServedCall) -> None:
            data = await call.receive()
            self.calls[method] += 1
            failures = self._failures.get(method)
            failure = failures.popleft() if failures else None
            limit = self._limits.get(method)
            try:
                if limit is not None and self.calls[method] > limit[0]:
                    raise limit[1]
                response = b"" if failure and not failure.done else answer(data)
                if failure is not None:
                    if failure.refused is None:
                        await call.reset_by_client.wait()
                        return
                    raise failure.refused
            except CallError as refused:
                await call.finish(refused.code, refused.text)
            else:
                await call.answer(response)

        return _until_gone(handle)

    def _header(self, revision: int = 0) -> Any:
        header = message_class("etcdserverpb.ResponseHeader")
        return header(revision=revision or self.revision, cluster_id=1, member_id=2, raft_term=3)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _write(self, key: bytes, value: bytes | None, lease: int) -> None:
        before = self.state().get(key)
        revision = self.revision
        if value is None:
            if before is not None:
                gone = KeyValue(key, b"", revision, 0, 0)
                self._history.append(Event(gone, deleted=True, previous=before))
            return
        created = before.create_revision if before else revision
        version = before.version + 1 if before else 1
        kv = KeyValue(key, value, revision, created, version, lease)
        self._history.append(Event(kv, deleted=False, previous=before))

    def _range(self, request: Any) -> Any:
        if 0 < request.revision < self.compacted:
            raise CallError(Code.OUT_OF_RANGE, COMPACTED)
        if request.revision > self.revision:
            raise CallError(Code.OUT_OF_RANGE, FUTURE)
        kvs = [
            kv
            for key, kv in self.state(request.revision).items()
            if (request.key <= key < request.range_end if request.range_end else key == request.key)
        ]
        shown = [] if request.count_only else kvs[: request.limit or len(kvs)]
        response = message_class("etcdserverpb.RangeResponse")(
            header=self._header(), more=len(shown) < len(kvs), count=len(kvs)
        )
        for kv in shown:
            _fill(response.kvs.add(), kv, keys_only=request.keys_only)
        return response

    def _txn(self, data: bytes) -> bytes:
        request = decode("TxnRequest", data)
        holds = all(self._holds(compare) for compare in request.compare)
        operations = request.success if holds else request.failure
        writes = [each for each in operations if not each.HasField("request_range")]
        puts = [each.request_put for each in writes if each.HasField("request_put")]
        if puts and self.full:
            raise CallError(Code.RESOURCE_EXHAUSTED, NO_SPACE)
        if any(put.lease and put.lease not in self._leases for put in puts):
            raise CallError(Code.NOT_FOUND, NO_LEASE)
        self.revision += bool(writes)
        response = message_class("etcdserverpb.TxnResponse")(succeeded=holds)
        for operation in operations:
            added = response.responses.add()
            if operation.HasField("request_range"):
                added.response_range.CopyFrom(self._range(operation.request_range))
            elif operation.HasField("request_put"):
                put = operation.request_put
                self._write(put.key, put.value, put.lease)
                added.response_put.SetInParent()
            else:
                self._write(operation.request_delete_range.key, None, 0)
                added.response_delete_range.deleted = 1
        response.header.CopyFrom(self._header())
        self._wake()
        text: bytes = response.SerializeToString()
        return text

    def _holds(self, compare: Any) -> bool:
        kv = self.state().get(compare.key)
        match TARGETS[compare.target]:
            case "VERSION":
                return (kv.version if kv else 0) == int(compare.version)
            case "MOD":
                return (kv.revision if kv else 0) == int(compare.mod_revision)
        raise CallError(Code.UNIMPLEMENTED, "this model compares versions and revisions only")

    def _compact(self, data: bytes) -> bytes:
        to = decode("CompactionRequest", data).revision
        if to <= self.compacted:
            raise CallError(Code.OUT_OF_RANGE, COMPACTED)
        if to > self.revision:
            raise CallError(Code.OUT_OF_RANGE, FUTURE)
        self.compacted = to
        return encode("CompactionResponse", header=self._header())

    def _lease_grant(self, data: bytes) -> bytes:
        lease = next(self._lease_numbers)
        self._leases.add(lease)
        ttl_s = decode("LeaseGrantRequest", data).TTL
        self._nursery.start_soon(self._expire, lease, ttl_s)
        return encode("LeaseGrantResponse", header=self._header(), ID=lease, TTL=ttl_s)

    async def _expire(self, lease: int, ttl_s: int) -> None:
        await trio.sleep(ttl_s)
        keys = [kv.key for kv in self.state().values() if kv.lease == lease]
        if lease in self._leases and keys:
            self.delete(*keys)
        self._leases.discard(lease)

    def lose_leases(self) -> None:
        """Forget all leases, and leave the keys that hang on them."""
        self._leases.clear()

    def _status(self, _: bytes) -> bytes:
        return encode(
            "StatusResponse", header=self._header(), version=self.version, leader=2,
            dbSize=sum(len(event.kv.value) for event in self._history),
        )  # fmt: skip

    # ------------------------------------------------------------------ watches

    async def _watch(self, call: ServedCall) -> None:
        create = decode("WatchRequest", await call.receive()).create_request
        self.calls["Watch"] += 1
        at = create.start_revision or self.revision + 1
        await call.send(self._told([], created=True, revision=self.revision - self.behind))
        if at < self.compacted:
            gone = {"canceled": True, "compact_revision": self.compacted}
            await call.send(self._told([], **gone))
            await call.finish()
            return
        asked = 0  # requests for progress

        async def ask() -> None:
            nonlocal asked
            while True:
                await call.receive()
                asked += 1
                self._wake()

        async def leave() -> None:
            await call.reset_by_client.wait()
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(leave)
            while True:
                changed = self._changed
                events = [] if self.held else self._since(at, create)
                if events:
                    at = events[-1].kv.revision + 1
                    await call.send(self._told(events))
                elif asked and not self.held:
                    asked = 0
                    await call.send(self._told([]))
                else:
                    await changed.wait()

    def _since(self, at: int, create: Any) -> list[Event]:
        return [
            event
            for event in self._history
            if event.kv.revision >= at and create.key <= event.kv.key < create.range_end
        ]

    def _told(self, events: Iterable[Event], *, revision: int = 0, **members: Any) -> bytes:
        response = message_class("etcdserverpb.WatchResponse")(
            header=self._header(revision), **members
        )
        for event in events:
            added = response.events.add()
            added.type = int(event.deleted)
            _fill(added.kv, event.kv)
            if event.previous is not None:
                _fill(added.prev_kv, event.previous)
        text: bytes = response.SerializeToString()
        return text


def _until_gone(handler: Handler) -> Handler:
    """A handler that ends where its client or its connection is gone."""

    async def handle(call: ServedCall) -> None:
        try:
            await handler(call)
        except* (OSError, ProtocolError):
            pass  # there is no client to answer

    return handle


def _fill(made: Any, kv: KeyValue, *, keys_only: bool = False) -> None:
    made.key, made.mod_revision = kv.key, kv.revision
    made.create_revision, made.version, made.lease = kv.create_revision, kv.version, kv.lease
    if not keys_only:
        made.value = kv.value


@asynccontextmanager
async def etcd_model(version: str = "3.5.21") -> AsyncIterator[EtcdModel]:
    """A cluster for as long as the block lasts.

    Args:
        version: that it says it is.
    """
    async with trio.open_nursery() as nursery:
        yield EtcdModel(nursery, version)
        nursery.cancel_scope.cancel()
