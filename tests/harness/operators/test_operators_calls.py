"""A recorder keeps what is asked, and ends the operator's watches."""

from __future__ import annotations

from trio.testing import MockClock

from kubetrio.client import Client
from kubetrio.harness.opening import open_harness
from kubetrio.harness.operators.calls import OPERATOR, Place, Recorder, send

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_calls_have_what_was_sent_and_answered(autojump_clock: MockClock) -> None:
    """Of a create with the name that was given."""
    async with open_harness() as server:
        recorder = Recorder(
            server.api.handle, lambda user: user.name == OPERATOR.name, most_calls=9
        )
        body = {"metadata": {"generateName": "a-"}}
        await send(recorder.handle, "POST", MAPS, body)
        await send(recorder.handle, "GET", f"{MAPS}/none", user=OPERATOR)
    created, missing = recorder.calls
    assert created.sent["metadata"]["generateName"] == "a-"
    assert created.place == Place("", "configmaps", "default", created.answer["metadata"]["name"])
    assert created.writes
    assert created.done
    assert (missing.user, missing.verb, missing.status) == ("operator", "get", 404)
    assert not missing.done


async def test_watches_end_in_order(autojump_clock: MockClock) -> None:
    """As a server may end them at any time."""
    async with open_harness() as server:
        recorder = Recorder(
            server.api.handle, lambda user: user.name == OPERATOR.name, most_calls=9
        )
        client = Client(recorder.handle, server.api.storage.registry, OPERATOR)
        async with client.watch(client.kind("v1", "Namespace")) as events:
            first = await anext(aiter(events))
            recorder.end_watches()
            rest = [event async for event in events]
    assert first.type == "ADDED"
    assert len(rest) < 10
