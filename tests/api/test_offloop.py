"""Work over large bodies: where it is done, and whose turn it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.api.bodies import MAX_REVIEW_BYTES
from kubetrio.api.offloop import BEGUN_BYTES, INLINE_BYTES, INLINE_OBJECT_BYTES, OffLoop
from kubetrio.api.request import Request
from kubetrio.env import Env, run_inline, seeded
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.resources.recipe import _take
from kubetrio.runtime.effort import STRIDE, Effort
from kubetrio.testing.server import InProcess, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
LARGE = "x" * (INLINE_BYTES + 1)


def request_of(user: str, *, heavy: bool = True) -> Request:
    made = Request("POST", "/", "", {}, [])
    made.user = UserInfo(user)
    made.heavy = heavy
    return made


class Thread:
    """Stands for the thread; notes what it was given, and waits if it is told to."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.seats: list[tuple[int, int]] = []
        self.server: InProcess | None = None
        self.go = trio.Event()
        self.go.set()

    async def __call__(self, fn: Callable[..., Any], *args: Any) -> Any:
        self.called += [one.__name__ for one in args[0]] if fn is _take else [fn.__name__]
        if self.server is not None:
            self.seats.append(self.server.api.edge.flow.gate.executing())
        await self.go.wait()
        return await run_inline(fn, *args)


async def test_small_bodies_stay_here() -> None:
    """A thread would take longer than the work."""
    thread = Thread()
    assert await OffLoop(thread).run(request_of("a", heavy=False), len, "abc") == 3
    assert thread.called == []


def long_work(steps: int) -> int:
    """Work that counts its steps."""
    effort = Effort()
    for _ in range(steps):
        effort.spend(1)
    return steps


async def test_small_bodies_that_are_much_work_go_there() -> None:
    """Where it turns out that they are."""
    thread, request = Thread(), request_of("a", heavy=False)
    off_loop = OffLoop(thread)
    assert await off_loop.of(request).work(long_work, STRIDE) == STRIDE
    assert thread.called == []
    assert await off_loop.of(request).work(long_work, STRIDE + 1) == STRIDE + 1
    assert (thread.called, request.heavy) == (["long_work"], True)
    off_loop.end(request)


async def test_work_ends_when_nobody_waits_for_it() -> None:
    """In its thread, too, which then is free for others."""
    ended: list[int] = []

    def endless() -> None:
        effort = Effort(10**12)
        try:
            while True:
                effort.spend(1)
        finally:
            ended.append(1)

    off_loop = OffLoop(Env().run_bodies, 0.01)
    with pytest.raises(ApiError) as caught:
        await off_loop.run(request_of("a"), endless)
    assert (caught.value.code, caught.value.reason) == (504, "Timeout")
    assert len(ended) == 1
    with trio.move_on_after(0.01) as scope:
        request = request_of("a")
        request.timer = scope
        await off_loop.run(request, endless)
    assert len(ended) == 2
    assert await off_loop.run(request_of("a"), len, "abc") == 3


async def test_users_take_turns() -> None:
    """One with many large bodies delays another by one of them."""
    thread, order = Thread(), []
    off_loop = OffLoop(thread)
    thread.go = trio.Event()

    async def work(user: str, name: str) -> None:
        await off_loop.run(request_of(user), order.append, name)

    async with trio.open_nursery() as nursery:
        for name in ["a1", "a2", "a3", "b1", "c1", "b2"]:
            nursery.start_soon(work, name[0], name)
            await trio.testing.wait_all_tasks_blocked()
        thread.go.set()
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_one_at_a_time() -> None:
    """Others wait until the first is done."""
    thread = Thread()
    thread.go = trio.Event()
    off_loop = OffLoop(thread)
    async with trio.open_nursery() as nursery:
        for user in "ab":
            nursery.start_soon(off_loop.run, request_of(user), bool)
        await trio.testing.wait_all_tasks_blocked()
        assert len(thread.called) == 1
        thread.go.set()
    assert len(thread.called) == 2


async def test_whoever_leaves_is_passed_over() -> None:
    """A request that ends while it waits has no turn, and takes none from others."""
    thread, done = Thread(), []
    thread.go = trio.Event()
    off_loop = OffLoop(thread)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(off_loop.run, request_of("a"), done.append, 1)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as inner:
            inner.start_soon(off_loop.run, request_of("b"), done.append, 2)
            nursery.start_soon(off_loop.run, request_of("c"), done.append, 3)
            await trio.testing.wait_all_tasks_blocked()
            inner.cancel_scope.cancel()
        thread.go.set()
    assert done == [1, 3]
    await off_loop.run(request_of("d"), done.append, 4)
    assert done == [1, 3, 4]


async def test_few_large_bodies_are_begun_at_a_time() -> None:
    """By their bytes, and by turns of users; the others wait as they came."""
    off_loop, begun = OffLoop(Thread()), []

    async def begin(request: Request, size: int) -> None:
        await off_loop.begin(request, size)
        begun.append(request.user.name)

    large = BEGUN_BYTES * 3 // 4
    asked = [(request_of(user), large) for user in "aaab"] + [(request_of("c"), BEGUN_BYTES // 4)]
    async with trio.open_nursery() as nursery:
        for request, size in asked:
            nursery.start_soon(begin, request, size)
            await trio.testing.wait_all_tasks_blocked()
        assert begun == ["a"]
        for number in (0, 1, 3, 4, 2):
            off_loop.end(asked[number][0])
            off_loop.end(asked[number][0])
            await trio.testing.wait_all_tasks_blocked()
    assert [begun[:2], sorted(begun[2:4]), begun[4:]] == [["a", "a"], ["b", "c"], ["a"]]


async def test_whoever_leaves_before_its_body_is_begun_makes_room() -> None:
    """For smaller ones behind it."""
    off_loop = OffLoop(Thread())
    first, large, small = (request_of(user) for user in "abc")
    await off_loop.begin(first, BEGUN_BYTES // 2)
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as inner:
            inner.start_soon(off_loop.begin, large, BEGUN_BYTES)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(off_loop.begin, small, BEGUN_BYTES // 2)
            await trio.testing.wait_all_tasks_blocked()
            inner.cancel_scope.cancel()
        with trio.fail_after(1):
            await trio.testing.wait_all_tasks_blocked()
    for request in (first, small):
        off_loop.end(request)
    await off_loop.begin(large, BEGUN_BYTES)


async def test_answered_requests_with_large_bodies_make_room(server: InProcess) -> None:
    """Whatever became of them."""
    async with server.connect() as client:
        for body in (b"[" + b" " * INLINE_BYTES, b"{" + b" " * BEGUN_BYTES):
            with trio.fail_after(5):
                answer = await client.request("POST", CONFIGMAPS, body=body)
            assert answer.status in (400, 413)
    assert server.api.edge.off_loop._begun == {}


async def large_writes(server: InProcess) -> list[int]:
    """Status codes of large writes of every kind."""
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "n"}, "data": {"a": LARGE}}
    apply = "application/apply-patch+yaml"
    merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
    path = f"{CONFIGMAPS}/n"
    text = orjson.dumps(obj)
    codes = []
    async with server.connect() as client:

        async def send(method: str, where: str, media: str, body: bytes) -> None:
            headers = {"content-type": media}
            answer = await client.request(method, where, body=body, headers=headers)
            codes.append(answer.status)

        await send("POST", CONFIGMAPS, "application/json", text)
        await send("PUT", path, "application/json", text)
        await send("PUT", path, "application/yaml", text)
        await send("PATCH", path, merge, text)
        await send("PATCH", path, strategic, text)
        await send("PATCH", f"{path}?fieldManager=m&force=true", apply, text)
        padding = orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1"}) + b" " * INLINE_BYTES
        await send("DELETE", path, "application/json", padding)
    return codes


async def test_large_bodies_of_all_writes_are_worked_over_there() -> None:
    """Decoding, defaults, patching, validation and printing; each request keeps its seat."""
    thread = Thread()
    env = dataclasses.replace(seeded(0), bodies=thread)
    async with open_api(env=env) as server:
        thread.server = server
        assert await large_writes(server) == [201, 200, 200, 200, 200, 200, 200]
    assert {
        "decode_object",
        "default", "own", "prepare_new", "validate_new", "_stamp_new",
        "make", "prepare_changed", "validate_changed", "_stamp_changed",
        "_delete_options",
    } <= set(thread.called)  # fmt: skip
    assert all(sum(seats) == 1 for seats in thread.seats)


async def test_small_bodies_of_writes_stay_here() -> None:
    """The thread is not asked."""
    thread = Thread()
    env = dataclasses.replace(seeded(0), bodies=thread)
    async with open_api(env=env) as server, server.connect() as client:
        body = {"metadata": {"name": "n"}, "data": {"a": "x" * (INLINE_BYTES - 200)}}
        assert (await client.request("POST", CONFIGMAPS, json=body)).status == 201
    assert thread.called == []


async def test_small_changes_of_large_objects_are_worked_over_there() -> None:
    """What is stored counts as what is sent does; small for small stays here."""
    thread = Thread()
    env = dataclasses.replace(seeded(0), bodies=thread)
    async with open_api(env=env) as server, server.connect() as client:
        body = {"metadata": {"name": "n"}, "data": {"a": "x" * INLINE_OBJECT_BYTES}}
        assert (await client.request("POST", CONFIGMAPS, json=body)).status == 201
        thread.called.clear()
        headers = {"content-type": "application/merge-patch+json"}
        patch = b'{"data":{"b":"1"}}'
        path = f"{CONFIGMAPS}/n"
        answer = await client.request("PATCH", path, body=patch, headers=headers)
        assert answer.status == 200
        steps = {"make", "prepare_changed", "validate_changed", "_stamp_changed"}
        assert steps <= set(thread.called)
        thread.called.clear()
        answer = await client.request("PUT", path, json={"metadata": {"name": "n"}})
        assert answer.status == 200
        assert steps <= set(thread.called)
        thread.called.clear()
        answer = await client.request("PUT", path, json={"metadata": {"name": "n"}, "data": {}})
        assert answer.status == 200
    assert thread.called == []


@pytest.mark.parametrize(
    ("path", "limited"),
    [
        ("authentication.k8s.io/v1/selfsubjectreviews", True),
        ("authorization.k8s.io/v1/selfsubjectaccessreviews", True),
        ("authorization.k8s.io/v1/selfsubjectrulesreviews", True),
        ("authorization.k8s.io/v1/subjectaccessreviews", False),
    ],
)
async def test_reviews_that_anybody_may_send_are_small(
    server: InProcess, path: str, limited: bool
) -> None:
    """413 beyond 64 KiB; what takes rights to send has the limit of all bodies."""
    async with server.connect() as client:
        large = {"spec": {"user": "u" * MAX_REVIEW_BYTES, "namespace": "n"}}
        answer = await client.request("POST", f"/apis/{path}", json=large)
        assert (answer.status == 413) is limited
        if limited:
            assert answer.json()["message"] == "Request entity too large: limit is 65536"
            assert answer.json()["reason"] == "RequestEntityTooLarge"


async def test_small_changes_of_large_objects_wait_for_each_other() -> None:
    """Each makes the object twice, however few bytes were sent."""
    off_loop, begun = OffLoop(Thread()), []
    value = b'{"a":1,' * (BEGUN_BYTES // (7 * 56))
    assert len(value) > INLINE_OBJECT_BYTES

    async def change(request: Request) -> None:
        if request.user.name == "a":
            await off_loop.begin(request, INLINE_BYTES)  # its own body, which is small
        await off_loop.of(request).weigh(value)
        await off_loop.of(request).weigh(value)
        begun.append(request)

    requests = [request_of(user) for user in "aaabbb"]
    async with trio.open_nursery() as nursery:
        for request in requests:
            nursery.start_soon(change, request)
        for count in range(1, len(requests)):
            await trio.testing.wait_all_tasks_blocked()
            assert len(begun) <= 3 * count
            for request in [*begun]:
                off_loop.end(request)
    assert len(begun) == len(requests)
    for request in requests:
        off_loop.end(request)
    small = request_of("c")
    small.heavy = False
    await off_loop.of(small).weigh(b"{}")
    assert not small.heavy
