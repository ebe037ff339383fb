"""Slow webhooks hold the requests that they are asked about, and nobody else's."""

from __future__ import annotations

import pytest
import trio
from hook_objects import VALIDATING, configured, created, webhook
from trio.testing import MockClock

from kubetrio.testing.client import Client
from kubetrio.testing.hooks import Called, HookServer
from kubetrio.testing.server import InProcess

IN_FLIGHT = 1000


@pytest.mark.slow
async def test_a_thousand_requests_wait(
    mock_clock: MockClock, real: InProcess, asking: Client, hook: HookServer
) -> None:
    """While they do, ``/readyz``, reads and other writes are answered; then all of them are."""
    mock_clock.rate = 0.1  # a busy machine needs longer than webhooks may have
    arrived, let_go = 0, trio.Event()
    everybody = trio.Event()

    async def wait(called: Called) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == IN_FLIGHT:
            everybody.set()
        await let_go.wait()
        await called.reply()

    hook.hooks["/x"] = wait
    await configured(asking, VALIDATING, webhook(hook, "/x", timeoutSeconds=30))
    statuses: list[int] = []

    async def write(name: str) -> None:
        async with real.connect() as client:
            statuses.append((await created(client, name)).status)

    async with trio.open_nursery() as nursery:
        for number in range(IN_FLIGHT):
            nursery.start_soon(write, f"c{number}")
        with trio.fail_after(25):
            await everybody.wait()
        assert statuses == []
        with trio.fail_after(5):
            assert (await asking.request("GET", "/readyz")).status == 200
            assert (await asking.request("GET", "/api/v1/namespaces/default")).status == 200
            secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}
            path = "/api/v1/namespaces/default/secrets"
            assert (await asking.request("POST", path, json=secret)).status == 201
        let_go.set()
    assert statuses == [201] * IN_FLIGHT
