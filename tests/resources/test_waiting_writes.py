"""Writes in a version whose conversion waits: HorizontalPodAutoscalers of v1 as a webhook would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.kinds.builtin import registry
from kubetrio.testing.client import Client
from kubetrio.testing.converting import Webhook, waiting_twins, webhook_of
from kubetrio.testing.server import InProcess, open_api

SCALERS = registry().resources["autoscaling", "v1", "horizontalpodautoscalers"]
V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def scaler(name: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    """An autoscaler; every one has a part that has a place in one of the versions only."""
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec}
    if version == "v1":
        spec = {"targetCPUUtilizationPercentage": 50, **spec}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.fixture
def webhook() -> Webhook:
    """Converts autoscalers as the server does by itself."""
    return webhook_of(SCALERS)


@pytest.fixture
async def waiting(server: InProcess, webhook: Webhook) -> InProcess:
    """A server where autoscalers are converted by somebody else."""
    server.api.storage.registry.add(waiting_twins(SCALERS, webhook))
    return server


@pytest.fixture
async def asking(waiting: InProcess) -> AsyncIterator[Client]:
    """A connection to it."""
    async with waiting.connect() as connected:
        yield connected


Call = tuple[str, str, Any, dict[str, str]]


def patched(path: str, body: Any, media_type: str) -> Call:
    return "PATCH", path, body, {"content-type": media_type}


EVERYTHING: Sequence[Call] = (
    ("POST", V1, scaler("one"), {}),
    ("POST", V2, scaler("two", "v2", minReplicas=2), {}),
    ("POST", V1 + "?dryRun=All", scaler("dry"), {}),
    ("POST", V1, scaler("one"), {}),
    ("POST", V1, scaler("bad", maxReplicas=-1), {}),
    ("PUT", V1 + "/one", scaler("one", maxReplicas=6), {"user-agent": "other/1"}),
    ("PUT", V2 + "/one", scaler("one", "v2", maxReplicas=7), {"user-agent": "third/1"}),
    ("PUT", V1 + "/one", scaler("one", maxReplicas=8), {"user-agent": "other/1"}),
    ("PUT", V1 + "/one/status", {**scaler("one"), "status": {"desiredReplicas": 3}}, {}),
    patched(V1 + "/one", {"spec": {"minReplicas": 2}}, MERGE),
    patched(V1 + "/two", {"spec": {"maxReplicas": 9}}, STRATEGIC),
    patched(V2 + "/two", {"spec": {"maxReplicas": 8}}, STRATEGIC),
    patched(V1 + "/two", [{"op": "replace", "path": "/spec/maxReplicas", "value": 4}], JSON_PATCH),
    patched(V1 + "/two?fieldManager=a", scaler("two", maxReplicas=3), APPLY),
    patched(V1 + "/two?fieldManager=a&force=true", scaler("two", maxReplicas=3), APPLY),
    patched(V2 + "/two?fieldManager=b", scaler("two", "v2", maxReplicas=6), APPLY),
    patched(V2 + "/two?fieldManager=b&force=true", scaler("two", "v2", maxReplicas=6), APPLY),
    patched(V1 + "/three?fieldManager=a", scaler("three", maxReplicas=3), APPLY),
    patched(V1 + "/none", {"spec": {"minReplicas": 2}}, MERGE),
    ("GET", V1 + "/one", None, {}),
    ("GET", V1 + "/one", None, {"accept": "application/yaml"}),
    ("GET", V1 + "/two", None, {"accept": "application/vnd.kubernetes.protobuf"}),
    ("GET", V1, None, {}),
    ("GET", V1 + "?limit=2", None, {}),
    ("GET", V1 + "?fieldSelector=metadata.name%3Dtwo", None, {}),
    ("GET", V1, None, {"accept": "application/vnd.kubernetes.protobuf"}),
    ("GET", V2, None, {}),
    ("GET", V1 + "?watch=1&timeoutSeconds=1", None, {}),
    ("GET", V1 + "?watch=1&timeoutSeconds=1&resourceVersion=1", None, {}),
    ("GET", V1 + "?watch=1&timeoutSeconds=1&labelSelector=a", None, {}),
    ("DELETE", V1 + "/one", None, {}),
    ("DELETE", V1, None, {}),
    ("GET", V1, None, {}),
)


async def answers(webhook: Webhook | None) -> list[tuple[Call, int, bytes]]:
    """What a new server answers to all of it."""
    async with open_api(seed=0) as server, server.connect() as client:
        if webhook is not None:
            server.api.storage.registry.add(waiting_twins(SCALERS, webhook))
        out = []
        for call in EVERYTHING:
            method, path, body, headers = call
            content = None if body is None else orjson.dumps(body)
            sent = {"content-type": "application/json", **headers} if content else headers
            answer = await client.request(method, path, body=content, headers=sent)
            out.append((call, answer.status, answer.body))
        return out


async def test_who_converts_makes_no_difference(
    autojump_clock: MockClock, webhook: Webhook
) -> None:
    """Every verb answers with the same bytes, whether conversion waits or not."""
    del autojump_clock
    for expected, found in zip(await answers(None), await answers(webhook), strict=True):
        assert found == expected
    assert webhook.calls


async def test_a_slow_conversion_holds_up_nobody_else(
    asking: Client, waiting: InProcess, webhook: Webhook, autojump_clock: MockClock
) -> None:
    """Others are served while a write waits; the write is done then."""
    del autojump_clock
    webhook.seconds = 30
    done: list[int] = []

    async def create() -> None:
        done.append((await asking.request("POST", V1, json=scaler("one"))).status)

    async with waiting.connect() as other, trio.open_nursery() as nursery:
        nursery.start_soon(create)
        await trio.testing.wait_all_tasks_blocked()
        assert webhook.under_way == 1
        assert (await other.request("GET", V2)).status == 200
        assert not done
    assert done == [201]


async def test_a_write_that_cannot_be_converted_is_not_stored(
    asking: Client, webhook: Webhook
) -> None:
    """500 with the words of what converts; nothing is there."""
    webhook.mangle = lambda answer: []
    answer = await asking.request("POST", V1, json=scaler("one"))
    what = "conversion webhook for autoscaling/v1, Kind=HorizontalPodAutoscaler"
    assert (answer.status, answer.json()["message"]) == (
        500,
        f"{what} returned 0 objects, expected 1",
    )
    assert (await asking.request("GET", V2)).json()["items"] == []


@pytest.mark.parametrize(
    "call",
    [
        ("PUT", V1 + "/one", scaler("one"), {}),
        patched(V1 + "/one", {"spec": {"minReplicas": 2}}, MERGE),
        patched(V1 + "/one?fieldManager=a", scaler("one"), APPLY),
        ("GET", V1 + "/one", None, {}),
        ("GET", V1, None, {}),
    ],
)
async def test_what_is_stored_and_cannot_be_converted_is_an_error(
    asking: Client, webhook: Webhook, call: Call
) -> None:
    """Of every verb that has to show it, and of no other version."""
    assert (await asking.request("POST", V2, json=scaler("one", "v2"))).status == 201
    webhook.mangle = lambda answer: [{**obj, "kind": "Other"} for obj in answer]
    method, path, body, headers = call
    content = None if body is None else orjson.dumps(body)
    sent = {"content-type": "application/json", **headers} if content else headers
    answer = await asking.request(method, path, body=content, headers=sent)
    assert answer.status == 500
    assert "invalid kind (expected HorizontalPodAutoscaler" in answer.json()["message"]
    assert (await asking.request("GET", V2 + "/one")).status == 200


async def test_an_update_goes_on_when_owners_cannot_be_followed(
    asking: Client, webhook: Webhook
) -> None:
    """In the stored version, though a field is owned in another: nobody owns anything then."""
    await asking.request("POST", V1, json=scaler("one"))
    webhook.mangle = lambda answer: []
    changed = scaler("one", "v2", maxReplicas=7)
    answer = await asking.request("PUT", V2 + "/one", json=changed)
    assert answer.status == 200
    assert "managedFields" not in answer.json()["metadata"]
