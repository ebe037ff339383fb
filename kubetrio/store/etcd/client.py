"""A client of etcd v3: calls, watches and leases over one connection to one of the members.

Every call has a deadline and raises an `EtcdError`.  What only reads is tried again until its
deadline when a member fails; what writes is tried again only where it is known that it was not
carried out, and `EtcdError.undecided` tells its caller otherwise.

It is imported only by a server that has ``--etcd-servers``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from kubetrio.env import Env
from kubetrio.runtime.groups import ungrouped
from kubetrio.store.etcd.connection import Connection
from kubetrio.store.etcd.dialing import Dial, TlsFiles, dialer, endpoint_of
from kubetrio.store.etcd.errors import (
    Code,
    EtcdError,
    LeaseNotFound,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from kubetrio.store.etcd.fields import ENUMS, METHODS
from kubetrio.store.etcd.pool import Pool, PoolSettings
from kubetrio.store.etcd.requests import (
    Alarm,
    Compare,
    Get,
    Lease,
    Operation,
    Outcome,
    Ranged,
    Status,
    decode,
    encode,
    outcome,
    range_request,
    ranged,
    txn_request,
)
from kubetrio.store.etcd.watching import Watch, WatchSettings, watching

_ALARMS: Final = {number: name for name, number in ENUMS["etcdserverpb.AlarmType"].items()}
_DEACTIVATE: Final = ENUMS["etcdserverpb.AlarmRequest.AlarmAction"]["DEACTIVATE"]
AGAIN_FIRST_S: Final = 0.025
"""Pause before a call is tried again on a connection that is good, at first."""
AGAIN_LONGEST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How etcd is reached.

    Args:
        endpoints: URLs of the members, at least one.
        tls: files for TLS.
        call_timeout_s: seconds for a call, unless it says otherwise.
        max_request_bytes: largest request that is sent; etcd takes 1.5 MiB unless told otherwise
            (``--max-request-bytes``), and refuses larger ones itself.
        pool: how members are dialled and watched over.

    Raises:
        ValueError: an endpoint is none.
    """

    endpoints: Sequence[str]
    tls: TlsFiles = field(default_factory=TlsFiles)
    call_timeout_s: float = 10.0
    max_request_bytes: int = 2**31 - 1
    pool: PoolSettings = field(default_factory=PoolSettings)

    def __post_init__(self) -> None:
        """Check endpoints."""
        for url in self.endpoints:
            endpoint_of(url)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStatistics:
    """Numbers for metrics, `/debug` and tests.

    Args:
        endpoint: the member that is asked now, empty for none.
        calls: begun.
        failed: calls that raised.
        again: calls that were tried once more.
        in_flight: calls and streams that are open.
        dials: connections that were tried.
        failed_dials: those of them that failed.
        error: why the last dial or connection failed, or empty.
    """

    endpoint: str
    calls: int
    failed: int
    again: int
    in_flight: int
    dials: int
    failed_dials: int
    error: str


class Client:
    """Calls of etcd; made by `open_client`.

    Args:
        pool: the connection.
        settings: limits.
        env: randomness.
    """

    def __init__(self, pool: Pool, settings: ClientSettings, env: Env) -> None:
        self._pool = pool
        self._settings = settings
        self._env = env
        self._calls = self._failed = self._again = 0

    # ------------------------------------------------------------------ keys

    async def range(self, get: Get, *, timeout_s: float | None = None) -> Ranged:
        """Read a key or a range.

        Args:
            get: what is read.
            timeout_s: seconds that it may take, None for those of the settings.

        Raises:
            Compacted: the revision is older than the history.
            FutureRevision: the revision does not exist yet.
            EtcdError: it fails.
        """
        data = range_request(get).SerializeToString()
        response = await self._call("Range", data, timeout_s, repeatable=True)
        return ranged(response, response.header.revision)

    async def newest(self, *, timeout_s: float | None = None) -> int:
        """Ask for the newest revision that any writer made, as a linearizable read.

        Raises:
            EtcdError: no majority answers.
        """
        return (await self.range(_NEWEST, timeout_s=timeout_s)).revision

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
        *,
        repeatable: bool = False,
        timeout_s: float | None = None,
    ) -> Outcome:
        """Carry out operations if conditions hold, others if one does not, at one revision.

        Args:
            compares: the conditions.
            success: what is done if all hold.
            failure: what is done if one does not.
            repeatable: whether it does no harm to carry it out twice, as what only reads.
            timeout_s: as of `range`.

        Raises:
            NoSpace: the database is full.
            TooLarge: the request is.
            EtcdError: it fails; `EtcdError.undecided` tells whether it may have been carried out.
        """
        data = txn_request(compares, success, failure)
        again = repeatable or all(isinstance(each, Get) for each in (*success, *failure))
        return outcome(await self._call("Txn", data, timeout_s, repeatable=again))

    async def compact(
        self, revision: int, *, physical: bool = False, timeout_s: float | None = None
    ) -> None:
        """Have etcd forget states older than a revision.

        Args:
            revision: oldest that can be read afterwards.
            physical: whether to wait until that is done on the disk.
            timeout_s: as of `range`.

        Raises:
            Compacted: it is forgotten already.
            FutureRevision: it does not exist yet.
            EtcdError: it fails.
        """
        data = encode("CompactionRequest", revision=revision, physical=physical)
        await self._call("Compact", data, timeout_s)

    # ------------------------------------------------------------------ leases

    async def lease_grant(self, ttl_s: int, *, timeout_s: float | None = None) -> Lease:
        """Make a lease.

        Args:
            ttl_s: seconds that it lasts without `lease_keep_alive`; etcd may grant more.
            timeout_s: as of `range`.

        Raises:
            EtcdError: it fails.
        """
        # A lease that was made and not heard of ends by itself.
        data = encode("LeaseGrantRequest", TTL=ttl_s)
        response = await self._call("LeaseGrant", data, timeout_s, repeatable=True)
        return Lease(response.ID, response.TTL)

    async def lease_keep_alive(self, lease: int, *, timeout_s: float | None = None) -> int:
        """Have a lease last its time from now on again; returns that time in seconds.

        Raises:
            LeaseNotFound: there is no such lease.
            EtcdError: it fails.
        """
        data = encode("LeaseKeepAliveRequest", ID=lease)
        path = METHODS["LeaseKeepAlive"][0]

        async def ask(connection: Connection, within: float) -> bytes:
            with trio.move_on_after(within):
                async with connection.stream(path) as stream:
                    stream.send(data)
                    answer = await stream.receive()
                if answer is None:
                    raise Unavailable("the member ended the stream", Code.UNAVAILABLE)
                return answer
            raise TimedOut("context deadline exceeded", Code.DEADLINE_EXCEEDED, undecided=True)

        answer = await self._try(ask, timeout_s, repeatable=True)
        ttl_s: int = _decoded("LeaseKeepAliveResponse", answer).TTL
        if ttl_s <= 0:
            raise LeaseNotFound("etcdserver: requested lease not found", Code.NOT_FOUND)
        return ttl_s

    async def lease_revoke(self, lease: int, *, timeout_s: float | None = None) -> None:
        """End a lease, and delete the keys that hang on it.

        Raises:
            LeaseNotFound: there is no such lease.
            EtcdError: it fails.
        """
        await self._call("LeaseRevoke", encode("LeaseRevokeRequest", ID=lease), timeout_s)

    async def lease_remaining(self, lease: int, *, timeout_s: float | None = None) -> int:
        """Ask how many seconds a lease still lasts.

        Raises:
            LeaseNotFound: there is no such lease.
            EtcdError: it fails.
        """
        data = encode("LeaseTimeToLiveRequest", ID=lease)
        response = await self._call("LeaseTimeToLive", data, timeout_s, repeatable=True)
        ttl_s: int = response.TTL
        if ttl_s < 0:
            raise LeaseNotFound("etcdserver: requested lease not found", Code.NOT_FOUND)
        return ttl_s

    # ------------------------------------------------------------------ watches

    @asynccontextmanager
    async def watch(
        self, settings: WatchSettings, *, timeout_s: float | None = None
    ) -> AsyncIterator[Watch]:
        """Watch a range, as long as the block lasts; see `watching`.

        Args:
            settings: what is watched.
            timeout_s: seconds until etcd has made the watch, None for those of the settings.

        Raises:
            EtcdError: no member takes it.
        """
        within = self._settings.call_timeout_s if timeout_s is None else timeout_s
        with trio.CancelScope(deadline=trio.current_time() + within) as making:
            connection = await self._pool.connection()
            async with (
                connection.stream(METHODS["Watch"][0]) as stream,
                watching(stream, settings) as watch,
            ):
                making.deadline = float("inf")
                yield watch
        if making.cancelled_caught:
            raise self._unreached()

    # ------------------------------------------------------------------ members

    @property
    def endpoints(self) -> Sequence[str]:
        """URLs of the members."""
        return [endpoint.url for endpoint in self._pool.endpoints]

    async def status(self, endpoint: str = "", *, timeout_s: float | None = None) -> Status:
        """Ask a member how it is.

        Args:
            endpoint: one of `endpoints`; empty for the member that is asked now.
            timeout_s: as of `range`.

        Raises:
            EtcdError: it does not answer.
        """
        if not endpoint:
            return _status(await self._call("Status", b"", timeout_s, repeatable=True))
        found = next(each for each in self._pool.endpoints if each.url == endpoint)
        path = METHODS["Status"][0]
        within = self._settings.call_timeout_s if timeout_s is None else timeout_s
        with trio.move_on_after(within) as scope:
            async with self._pool.to(found) as connection:
                answer = await connection.unary(path, b"", within)
        if scope.cancelled_caught:
            raise TimedOut(f"{endpoint}: context deadline exceeded", Code.DEADLINE_EXCEEDED)
        return _status(_decoded("StatusResponse", answer))

    async def alarms(self, *, timeout_s: float | None = None) -> Sequence[Alarm]:
        """Ask which alarms are raised.

        Raises:
            EtcdError: it fails.
        """
        response = await self._call("Alarm", b"", timeout_s, repeatable=True)
        return [Alarm(each.memberID, _ALARMS[each.alarm]) for each in response.alarms]

    async def disarm(self, alarm: Alarm, *, timeout_s: float | None = None) -> None:
        """Take an alarm back, after its cause is gone.

        Raises:
            EtcdError: it fails.
        """
        kind = ENUMS["etcdserverpb.AlarmType"][alarm.kind]
        data = encode("AlarmRequest", action=_DEACTIVATE, memberID=alarm.member, alarm=kind)
        await self._call("Alarm", data, timeout_s, repeatable=True)

    def statistics(self) -> ClientStatistics:
        """A snapshot of numbers."""
        pool = self._pool
        current = pool.current
        return ClientStatistics(
            endpoint=pool.endpoint.url if pool.endpoint is not None else "",
            calls=self._calls,
            failed=self._failed,
            again=self._again,
            in_flight=current.in_flight if current is not None else 0,
            dials=pool.dials,
            failed_dials=pool.failed_dials,
            error=str(pool.error) if current is None else "",
        )

    # ------------------------------------------------------------------ calls

    async def _call(
        self, method: str, request: bytes, timeout_s: float | None, *, repeatable: bool = False
    ) -> Any:
        path, _, response = METHODS[method]
        if len(request) > self._settings.max_request_bytes:
            text = f"a request of {len(request)} bytes, of at most"
            text = f"{text} {self._settings.max_request_bytes}"
            raise TooLarge(text, Code.RESOURCE_EXHAUSTED)

        def ask(connection: Connection, within: float) -> Awaitable[bytes]:
            return connection.unary(path, request, within)

        answer = await self._try(ask, timeout_s, repeatable=repeatable)
        return _decoded(response.rpartition(".")[2], answer)

    async def _try(
        self,
        ask: Callable[[Connection, float], Awaitable[bytes]],
        timeout_s: float | None,
        *,
        repeatable: bool,
    ) -> bytes:
        """Ask until there is an answer, an error that counts, or no time left.

        Args:
            ask: asks on a connection, with so many seconds.
            timeout_s: seconds for all of it.
            repeatable: whether it does no harm to ask twice.
        """
        self._calls += 1
        within = self._settings.call_timeout_s if timeout_s is None else timeout_s
        deadline = trio.current_time() + within
        pause = AGAIN_FIRST_S
        try:
            while True:
                connection = self._pool.current or await self._connection(deadline)
                try:
                    return await ask(connection, deadline - trio.current_time())
                except (Unavailable, TimedOut) as error:
                    self._pool.distrust(connection)
                    if isinstance(error, TimedOut) or (error.undecided and not repeatable):
                        raise
                    rest = pause * self._env.rng.uniform(0.5, 1.5)
                    if trio.current_time() + rest >= deadline:
                        raise
                self._again += 1
                if connection.usable:  # else the pool rests between its attempts
                    await trio.sleep(rest)
                    pause = min(pause * 2, AGAIN_LONGEST_S)
        except EtcdError:
            self._failed += 1
            raise

    async def _connection(self, deadline: float) -> Connection:
        """Wait for a connection.

        Raises:
            TimedOut: there is none in time.
            Unauthenticated: there is none, since certificates are not accepted.
        """
        with trio.move_on_at(deadline):
            return await self._pool.connection()
        raise self._unreached()

    def _unreached(self) -> EtcdError:
        """The error of a call for which there was no connection in time."""
        last = self._pool.error
        made = Unauthenticated if isinstance(last, Unauthenticated) else TimedOut
        return made(f"no member of etcd answers: {last}", Code.DEADLINE_EXCEEDED)


_NEWEST: Final = Get(key=b"\0", limit=1, count_only=True)


def _decoded(name: str, data: bytes) -> Any:
    """A message that was answered.

    Raises:
        EtcdError: it cannot be read.
    """
    from google.protobuf.message import DecodeError

    try:
        return decode(name, data)
    except DecodeError as error:
        raise EtcdError(f"an answer that is no {name}", Code.INTERNAL, undecided=True) from error


def _status(response: Any) -> Status:
    return Status(
        version=response.version,
        cluster=response.header.cluster_id,
        member=response.header.member_id,
        leader=response.leader,
        revision=response.header.revision,
        db_bytes=response.dbSize,
        db_used_bytes=response.dbSizeInUse,
        raft_term=response.raftTerm,
        raft_index=response.raftIndex,
        learner=response.isLearner,
        errors=list(response.errors),
    )


@ungrouped
@asynccontextmanager
async def open_client(
    settings: ClientSettings, env: Env, *, dial: Dial | None = None
) -> AsyncIterator[Client]:
    """A client, as long as the block lasts; nothing is dialled before its first call.

    Args:
        settings: how etcd is reached.
        env: randomness and threads.
        dial: opens connections, in place of sockets.

    Raises:
        ValueError: an endpoint is none.
    """
    endpoints = [endpoint_of(url) for url in settings.endpoints]
    if not endpoints:
        raise ValueError("no endpoints of etcd")
    async with trio.open_nursery() as nursery:
        opener = dialer(settings.tls, env) if dial is None else dial
        pool = Pool(endpoints, settings.pool, opener, env, nursery)
        nursery.start_soon(pool.run)
        try:
            yield Client(pool, settings, env)
        finally:
            nursery.cancel_scope.cancel()
