"""Custom resources whose versions a webhook converts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio import pki
from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.machinery.status import ApiError
from kubetrio.server import Server, open_server
from kubetrio.testing.hooks import Called, HookServer, open_hook

Object = dict[str, Any]
API, GROUP = "apiextensions.k8s.io/v1", "moved.example.com"
KEY = (GROUP, "v1", "moveds")
FIELDS = {f"{GROUP}/v1": "size", f"{GROUP}/v1beta1": "extent"}


async def renamed(called: Called) -> None:
    """What a well-behaved webhook answers: a field has another name in each version."""
    wanted = called.request["desiredAPIVersion"]
    made = []
    for obj in called.request["objects"]:
        spec = {
            FIELDS[wanted] if name == FIELDS[obj["apiVersion"]] else name: value
            for name, value in (obj.get("spec") or {}).items()
        }
        made.append({**obj, "apiVersion": wanted, "spec": spec})
    await called.reply({"result": {"status": "Success"}, "convertedObjects": made})


def schema(field: str) -> Object:
    """The schema of a version."""
    spec = {"type": "object", "properties": {field: {"type": "integer"}}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def version(name: str, *, storage: bool) -> Object:
    """A version of the definition."""
    field = FIELDS[f"{GROUP}/{name}"]
    return {"name": name, "served": True, "storage": storage, "schema": schema(field)}


def moved(name: str, api: str, **spec: int) -> Object:
    """An object."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/{api}", "kind": "Moved", "metadata": meta, "spec": spec}


@dataclass(frozen=True, slots=True)
class Place:
    """A server with the definition, and its webhook."""

    server: Server
    client: Client
    hook: HookServer

    async def get(self, api: str, name: str = "a") -> Object:
        """An object in a version."""
        kind = self.client.kind(f"{GROUP}/{api}", "Moved")
        return await self.client.get(kind, name, namespace="default")


@pytest.fixture
async def place(tmp_path: Path, certificates: pki.Pki) -> AsyncIterator[Place]:
    """The definition is served, v1 is stored."""
    config = Config(data_dir=tmp_path / "data", serving=Serving(secure_port=0))
    async with (
        open_hook(certificates, {"/convert": renamed}) as hook,
        open_server(config) as server,
    ):
        client = server.client()
        await client.create(
            {
                "apiVersion": API,
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"moveds.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": "moveds", "kind": "Moved"},
                    "versions": [version("v1", storage=True), version("v1beta1", storage=False)],
                    "conversion": {
                        "strategy": "Webhook",
                        "webhook": {
                            "conversionReviewVersions": ["v1"],
                            "clientConfig": hook.client("/convert"),
                        },
                    },
                },
            }
        )
        served = trio.Event()
        server.api.registry.subscribe(lambda _, now: served.set() if KEY in now.resources else None)
        if KEY not in server.api.registry.resources:
            with trio.fail_after(10):
                await served.wait()
        yield Place(server, client, hook)


async def test_objects_in_both_versions(place: Place) -> None:
    """Whatever version they are written in."""
    await place.client.create(moved("a", "v1", size=1))
    assert (await place.get("v1beta1"))["spec"] == {"extent": 1}
    made = await place.client.create(moved("b", "v1beta1", extent=2))
    assert (made["apiVersion"], made["spec"]) == (f"{GROUP}/v1beta1", {"extent": 2})
    assert (await place.get("v1", "b"))["spec"] == {"size": 2}


async def test_a_list_is_one_review(place: Place) -> None:
    """All of its objects are converted together."""
    for name in "abc":
        await place.client.create(moved(name, "v1", size=1))
    before = len(place.hook.calls)
    found = await place.client.list(place.client.kind(f"{GROUP}/v1beta1", "Moved"))
    assert [item["spec"] for item in found.items] == [{"extent": 1}] * 3
    assert len(place.hook.calls) == before + 1


async def test_another_storage_version(place: Place) -> None:
    """What is stored is converted when it is read, until somebody writes it."""
    await place.client.create(moved("a", "v1", size=1))
    crds = place.client.kind(API, "CustomResourceDefinition")
    versions = [version("v1", storage=False), version("v1beta1", storage=True)]
    await place.client.patch(crds, f"moveds.{GROUP}", {"spec": {"versions": versions}})
    assert (await place.get("v1beta1"))["spec"] == {"extent": 1}
    assert (await place.get("v1"))["spec"] == {"size": 1}


async def test_a_webhook_that_refuses(place: Place) -> None:
    """500, with what it says; what is stored can be read as it is."""
    await place.client.create(moved("a", "v1", size=1))

    async def refuse(called: Called) -> None:
        await called.reply({"result": {"status": "Failure", "message": "not today"}})

    place.hook.hooks["/convert"] = refuse
    with pytest.raises(ApiError) as caught:
        await place.get("v1beta1")
    assert caught.value.code == 500
    assert caught.value.message == (
        f"conversion webhook for {GROUP}/v1, Kind=Moved failed: not today"
    )
    assert (await place.get("v1"))["spec"] == {"size": 1}


async def test_a_webhook_that_lies(place: Place) -> None:
    """Objects of another identity are refused."""
    await place.client.create(moved("a", "v1", size=1))

    async def other(called: Called) -> None:
        [obj] = called.request["objects"]
        wanted = {"apiVersion": called.request["desiredAPIVersion"]}
        meta = {**obj["metadata"], "name": "b"}
        made = [{**obj, **wanted, "metadata": meta}]
        await called.reply({"result": {"status": "Success"}, "convertedObjects": made})

    place.hook.hooks["/convert"] = other
    with pytest.raises(ApiError, match="must have the same name: a != b"):
        await place.get("v1beta1")
