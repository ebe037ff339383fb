"""Faults on demand, as clients see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.config import Faults
from kubetrio.faults import Rule
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import OBJECT_MODIFIED
from kubetrio.server.files import StartError
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess, in_memory, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WATCHED = CONFIGMAPS + "?watch=1&resourceVersion="


def named(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def marks(answer: Answer) -> list[str]:
    found = answer.head.headers
    return [value.decode() for name, value in found if name == b"x-kubetrio-fault"]


@pytest.mark.parametrize(
    ("fault", "method", "code", "reason", "message"),
    [
        ("401", "GET", 401, "Unauthorized", "Unauthorized"),
        (
            "409", "PUT", 409, "Conflict",
            'Operation cannot be fulfilled on configmaps "one": ' + OBJECT_MODIFIED,
        ),
        ("500", "GET", 500, "InternalError", "Internal error occurred: injected fault"),
        (
            "503", "GET", 503, "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        (
            "504", "GET", 504, "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        ),
    ],
)  # fmt: skip
async def test_a_status_is_what_kube_apiserver_says(
    server: InProcess, client: Client, fault: str, method: str, code: int, reason: str, message: str
) -> None:
    """Once; then everything is as usual, and nothing of it was done."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    body: dict[str, Any] = {"json": named("one", a="b")} if method == "PUT" else {}
    server.api.faults.add(Rule(fault=fault, id="mine", count=1))
    answer = await client.request(method, CONFIGMAPS + "/one", **body)
    said = answer.json()
    assert (answer.status, said["code"], said["reason"]) == (code, code, reason)
    assert said["message"] == message
    assert marks(answer) == ["mine"]
    after = await client.request(method, CONFIGMAPS + "/one", **body)
    assert after.status == 200
    assert marks(after) == []


async def test_429_is_that_of_flow_control(server: InProcess, client: Client) -> None:
    """In plain text, with ``Retry-After``."""
    server.api.faults.add(Rule(fault="429", retry_after_s=7))
    answer = await client.request("GET", CONFIGMAPS)
    assert answer.status == 429
    assert answer.body == b"Too many requests, please try again later.\n"
    assert answer.head.get(b"retry-after") == b"7"


async def test_a_created_name_is_taken(server: InProcess, client: Client) -> None:
    """A conflict of a create is another one; rules find the name in the body."""
    server.api.faults.add(Rule(fault="409", verb="create", name=["one", ""]))
    one = await client.request("POST", CONFIGMAPS, json=named("one"))
    assert one.json()["reason"] == "AlreadyExists"
    assert one.json()["message"] == 'configmaps "one" already exists'
    made = {**named(""), "metadata": {"generateName": "some-"}}
    assert (await client.request("POST", CONFIGMAPS, json=made)).json()["details"] == {
        "name": "some-", "kind": "configmaps", "retryAfterSeconds": 1,
    }  # fmt: skip
    assert (await client.request("POST", CONFIGMAPS, json=named("two"))).status == 201


async def test_a_list_is_too_old(server: InProcess, client: Client) -> None:
    """410 as after a compaction; a watch of the same rule is told in an event."""
    server.api.faults.add(Rule(fault="410"))
    listed = await client.request("GET", CONFIGMAPS + "?resourceVersion=3")
    assert (listed.status, listed.json()["reason"]) == (410, "Expired")
    watched = await client.request("GET", WATCHED + "3")
    assert watched.status == 200
    event = orjson.loads(watched.body)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 3 (")


async def test_rules_are_for_whom_they_name(server: InProcess, client: Client) -> None:
    """The user after impersonation; and one whom nothing is allowed is told that."""
    server.api.faults.add(Rule(fault="503", user="robot"))
    headers = {"Impersonate-User": "robot", "Impersonate-Group": "system:masters"}
    assert (await client.request("GET", CONFIGMAPS, headers=headers)).status == 503
    assert (await client.request("GET", CONFIGMAPS)).status == 200
    assert (
        await client.request("GET", CONFIGMAPS, headers={"Impersonate-User": "robot"})
    ).status == 403


async def test_latency_ends_with_its_rule(
    server: InProcess, client: Client, autojump_clock: trio.testing.MockClock
) -> None:
    """It takes so long, unless the rule goes first; never longer than requests may."""
    faults = server.api.faults
    slow = faults.add(Rule(fault="latency", delay_s=20))

    async def took() -> tuple[float, int]:
        before = trio.current_time()
        answer = await client.request("GET", CONFIGMAPS)
        return trio.current_time() - before, answer.status

    assert await took() == (pytest.approx(20), 200)
    async with trio.open_nursery() as nursery:

        async def end() -> None:
            await trio.sleep(5)
            faults.remove(slow)

        nursery.start_soon(end)
        assert await took() == (pytest.approx(5), 200)
    faults.add(Rule(fault="latency", delay_s=100))
    assert await took() == (pytest.approx(60), 504)


async def test_reads_at_0_are_stale(server: InProcess, client: Client) -> None:
    """From the moment of the rule, or so many revisions ago; other reads are not."""
    await client.request("POST", CONFIGMAPS, json=named("one", a="1"))
    faults = server.api.faults
    frozen = faults.add(Rule(fault="stale", resource="configmaps"))
    then = server.api.storage.hub.revision
    await client.request("PUT", CONFIGMAPS + "/one", json=named("one", a="2"))
    await client.request("POST", CONFIGMAPS, json=named("two"))

    async def seen(query: str) -> tuple[str, list[str]]:
        one = (await client.request("GET", f"{CONFIGMAPS}/one{query}")).json()
        found = (await client.request("GET", CONFIGMAPS + query)).json()
        assert int(found["metadata"]["resourceVersion"]) <= server.api.storage.hub.revision
        return one["data"]["a"], [item["metadata"]["name"] for item in found["items"]]

    assert await seen("?resourceVersion=0") == ("1", ["one"])
    assert await seen("") == ("2", ["one", "two"])
    listed = await client.request("GET", CONFIGMAPS + "?resourceVersion=0")
    assert listed.json()["metadata"]["resourceVersion"] == str(then)
    two = await client.request("GET", CONFIGMAPS + "/two?resourceVersion=0")
    assert two.status == 404
    faults.remove(frozen)
    faults.add(Rule(fault="stale", revisions=1))
    assert await seen("?resourceVersion=0") == ("2", ["one"])


# ---------------------------------------------------------------- watches


@pytest.fixture
async def events(server: InProcess, client: Client) -> AsyncIterator[Any]:
    """Opens a watch under a rule, and writes objects that it sees."""
    async with server.connect() as watcher, trio.open_nursery() as nursery:

        async def watched(rule: Rule, *names: str, query: str = "") -> Client:
            server.api.faults.add(rule)
            target = f"{WATCHED}{server.api.storage.hub.revision}{query}"
            await watcher.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert (await watcher.head()).get(b"x-kubetrio-fault") == b"watch"
            for name in names:
                await client.request("POST", CONFIGMAPS, json=named(name))
            return watcher

        yield watched
        nursery.cancel_scope.cancel()


def name_of(chunk: bytes) -> str:
    name: str = orjson.loads(chunk)["object"]["metadata"]["name"]
    return name


async def test_a_watch_breaks_off(events: Any) -> None:
    """After so many events, in the middle of the answer: the last chunk is missing."""
    watcher = await events(Rule(fault="watch-drop", id="watch", after_events=2), "a", "b", "c")
    assert [name_of(await watcher.chunk()) for _ in range(2)] == ["a", "b"]
    assert await watcher.rest() == b""


async def test_a_watch_ends(events: Any) -> None:
    """After so many events, as if its time were up."""
    watcher = await events(Rule(fault="watch-close", id="watch", after_events=1), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert await watcher.chunk() == b""


async def test_a_watch_expires(events: Any) -> None:
    """After so many events: it must be listed again."""
    watcher = await events(Rule(fault="410", id="watch", after_events=1), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert orjson.loads(await watcher.chunk())["object"]["reason"] == "Expired"
    assert await watcher.chunk() == b""


async def test_a_watch_stalls(
    events: Any, server: InProcess, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing comes any more, until its time is up; or until the rule ends, and then all of it."""
    watcher = await events(Rule(fault="watch-stall", id="watch", after_events=1), "a", "b", "c")
    assert name_of(await watcher.chunk()) == "a"
    with trio.move_on_after(100) as waited:
        await watcher.chunk()
    assert waited.cancelled_caught
    server.api.faults.clear()
    left = (await watcher.chunk()) + (await watcher.chunk())
    assert [name_of(line) for line in left.splitlines()] == ["b", "c"]


async def test_a_stalled_watch_ends_in_time(
    events: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Its own time limit holds."""
    before = trio.current_time()
    rule = Rule(fault="watch-stall", id="watch")
    watcher = await events(rule, "a", query="&timeoutSeconds=30")
    assert await watcher.chunk() == b""
    assert trio.current_time() - before == pytest.approx(30)


async def test_events_come_late(events: Any, autojump_clock: trio.testing.MockClock) -> None:
    """In order, each at least so long after the write."""
    before = trio.current_time()
    watcher = await events(Rule(fault="watch-delay", id="watch", delay_s=10), "a", "b")
    assert name_of(await watcher.chunk()) == "a"
    assert trio.current_time() - before == pytest.approx(10)
    assert name_of(await watcher.chunk()) == "b"
    assert trio.current_time() - before <= 20.001


async def test_a_watch_breaks_after_a_time(
    events: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """However quiet it is."""
    before = trio.current_time()
    watcher = await events(Rule(fault="watch-drop", id="watch", after_s=40))
    assert await watcher.rest() == b""
    assert trio.current_time() - before == pytest.approx(40)


# ---------------------------------------------------------------- the server


async def test_stages_are_chosen_once(server: InProcess, client: Client) -> None:
    """Those of faults are there from the start, and let pass what no rule is about."""
    faults, stages = server.api.faults, server.api.stages
    assert list(stages) == [
        "parse", "authenticate", "refuse_token", "audit", "impersonate", "flow_control",
        "authorize", "decode", "inject", "admit_and_store",
    ]  # fmt: skip
    assert (await client.request("GET", CONFIGMAPS)).status == 200
    faults.add(Rule(fault="500"))
    assert (await client.request("GET", CONFIGMAPS)).status == 500
    faults.clear()
    assert (await client.request("GET", CONFIGMAPS)).status == 200
    assert server.api.stages == stages


async def test_faults_are_counted(server: InProcess, client: Client) -> None:
    """By rule and fault."""
    server.api.faults.add(Rule(fault="503", id="down", resource="pods"))
    for path in ("/api/v1/pods", "/api/v1/nodes", "/api/v1/pods"):
        await client.request("GET", path)
    text = (await client.request("GET", "/metrics")).body.decode()
    assert 'kubetrio_faults_total{fault="503",rule="down"} 2.0' in text


async def test_the_page_is_there_when_asked_for(tmp_path: Path) -> None:
    """And only then, and only for who may reach it; 401 does not lock anybody out of it."""
    page = "/debug/faults"
    async with open_api() as usual, usual.connect() as client:
        assert (await client.request("GET", page)).status == 404
    config = replace(in_memory(tmp_path), faults=Faults(enabled=True))
    nobody = UserInfo("nobody", groups=("system:authenticated",))
    async with open_api(config=config) as server, server.connect() as client:
        async with server.connect(certificate=nobody) as other:
            for method in ("GET", "POST", "DELETE"):
                assert (await other.request(method, page)).status == 403
        added = await client.request("POST", page, json=[{"fault": "401"}, {"fault": "500"}])
        assert added.status == 201
        assert [one["id"] for one in added.json()["rules"]] == ["fault-1", "fault-2"]
        assert (await client.request("GET", CONFIGMAPS)).status == 401
        seen = (await client.request("GET", page)).json()["rules"]
        assert seen[0] == {"id": "fault-1", "fault": "401", "seen": 1, "injected": 1}
        assert (await client.request("DELETE", page + "/fault-1")).status == 200
        assert (await client.request("GET", CONFIGMAPS)).status == 500
        assert (await client.request("DELETE", page + "/fault-1")).status == 404
        assert (await client.request("DELETE", page)).json() == {"rules": []}
        assert (await client.request("GET", CONFIGMAPS)).status == 200


async def test_rules_are_added_together_or_not_at_all(tmp_path: Path) -> None:
    """What is wrong is told as a bad request."""
    config = replace(in_memory(tmp_path), faults=Faults(enabled=True))
    async with open_api(config=config) as server, server.connect() as client:
        twice = [{"fault": "500", "id": "a"}, {"fault": "500", "id": "a"}]
        for body, why in (
            (twice, "id: there is a rule 'a' already"),
            ([{"fault": "500"}, {"fault": "x"}], "rules[1].fault: there is no 'x'"),
        ):
            answer = await client.request("POST", "/debug/faults", json=body)
            assert answer.status == 400
            assert answer.json()["message"].startswith(why)
        assert server.api.faults.rules() == []


async def test_rules_of_a_file_are_there_from_the_start(tmp_path: Path) -> None:
    """In YAML; what cannot be meant stops the start."""
    file = tmp_path / "faults.yaml"
    file.write_text("rules:\n- fault: 503\n  resource: configmaps\n  count: 1\n")
    config = replace(in_memory(tmp_path / "data"), faults=Faults(file=file))
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("GET", CONFIGMAPS)).status == 503
        assert (await client.request("GET", CONFIGMAPS)).status == 200
    file.write_text("- fault: never\n")
    with pytest.raises(StartError, match=r"--faults .*: fault: there is no 'never'"):
        async with open_api(config=config):
            pass
