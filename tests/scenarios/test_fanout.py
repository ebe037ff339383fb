"""Many watchers of everything, of a namespace and of some objects, while several clients write."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import orjson
import trio

from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.watch.hub import AT_ONCE

FOLDER = "/api/v1/namespaces/default/configmaps"
PATHS = {
    "/api/v1/configmaps": 2 * AT_ONCE,
    FOLDER: AT_ONCE + 1,
    f"{FOLDER}?labelSelector=odd": 3,
    f"{FOLDER}?fieldSelector=metadata.name%3D3-5": AT_ONCE + 1,
}
WRITERS, WRITES = 4, 20


async def heard(client: Client, count: int) -> list[Any]:
    """The next events."""
    text = b""
    with trio.fail_after(30):
        while text.count(b"\n") < count:
            text += await client.chunk()
    return [orjson.loads(line)["object"]["metadata"] for line in text.splitlines()]


async def write(server: InProcess, writer: int) -> None:
    """Create objects one after the other."""
    async with server.connect() as client:
        for number in range(WRITES):
            labels = {"odd": ""} if number % 2 else {}
            body = {"metadata": {"name": f"{writer}-{number}", "labels": labels}}
            assert (await client.request("POST", FOLDER, json=body)).status == 201


async def test_every_watcher_hears_everything_once_and_in_order() -> None:
    """Whoever hands it out."""
    async with open_api() as server, AsyncExitStack() as stack:
        watching: list[tuple[str, Client]] = []
        for path, count in PATHS.items():
            for _ in range(count):
                client = await stack.enter_async_context(server.connect())
                mark = "&" if "?" in path else "?"
                target = f"{path}{mark}watch=1&resourceVersion={server.api.storage.store.revision}"
                await client.send(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                assert (await client.head()).status == 200
                watching.append((path, client))
        async with trio.open_nursery() as writers:
            for writer in range(WRITERS):
                writers.start_soon(write, server, writer)
        whole = [meta["name"] for meta in await heard(watching[0][1], WRITERS * WRITES)]
        assert sorted(whole) == sorted(
            f"{writer}-{number}" for writer in range(WRITERS) for number in range(WRITES)
        )
        expected = {
            "/api/v1/configmaps": whole,
            FOLDER: whole,
            f"{FOLDER}?labelSelector=odd": [name for name in whole if int(name[2:]) % 2],
            f"{FOLDER}?fieldSelector=metadata.name%3D3-5": ["3-5"],
        }
        for path, client in watching[1:]:
            events = await heard(client, len(expected[path]))
            assert [meta["name"] for meta in events] == expected[path]
            versions = [int(meta["resourceVersion"]) for meta in events]
            assert versions == sorted(set(versions))
        numbers = server.api.storage.hub.statistics()
        assert numbers.watchers == numbers.live == len(watching)
        assert numbers.delivered < len(watching) * WRITERS * WRITES / 2  # many events at a time
