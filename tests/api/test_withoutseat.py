"""Bodies that come while their requests have no seat, on a whole server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
import trio.testing

from kubetrio.api.pendingbodies import PendingBodies
from kubetrio.config import Config, FlowControl
from kubetrio.machinery.identity import AUTHENTICATED, MASTERS, UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

REVIEW = b'{"spec":{"nonResourceAttributes":{"path":"/version","verb":"get"}}}'

ADMIN = UserInfo("admin", groups=(MASTERS, AUTHENTICATED))

STRANGER = UserInfo("stranger", groups=(AUTHENTICATED,))

HONEST = UserInfo("honest", groups=(AUTHENTICATED,))


def head(size: int, path: str = REVIEWS) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode()


def with_seats(folder: Path, reading: int, writing: int, *, fair: bool = True) -> Config:
    limits = FlowControl(
        max_requests_inflight=reading,
        max_mutating_requests_inflight=writing,
        priority_and_fairness=fair,
    )
    return Config(data_dir=folder, flowcontrol=limits)


async def unfinished(
    server: InProcess, stack: AsyncExitStack, size: int = 1000, user: UserInfo = STRANGER
) -> Client:
    """A connection of a user without rights that has sent a part of a body."""
    client = await stack.enter_async_context(server.connect(certificate=user))
    await client.send(head(size) + REVIEW)
    await trio.testing.wait_all_tasks_blocked()
    return client


async def test_unfinished_bodies_take_no_seats(tmp_path: Path) -> None:
    """However many there are, others of the same priority level do not wait."""
    async with open_api(config=with_seats(tmp_path, 10, 5)) as server, AsyncExitStack() as stack:
        for _ in range(40):
            await unfinished(server, stack)
        assert server.api.edge.flow.executing() == (0, 0)
        with trio.fail_after(1):
            async with server.connect(certificate=HONEST) as client:
                assert (await client.request("GET", "/version")).status == 200


async def test_a_body_that_has_come_is_answered(server: InProcess) -> None:
    """In a seat again, with the headers of flow control once."""
    async with AsyncExitStack() as stack:
        client = await unfinished(server, stack, len(REVIEW) + 1)
        await client.send(b" ")
        answer = await client.receive()
        assert answer.status == 201
        names = [name for name, _ in answer.head.headers]
        assert names.count(b"x-kubernetes-pf-flowschema-uid") == 1
    assert server.api.edge.flow.executing() == (0, 0)
    assert server.api.edge.pending_bodies == PendingBodies()


COUNTED = (
    "dispatched_requests_total",
    "request_wait_duration_seconds_count",
    "request_execution_seconds_count",
    "work_estimated_seats_count",
    "request_queue_length_after_enqueue_count",
)


async def counted(server: InProcess, user: UserInfo) -> dict[str, float]:
    """What flow control has counted of the level of a user without rights."""
    async with server.connect(certificate=ADMIN) as client:
        text = (await client.request("GET", "/metrics")).body.decode()
    found = dict.fromkeys(COUNTED, 0.0)
    for line in text.splitlines():
        name, _, rest = line.removeprefix("apiserver_flowcontrol_").partition("{")
        if name in found and 'priority_level="global-default"' in rest:
            found[name] += float(rest.rpartition(" ")[2])
    return found


@pytest.mark.parametrize("waits", [False, True])
async def test_a_request_whose_body_comes_later_is_counted_once(
    tmp_path: Path, waits: bool
) -> None:
    """As the one request that it is: begun once, executed once, whether it waits for its seat."""
    async with open_api(config=with_seats(tmp_path, 400, 200)) as server, AsyncExitStack() as stack:
        before = await counted(server, STRANGER)
        client = await unfinished(server, stack, len(REVIEW) + 1)
        if waits:
            flow = server.api.edge.flow
            for _ in range(3):
                await unfinished(server, stack, len(REVIEW) + 1)
            assert flow.executing() == (0, 0)
        await client.send(b" ")
        assert (await client.receive()).status == 201
        after = await counted(server, STRANGER)
        begun = 4.0 if waits else 1.0
        assert after["dispatched_requests_total"] - before["dispatched_requests_total"] == begun
        executed = "request_execution_seconds_count"
        assert after.pop(executed) - before.pop(executed) == 1.0
        assert {name: after[name] - before[name] for name in after} == dict.fromkeys(after, begun)


async def test_the_body_of_a_refused_request_is_not_read(server: InProcess) -> None:
    """Authorization answers before it has come."""
    async with server.connect(certificate=STRANGER) as client:
        await client.send(head(1000, "/api/v1/namespaces/default/configmaps"))
        assert (await client.receive()).status == 403


async def test_without_a_seat_for_the_rest_it_is_429(tmp_path: Path) -> None:
    """The body has come, and others have the seats."""
    config = with_seats(tmp_path, 1, 1, fair=False)
    async with open_api(config=config) as server, AsyncExitStack() as stack:
        client = await unfinished(server, stack, len(REVIEW) + 1)
        server.api.edge.pending_bodies.most_bytes = 0  # the next one reads in its seat
        await unfinished(server, stack, user=HONEST)
        assert server.api.edge.flow.executing() == (0, 1)
        await client.send(b" ")
        assert (await client.receive()).status == 429
        assert server.api.edge.pending_bodies.held_bytes == 0


async def test_the_wait_for_a_body_is_none_for_a_seat(
    server: InProcess, autojump_clock: trio.testing.MockClock
) -> None:
    """Patience with seats begins when the body has come; the request took all the time."""
    async with AsyncExitStack() as stack:
        client = await unfinished(server, stack, len(REVIEW) + 1)
        await trio.sleep(40)  # longer than a request waits for a seat
        await client.send(b" ")
        assert (await client.receive()).status == 201
        found = b"apiserver_request_duration_seconds_sum{"
        admin = await stack.enter_async_context(server.connect())
        lines = (await admin.request("GET", "/metrics")).body.splitlines()
        (line,) = [x for x in lines if x.startswith(found) and b"selfsubjectaccess" in x]
        assert float(line.rpartition(b" ")[2]) == pytest.approx(40, abs=1)


async def test_a_slow_body_gets_its_504(
    server: InProcess, autojump_clock: trio.testing.MockClock
) -> None:
    """Without a seat it has no more time than with one, and leaves nothing behind."""
    async with AsyncExitStack() as stack:
        client = await unfinished(server, stack)
        assert (await client.receive()).status == 504
        assert server.api.edge.pending_bodies == PendingBodies()
        assert server.api.edge.in_flight.requests == 0
