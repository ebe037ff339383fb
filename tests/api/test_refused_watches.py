"""What watches leave behind that are refused: no more than a refused GET on its connection."""

from __future__ import annotations

import gc
import tracemalloc

import trio
import trio.testing

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import ADMIN
from kubetrio.testing.server import InProcess, open_api

COUNT = 60
NOBODY = UserInfo("nobody", groups=("system:authenticated",))
LONG = "a%3Db," * 300 + "x"
MAPS = "/api/v1/namespaces/n{}/configmaps?watch=1"
REFUSED = {
    "forbidden": (NOBODY, MAPS, 403),
    "forbidden, with a long selector": (NOBODY, f"{MAPS}&labelSelector={LONG}", 403),
    "a selector that is none": (ADMIN, f"{MAPS}&labelSelector=a!!{{}}", 400),
    "a field that is none": (ADMIN, f"{MAPS}&fieldSelector=a%3D{{}}", 400),
    "a kind that is none": (ADMIN, "/api/v1/namespaces/n{}/nothing?watch=1", 404),
}


async def held(
    server: InProcess, user: UserInfo, path: str, status: int, count: int = COUNT
) -> int:
    """Bytes that are held for so many connections, each with one answer, for each of them."""
    release = trio.Event()

    async def ask(number: int, task_status: trio.TaskStatus[None]) -> None:
        async with server.connect(certificate=user) as client:
            answer = await client.request("GET", path.replace("{}", str(number)))
            assert answer.status == status, answer.body
            task_status.started()
            await release.wait()

    gc.collect()
    tracemalloc.start()
    try:
        async with trio.open_nursery() as nursery:
            for number in range(count):
                await nursery.start(ask, number)
            gc.collect()
            found = tracemalloc.get_traced_memory()[0]
            release.set()
        return found // count
    finally:
        tracemalloc.stop()


async def test_refused_watches_hold_what_their_connections_do(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As long as these are open."""
    del autojump_clock
    over = {}
    async with open_api() as server:
        await held(server, ADMIN, "/version?a={}", 200)  # what is made when it is first needed
        plain = await held(server, ADMIN, "/version?a={}", 200)
        for what, (user, path, status) in REFUSED.items():
            await held(server, user, path, status, 2)
            more = await held(server, user, path, status) - plain
            if more >= 1_500:
                over[what] = more
    assert over == {}
