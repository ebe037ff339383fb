"""The parts of custom resources: each write fills in defaults once."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.crd.customtype import Version
from kubetrio.server import open_server

Object = dict[str, Any]
API = "parts.example.com/v1"
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "color": {"type": "string", "default": "red"},
                "size": {
                    "type": "object",
                    "properties": {
                        "count": {"type": "integer"},
                        "unit": {"type": "string", "default": "m"},
                    },
                },
            },
        },
        "status": {
            "type": "object",
            "default": {"phase": "New"},
            "properties": {
                "phase": {"type": "string"},
                "turns": {"type": "integer", "default": 0},
                "count": {"type": "integer"},
            },
        },
    },
}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "wheels.parts.example.com"},
    "spec": {
        "group": "parts.example.com",
        "scope": "Namespaced",
        "names": {"plural": "wheels", "kind": "Wheel"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size.count",
                        "statusReplicasPath": ".status.count",
                    },
                },
            }
        ],
    },
}
NEW_STATUS = {"phase": "New", "turns": 0}


class Fillings:
    """Counts how often defaults of a whole object are filled in, in a block."""

    def __init__(self) -> None:
        self.count = 0

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        self.count += event == "call" and frame.f_code is Version.fill_in.__code__

    def __enter__(self) -> Self:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def wheel(**spec: Any) -> Object:
    """An object of the kind."""
    meta = {"name": "a", "namespace": "default"}
    return {"apiVersion": API, "kind": "Wheel", "metadata": meta, "spec": spec}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with wheels."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        await client.create(DEFINITION)
        await server.settled()
        yield client


@pytest.mark.skipif(sys.getprofile() is not None, reason="something else is counting")
async def test_each_write_fills_in_defaults_once(client: Client) -> None:
    """POST, PUT, both patches, the status and the scale; what is shown has them all."""
    kind = client.kind(API, "Wheel")
    with Fillings() as posted:
        made = await client.create({**wheel(), "status": {"phase": "Old"}})
    assert (made["spec"], made["status"]) == ({"color": "red"}, NEW_STATUS)
    with Fillings() as put:
        made = await client.update({**made, "spec": {"size": {"count": 1}}})
    assert made["spec"] == {"color": "red", "size": {"count": 1, "unit": "m"}}
    with Fillings() as patched:
        made = await client.patch(
            kind, "a", {"spec": {"color": None}, "status": None}, namespace="default"
        )
    assert (made["spec"]["color"], made["status"]) == ("red", NEW_STATUS)
    with Fillings() as applied:
        made = await client.apply(wheel(color="blue"), field_manager="painter", force=True)
    assert made["spec"] == {"color": "blue", "size": {"count": 1, "unit": "m"}}
    with Fillings() as of_status:
        made = await client.update({**made, "status": {"phase": "Old"}}, subresource="status")
    assert made["status"] == {"phase": "Old", "turns": 0}
    counts = [one.count for one in (posted, put, patched, applied, of_status)]
    assert counts == [1, 1, 1, 1, 1]


async def test_a_scale_fills_in_what_stands_beside_it(client: Client) -> None:
    """Its path may make an object, which has defaults of its own."""
    kind = client.kind(API, "Wheel")
    await client.create(wheel())
    body = {"spec": {"replicas": 3}}
    with Fillings() as scaled:
        await client.patch(kind, "a", body, namespace="default", subresource="scale")
    found = await client.get(kind, "a", namespace="default")
    assert found["spec"] == {"color": "red", "size": {"count": 3, "unit": "m"}}
    assert scaled.count == 1
