"""A server for asyncio programs."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from pathlib import Path

import pytest
import trio

from kubetrio import aio
from kubetrio.client import WrongThreadError
from kubetrio.config import Config, Serving, Storage
from kubetrio.faults import Rule
from kubetrio.machinery.status import ApiError
from kubetrio.server.files import StartError
from kubetrio.threads import NotRunning


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


def test_a_server_beside_an_event_loop(config: Config) -> None:
    """Calls, snapshots, the clock and failures, all awaited while the loop goes on."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            client = server.server.client()
            maps = client.kind("v1", "ConfigMap")
            base = await server.snapshot()
            made = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "default"},
            }
            await asyncio.gather(server.call(client.create, made), asyncio.sleep(0))
            assert (await server.call(client.get, maps, "a", "default"))["metadata"]["uid"]
            await server.move_clock(seconds=60)
            await server.reset(base)
            with pytest.raises(ApiError):
                await server.call(client.get, maps, "a", "default")
            assert server.url.startswith("https://127.0.0.1:")
            assert server.kubeconfig()["users"]
        with pytest.raises(NotRunning):
            await server.call(trio.sleep, 0)

    asyncio.run(main())


def test_cancelling_who_waits_cancels_the_call(config: Config) -> None:
    """In the server's thread, too."""
    seen: list[str] = []

    async def long() -> None:
        try:
            await trio.sleep_forever()
        finally:
            seen.append("cancelled")

    async def main() -> None:
        async with aio.open_server(config) as server:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(server.call(long), 0.05)

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_what_a_cancelled_call_raises_is_not_logged(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    """The event loop would tell of an exception that was never retrieved."""

    async def fails() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyError

    async def main() -> None:
        async with aio.open_server(config) as server:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(server.call(fails), 0.05)

    asyncio.run(main())
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_a_start_that_takes_too_long_is_told_once(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    """By the exception, not in the log as well."""

    async def main() -> None:
        with pytest.raises(StartError, match="not ready within"):
            async with aio.open_server(config, start_limit_s=0):
                pytest.fail("it did not wait")

    asyncio.run(main())
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_a_server_that_cannot_start_says_so(config: Config, tmp_path: Path) -> None:
    """By one exception."""
    (tmp_path / "data").write_text("")

    async def main() -> None:
        async with aio.open_server(config):
            pytest.fail("it did not start")

    with pytest.raises(StartError):
        asyncio.run(main())


def test_what_the_block_raises_leaves_it_as_it_is(config: Config) -> None:
    """Cancellation, too: the server is stopped in order and the loop goes on."""

    async def fails() -> None:
        async with aio.open_server(config):
            raise KeyError

    async def waits() -> None:
        async with aio.open_server(config), asyncio.timeout(0.05):
            await asyncio.sleep(60)

    async def main() -> None:
        with pytest.raises(KeyError):
            await fails()
        with pytest.raises(TimeoutError):
            await waits()

    asyncio.run(main())


def config_map(name: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def test_a_client_of_the_loop(config: Config) -> None:
    """Each call is awaited, with what it raises; watches come event by event and end in order."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            client = server.client()
            maps = client.kind("v1", "ConfigMap")
            seen: list[str] = []
            async with client.watch(maps, "default", timeout_s=60) as events:
                await client.create(config_map("a"))
                await client.delete(maps, "a", "default")
                async for event in events:
                    seen.append(event.type)
                    if event.type == "DELETED":
                        break
            assert seen[-2:] == ["ADDED", "DELETED"]
            listed = await client.list(maps, "default", limit=1)
            assert len(listed.items) == 1
            with pytest.raises(ApiError, match="not found"):
                await client.get(maps, "a", "default")
            with pytest.raises(ApiError):
                async with client.watch(maps, "default", resource_version="x"):
                    raise AssertionError("it is refused")

    asyncio.run(main())


def test_faults_the_clock_and_controllers_are_awaited(config: Config) -> None:
    """As on the other handles, under the same names; a 429 of text is an `ApiError` too."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            client = server.client()
            maps = client.kind("v1", "ConfigMap")
            await server.faults.add(Rule(fault="429", verb="list", resource="configmaps"))
            with pytest.raises(ApiError) as caught:
                await client.list(maps)
            assert caught.value.code == 429
            [rule] = await server.faults.rules()
            assert rule["injected"] == 1
            await server.faults.clear()
            await client.list(maps)
            await server.clock.move(seconds=60)
            await server.settled()

    asyncio.run(main())


def test_the_servers_own_client_is_refused_on_the_loop(config: Config) -> None:
    """For reads and writes, with the client to use."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            client = server.server.client()
            maps = client.kind("v1", "ConfigMap")
            for call in (client.list(maps), client.create(config_map("a"))):
                with pytest.raises(WrongThreadError, match=r"handle\.client\(\)"):
                    await call

    asyncio.run(main())


def test_without_a_loop_a_client_is_refused(config: Config) -> None:
    """Under Trio too, that of the server and any other; in another loop it is awaited."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            client = server.client()
            maps = client.kind("v1", "ConfigMap")

            async def listed() -> int:
                return len((await client.list(maps, "default")).items)

            with pytest.raises(WrongThreadError, match=r"handle\.server\.client\(\)"):
                await server.call(listed)
            with pytest.raises(WrongThreadError, match=r"kubetrio\.in_thread"):
                await asyncio.to_thread(trio.run, listed)
            assert await asyncio.to_thread(asyncio.run, listed()) == await listed()

    asyncio.run(main())


def test_a_signal_is_waited_for(config: Config) -> None:
    """And handlers are as before."""

    async def main() -> None:
        async with aio.open_server(config) as server:
            waiting = asyncio.ensure_future(server.until_signal())
            await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGTERM)
            await waiting
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    asyncio.run(main())
