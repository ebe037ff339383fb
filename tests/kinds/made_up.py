"""What the tests of a made-up kind have in common: paths, media types, requests."""

from __future__ import annotations

import json
from typing import Any

import orjson
import trio
import trio.testing

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.widgets import widget

V1 = "/apis/example.com/v1"
BETA = "/apis/example.com/v1beta1"
WIDGETS = f"{V1}/namespaces/default/widgets"
OLDER = f"{BETA}/namespaces/default/widgets"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
VERSIONS = ("v1", "v1beta1")


async def post(client: Client, name: str, **spec: Any) -> dict[str, Any]:
    answer = await client.request("POST", WIDGETS, json=widget(name, **spec))
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def apply(client: Client, name: str, manager: str, spec: Any, more: str = "") -> Answer:
    config = {**widget(name), "spec": spec}
    path = f"{WIDGETS}/{name}?fieldManager={manager}{more}"
    return await client.request("PATCH", path, APPLY, json.dumps(config).encode())


def warnings(answer: Answer) -> list[str]:
    return [value.decode() for name, value in answer.head.headers if name == b"warning"]


def owned(obj: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = obj["metadata"]["managedFields"]
    return found


async def events(client: Client, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with trio.fail_after(5):
        while len(found) < number:
            found += map(orjson.loads, (await client.chunk()).splitlines())
    return found


async def watching(client: Client, path: str) -> None:
    await client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert (await client.head()).status == 200
