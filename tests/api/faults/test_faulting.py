"""Faults on demand, as clients see them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.faults import Rule
from kubetrio.machinery.status import OBJECT_MODIFIED
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess

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
