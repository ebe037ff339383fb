"""Scripts are played over connections in memory."""

from __future__ import annotations

from trio.testing import MockClock

from kubetrio.faults import Rule
from kubetrio.harness.inprocess import LIMIT_S, playing
from kubetrio.harness.opening import open_harness
from kubetrio.harness.player import Prepared

MAPS = "/api/v1/namespaces/default/configmaps"
JSON = [("Content-Type", "application/json")]


def get(path: str) -> Prepared:
    """A request without a body."""
    return Prepared("GET", path, [], None)


async def test_requests_and_a_watch(autojump_clock: MockClock) -> None:
    """The watch has been told of a write when the server has settled."""
    async with open_harness() as server, playing(server) as player:
        query = "watch=1&fieldSelector=metadata.name%3Da"
        stream = await player.watch(get(f"{MAPS}?{query}"))
        made = await player.request(Prepared("POST", MAPS, JSON, b'{"metadata":{"name":"a"}}'))
        assert (made.status, made.headers["content-type"]) == (201, "application/json")
        await player.settle()
        assert [event["type"] for event in stream.reply().json()] == ["ADDED"]
        assert (await player.request(Prepared("HEAD", MAPS, [], None))).body == b""
        refused = await player.watch(get("/api/v1/nothing?watch=1"))
        assert (refused.reply().status, refused.reply().events) == (404, ())


async def test_what_has_no_answer_says_why(autojump_clock: MockClock) -> None:
    """A request that takes too long; what is no HTTP has an answer, and the next one is served."""
    async with open_harness() as server, playing(server) as player:
        endless = await player.request(get(f"{MAPS}?watch=1&timeoutSeconds=3000"))
        assert endless.error == f"no answer within {LIMIT_S:g} seconds"
        no_http = await player.request(Prepared("GET", "/", [("Content-Length", "x")], None))
        assert no_http.status == 400
        assert (await player.request(get(MAPS))).status == 200


async def test_a_rule_that_is_there_already_is_told(autojump_clock: MockClock) -> None:
    """Instead of ending the script."""
    async with open_harness() as server, playing(server) as player:
        assert await player.inject(Rule(fault="500", id="a")) == ""
        assert "already" in await player.inject(Rule(fault="500", id="a"))
        assert await player.inject(None) == ""
        assert await player.inject(Rule(fault="500", id="a")) == ""


async def test_a_restart_ends_watches(autojump_clock: MockClock) -> None:
    """Requests after it are served, and the clock goes on."""
    async with open_harness() as server, playing(server) as player:
        stream = await player.watch(get(f"{MAPS}?watch=1"))
        await player.request(get(MAPS))
        await player.restart()
        assert stream.reply().error == "the connection was closed"
        before = server.env.now()
        await player.move(60)
        assert server.env.now() == before + 60
        assert (await player.request(get(MAPS))).status == 200
