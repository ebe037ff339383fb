"""Simulated kubelets, asked as the API server asks them."""

from __future__ import annotations

import pytest
import trio
from asking import UPGRADE, V4, Headers, Pods
from trio.testing import MockClock


async def test_logs() -> None:
    """Text, and errors with their status."""
    pods = Pods(logs="one\ntwo")
    assert await pods.body("/containerLogs/default/p/c") == (200, b"one\ntwo\n")
    assert await pods.body("/containerLogs/default/p/c?tailLines=1") == (200, b"two\n")
    status, text = await pods.body("/containerLogs/default/p/c?previous=true")
    assert (status, b"not found" in text) == (400, True)
    assert (await pods.body("/containerLogs/default/other/c"))[0] == 404
    assert (await pods.body("/stats/summary"))[0] == 404


async def test_logs_are_followed_until_the_end(autojump_clock: MockClock) -> None:
    """While the container runs, the answer goes on."""
    pods = Pods(logs="one")
    exchange, head = await pods.ask("/containerLogs/default/p/c?follow=true")
    assert (head.status, await exchange.read()) == (200, b"one\n")
    with trio.move_on_after(60) as scope:
        await exchange.read()
    assert scope.cancelled_caught
    pods.state({"terminated": {"exitCode": 0}})
    assert await exchange.read() == b""


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/exec/default/p/other?output=1", (*UPGRADE, V4), 404),
        ("/exec/default/p/c?output=1", UPGRADE, 403),
        ("/exec/default/p/c?output=1", (V4,), 403),
        ("/portForward/default/p", (), 403),
        ("/portForward/default/other", UPGRADE, 404),
    ],
)
async def test_what_is_refused(target: str, headers: Headers, status: int) -> None:
    """Containers that do not run, and protocols that are not spoken."""
    _, head = await Pods().ask(target, "POST", headers)
    assert head.status == status
