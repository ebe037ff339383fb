"""The query parameter ``timeout``."""

from __future__ import annotations

import re

import pytest
import trio
import trio.testing

from kubetrio.api.deadlines import named_limit
from kubetrio.testing.client import Client, encode_request

PODS = "/api/v1/namespaces/default/pods"
WORDS = "invalid timeout specified in the request URL - time: "


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("", None),
        ("timeoutSeconds=5", None),
        ("timeout=", None),
        ("timeout=0s", None),
        ("timeout=-5s", None),
        ("timeout=x", None),
        ("a=b&timeout=1.5s", 1.5),
        ("timeout=1m30s", 90.0),
        ("timeout=500ms", 0.5),
        ("timeout=2s&timeout=3s", 2.0),
    ],
)
def test_limits(query: str, limit: float | None) -> None:
    """The first one counts, if it is one."""
    assert named_limit(query) == limit


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (f"{PODS}?timeout=x", 'invalid duration "x"'),
        (f"{PODS}/p?timeout=5", 'missing unit in duration "5"'),
        ("/version?timeout=1d", 'unknown unit "d" in duration "1d"'),
    ],
)
async def test_what_is_no_limit(client: Client, target: str, why: str) -> None:
    """400 for every path."""
    answer = await client.request("GET", target)
    assert (answer.status, answer.json()["message"]) == (400, WORDS + why)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (f"{PODS}?timeout=0s", 200),
        (f"{PODS}?timeout=99h", 200),
        (f"{PODS}?timeout=", 200),
        # These have no limit of their own.
        (f"{PODS}/p/log?timeout=x", 404),
    ],
)
async def test_limits_that_do_not_count(client: Client, target: str, code: int) -> None:
    """The server's own is meant."""
    assert (await client.request("GET", target)).status == code


async def test_a_limit_is_kept(client: Client, autojump_clock: trio.testing.MockClock) -> None:
    """504 for a read of a revision that does not come in time."""
    del autojump_clock
    begun = trio.current_time()
    answer = await client.request("GET", f"{PODS}?resourceVersion=999999&timeout=500ms")
    assert (answer.status, answer.json()["reason"]) == (504, "Timeout")
    assert trio.current_time() - begun == pytest.approx(0.5)
    text = (await client.request("GET", "/metrics")).body.decode()
    (line,) = re.findall(r"^apiserver_request_terminations_total{(.*)} 1.0$", text, re.MULTILINE)
    assert {'code="504"', 'resource="pods"', 'verb="LIST"'} <= set(line.split(","))


@pytest.mark.parametrize(("query", "limit_s"), [("?timeout=3s", 3.0), ("", 60.0)])
@pytest.mark.parametrize("beat_s", [0.9, 1000.0])
async def test_a_slow_body_is_504(
    client: Client,
    autojump_clock: trio.testing.MockClock,
    query: str,
    limit_s: float,
    beat_s: float,
) -> None:
    """When the request's time is up: a body that drips in gains none, one that stops loses none."""
    target = f"/api/v1/namespaces/default/configmaps{query}"
    head = {"Content-Type": "application/json", "Content-Length": "1000"}

    async def drip() -> None:
        while True:
            await trio.sleep(beat_s)
            await client.send(b" ")

    async def swept() -> None:
        while True:
            await trio.sleep(1)
            if client.connection.overdue(client.connection._clock.tick()):
                client.connection.scope.cancel()

    began = trio.current_time()
    await client.send(encode_request("POST", target, head))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(drip)
        nursery.start_soon(swept)
        answer = await client.receive()
        nursery.cancel_scope.cancel()
    assert limit_s <= trio.current_time() - began <= limit_s + 1
    status = answer.json()
    assert (answer.status, status["reason"]) == (504, "Timeout")
    assert status["message"].endswith("request did not complete within the allotted timeout")
