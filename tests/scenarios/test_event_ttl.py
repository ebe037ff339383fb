"""Events through the whole server: written over its API, gone when their time is over."""

from dataclasses import replace
from pathlib import Path

import trio
from trio.testing import MockClock

from kubetrio.testing.server import in_memory, open_api

EVENTS = "/api/v1/namespaces/default/events"
EVENT = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    "reason": "Tested",
    "type": "Normal",
}


async def test_events_go_behind_their_ttl(tmp_path: Path, autojump_clock: MockClock) -> None:
    """As `--event-ttl` says; a change begins it anew, and other objects stay."""
    config = in_memory(tmp_path)
    config = replace(config, storage=replace(config.storage, event_ttl_s=100.0))
    async with open_api(config=config) as server, server.connect() as client:
        made = await client.request("POST", EVENTS, json=EVENT)
        assert made.status == 201
        await trio.sleep(90)
        changed = await client.request(
            "PUT", f"{EVENTS}/e", json={**made.json(), "reason": "Again"}
        )
        assert changed.status == 200
        await trio.sleep(90)
        assert (await client.request("GET", f"{EVENTS}/e")).status == 200
        await trio.sleep(12)
        assert (await client.request("GET", f"{EVENTS}/e")).status == 404
        assert (await client.request("GET", "/api/v1/namespaces/default")).status == 200


async def test_0s_keeps_events(tmp_path: Path, autojump_clock: MockClock) -> None:
    """As before there was the flag."""
    config = in_memory(tmp_path)
    config = replace(config, storage=replace(config.storage, event_ttl_s=0.0))
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("POST", EVENTS, json=EVENT)).status == 201
        await trio.sleep(20_000)
        assert (await client.request("GET", f"{EVENTS}/e")).status == 200
